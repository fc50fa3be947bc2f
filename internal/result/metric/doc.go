// Package metric is the catalogue of the metrics of a run, and the one reader of expressions about them:
// 'p99<20ms', 'errors==0', 'rate>=50k over 10s for 95%'.
//
//	expr, err := metric.Parse("p99<20ms")
//	err = expr.Check(&plan)          // can a run of this plan be judged by it?
//	value, ok := expr.Value(figures) // 12300, in microseconds
//	held := value != metric.Failed && expr.Holds(value)
//
// Limits, studies, comparisons, help, completion, documents, Prometheus and OpenTelemetry read the one table in
// catalogue.yaml. Package result decides what the figures are of: the whole run, or a stretch of it. Nothing here counts.
package metric
