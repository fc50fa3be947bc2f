// Package export shows the metrics of a run to monitoring systems while the run goes on.
//
//	prom, err := export.ListenPrometheus("127.0.0.1:9111")
//	res, err := run.Run(ctx, request, prom)
//	prom.Linger(ctx) // until the last totals were scraped
//
// The one list of metrics is in metrics.go. An exporter is one file, and one run.Observer. It keeps running totals of
// the windows that it gets, and makes metrics of them when somebody asks.
package export
