// Package inference says what a few runs prove: whether two sets of runs differ, which
// of many cells are as good as the best, where throughput peaks, and whether one run
// was steady.
//
//	c, err := inference.Compare(control, change, 0.03, 0.05)
//	// c.Verdict: higher, lower, alike within ±3 %, or not enough runs
//	// c.Ratio:   change/control with its confidence interval
//
// The unit of all comparisons is the run: one number a run, as its throughput or its
// p99. Samples within a run are not independent, and thousands of them prove nothing.
//
// Effects are relative: a ratio of 1.05 is 5 % more. Throughput and latency are positive,
// and their noise grows with their size, so comparisons work on logarithms.
// Alpha is the accepted share of false alarms, 0.05 for 95 % confidence.
//
// Every function is pure. Nothing here is NaN or infinite if the input is positive and finite: results
// go into JSON as they are. From nothing there is no ratio. A zero [Estimate] stands for one that cannot be made.
package inference
