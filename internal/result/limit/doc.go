// Package limit reads what a run has to keep, as --limit and --abort-on say it: 'p99<20ms',
// 'errors==0', 'rate>=50k over 10s for 95%'.
//
//	expr, err := limit.Parse("p99<20ms")
//	err = expr.Check(&plan)          // can a run of this plan be judged by it?
//	value, ok := expr.Value(figures) // 12300, in microseconds
//	held := value != limit.Failed && expr.Holds(value)
//
// The metrics are one table, which the parser, help, completion and the documents share. Package
// result decides what the figures are of: the whole run, or a stretch of it. Nothing here counts.
package limit
