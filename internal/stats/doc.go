// Package stats counts and times operations, and merges what was counted.
//
// A [Recorder] belongs to one shard of a run. The engine takes what it has
// recorded as a [Window] and merges the shards' windows into one:
//
//	recorder.Acknowledged(stats.Measured, 1, partition, bytes, service, response, at)
//	…
//	phases := recorder.Take(new(stats.Phases), start, end)
//	total = stats.Merge(total, phases[stats.Measured])
//	fmt.Println(total.Acknowledged, total.Response.ValueAtQuantile(0.99))
//
// Window is the one currency of kt: a live run, a run read back from its file
// and a run on twenty hosts differ only in who makes the windows. Merge is
// associative and commutative, has the zero Window as its identity, and is the
// only place that adds numbers up. Percentiles are read from merged histograms
// and are never averaged.
package stats
