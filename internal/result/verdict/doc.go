// Package verdict judges a run: what limited it, and whether its latencies are the
// system's and not kt's.
//
//	e := verdict.Evidence{Target: 1000, OfferedPerSecond: 1000, …}
//	e.Verdict() // {Limit: verdict.None, Evidence: "the target of 1,000 records/s was kept …"}
//	e.Invalid() // the reasons why the run is not valid
//
// It is made of pure functions of numbers. It knows no window, no file and no plan:
// package result fills in the evidence.
package verdict
