package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// writeReadProgress is Progress of a run that reads, with the consumer lag at the end of the interval.
func writeReadProgress(w io.Writer, now time.Time, s *stats.Window, h host.Sample, p *plan.Plan, lag *result.LagNow) error {
	parts := []string{now.UTC().Format(time.RFC3339), progressClock(s, p.Load.Duration.Std())}
	if p.Writes() {
		parts = append(parts, "sent "+theme.Rate(s.RecordsPerSecond())+"/s")
	}
	waits := map[bool]string{true: theme.Rate(float64(lag.Records)), false: "not known"}[lag.Known]
	parts = append(parts,
		"read "+theme.Rate(s.ConsumedPerSecond())+"/s",
		theme.MiB(per(float64(s.ConsumedBytes), s.End-s.Start))+" MiB/s",
		"consumer lag "+waits)
	if p.Writes() || s.EndToEnd.Count() > 0 {
		parts = append(parts, "end to end p50 "+quantile(&s.EndToEnd, 0.5), "p99 "+quantile(&s.EndToEnd, 0.99))
	}
	if text := oldest(s); text != "" {
		parts = append(parts, strings.TrimSpace(text))
	}
	parts = append(parts, "err "+theme.Count(s.Failed+s.Refused()), fmt.Sprintf("cpu %.2f/%.4g cores", h.ProcessCPU, h.Cores))
	_, err := fmt.Fprintln(w, strings.Join(parts, "  "))
	return err
}
