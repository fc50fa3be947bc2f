// Package study makes many runs of which one thing differs, and says what they answer.
//
//	s, err := study.Parse("partitions.yaml", text, known)
//	f, err := study.Create(dir, s, id)
//	err = study.Execute(ctx, f, runner, notify)
//	doc, err := f.Document()
//
// A study knows plans and results, and neither clients nor screens. Its Runner makes the runs, here or
// on many hosts. A folder holds all that is known of a study: the document is made of it alone, and
// a study that was cut off goes on from it.
package study
