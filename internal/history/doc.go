// Package history knows the runs of a folder: it lists them, finds the one that a person means, and removes old ones.
//
//	f := history.Folder{Dir: "/home/me/.local/state/kt/runs"}
//	runs, err := f.Runs() // the newest first
//	path, err := history.Find(paths, "last~1") // the run before the newest
//
// Run files are large, so an index beside them keeps the row of each. The index is a cache: where it is wrong or
// missing, the rows are read from the run files again.
package history
