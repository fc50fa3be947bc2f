// Package result makes the document of a run from its windows and samples.
//
//	fold := result.NewFold(header)
//	fold.AddWindow(window) // each window of the run, as it comes
//	fold.AddSample(sample) // each sample of the host
//	fold.Finish(trailer)
//	doc := fold.Result()
//
// The same fold makes the result of a live run and of its run file, so `kt report` shows the same as
// the run did. A run file is JSON lines: a header, then windows and samples as they come, then a
// trailer. A file without a trailer gives the result up to its last second.
//
// The package must know no Kafka client, no terminal and no network. Package merge makes one result of
// many run files.
package result
