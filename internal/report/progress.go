package report

import (
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// writeProgress writes one line about an interval of a run, for a log or a pipe. at is
// when it ended; of is the planned length of the run, 0 when it has none.
func writeProgress(w io.Writer, now time.Time, s *stats.Window, h host.Sample, of time.Duration) error {
	q := func(q float64) string { return quantile(&s.Response, q) }
	_, err := fmt.Fprintf(w, "%s  %s  %s records/s  %s MiB/s  p50 %s  p99 %s  p99.9 %s%s  err %s  cpu %.2f/%.4g cores\n",
		now.UTC().Format(time.RFC3339), progressClock(s, of), theme.Rate(s.RecordsPerSecond()), theme.MiB(s.BytesPerSecond()),
		q(0.5), q(0.99), q(0.999), oldest(s), theme.Count(s.Failed), h.ProcessCPU, h.Cores)
	return err
}

// progressClock returns when an interval ended, of a run of a planned length.
func progressClock(s *stats.Window, of time.Duration) string {
	clock := theme.Clock(s.End)
	if of > 0 {
		clock += "/" + theme.Clock(of)
	}
	if s.Warmup {
		clock += "  warm-up"
	}
	return clock
}

// oldest returns the age of a record that has waited longer than any answered one of the interval, or an
// empty text. Quantiles cannot show such a record.
func oldest(s *stats.Window) string {
	const shows = 100 * time.Millisecond // a shorter time is no news
	if s.Oldest < shows || s.Oldest <= s.Response.Served().Max() {
		return ""
	}
	return "  oldest unanswered " + theme.Duration(s.Oldest)
}

// quantile returns a dash where there is nothing: a latency of 0 would be the best there is.
func quantile(h *stats.Histogram, q float64) string {
	if h.Ranked() == 0 {
		return "-"
	}
	return theme.Duration(h.ValueAtQuantile(q))
}
