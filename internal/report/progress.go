package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// progress returns a line about an interval of a run, for a log or a pipe. now is when it ended, and lag the consumer lag then.
func progress(now time.Time, w *stats.Window, h host.Sample, p *plan.Plan, lag *result.LagNow) string {
	clock, failed := theme.Clock(w.End), w.Failed
	if of := p.Load.Duration.Std(); of > 0 {
		clock += "/" + theme.Clock(of)
	}
	parts := []string{now.UTC().Format(time.RFC3339), clock}
	if w.Warmup {
		parts = append(parts, "warm-up")
	}
	if p.Reads() {
		if p.Writes() {
			parts = append(parts, "sent "+theme.Rate(w.RecordsPerSecond())+"/s")
		}
		waits := map[bool]string{true: theme.Rate(float64(lag.Records)), false: "not known"}[lag.Known]
		parts = append(parts, "read "+theme.Rate(w.ConsumedPerSecond())+"/s", theme.MiB(per(float64(w.ConsumedBytes), w.End-w.Start))+" MiB/s", "consumer lag "+waits)
		if p.Writes() || w.EndToEnd.Count() > 0 {
			parts = append(parts, "end to end p50 "+quantile(&w.EndToEnd, 0.5), "p99 "+quantile(&w.EndToEnd, 0.99))
		}
		failed += w.Refused()
	} else {
		parts = append(parts, theme.Rate(w.RecordsPerSecond())+" records/s", theme.MiB(w.BytesPerSecond())+" MiB/s",
			"p50 "+quantile(&w.Response, 0.5), "p99 "+quantile(&w.Response, 0.99), "p99.9 "+quantile(&w.Response, 0.999))
	}
	const shows = 100 * time.Millisecond // a record that waits for less is no news; quantiles cannot show one
	if w.Oldest >= shows && w.Oldest > w.Response.Served().Max() {
		parts = append(parts, "oldest unanswered "+theme.Duration(w.Oldest))
	}
	return strings.Join(append(parts, "err "+theme.Count(failed), fmt.Sprintf("cpu %.2f/%.4g cores", h.ProcessCPU, h.Cores)), "  ")
}

// quantile returns a dash where there is nothing: a latency of 0 would be the best there is.
func quantile(h *stats.Histogram, q float64) string {
	if h.Ranked() == 0 {
		return "-"
	}
	return theme.Duration(h.ValueAtQuantile(q))
}
