// Package result is the finished run as a document, and its meaning.
//
//	fold := result.NewFold(header)
//	fold.AddWindow(window) // each window of the run, as it comes
//	fold.AddSample(sample) // each sample of the host
//	fold.Finish(trailer)
//	doc := fold.Result()
//
// The same fold makes the result of a live run and of a run file that is read
// back, so `kt report` shows what the run showed. A run file is JSON lines: a
// header, then windows and samples as they come, then a trailer; one that was cut
// off by a kill still gives the result up to its last second.
//
// The package knows no Kafka client, no terminal, and nothing of many hosts: package
// merge makes one result of many run files.
package result
