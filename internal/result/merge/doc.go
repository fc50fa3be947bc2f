// Package merge makes one result of the run files of many processes.
//
//	set := merge.NewSet()
//	err := set.Add(name, file, size, false) // each file; a collection adds all of its files
//	doc, err := set.Result(ctx)
//
// A [Live] merges files while they grow, second by second, with the same code.
//
// Each part is shifted to the time of the earliest one, and their seconds are fed to one
// [result.Fold]. The package must know no terminal and no network.
package merge
