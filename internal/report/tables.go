package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// tables writes a row a broker, and what stands out among the partitions.
func (t *text) tables(r result.Result) {
	if len(r.Brokers) > 0 {
		t.line("")
		t.line("    " + t.th.Paint(muted, fmt.Sprintf("%-4s %-24s %10s %10s %12s %12s %12s", "id", "broker", "records", "MiB", "p50 request", "p99 request", "throttled")))
		for _, b := range r.Brokers {
			d := func(us int64) string { return theme.Duration(micros(us)) }
			t.line(fmt.Sprintf("    %-4d %-24s %10s %10s %12s %12s %12s", b.ID, b.Addr, theme.Rate(float64(b.Records)), theme.Number(b.MiB),
				d(b.Latency.P50), d(b.Latency.P99), theme.Duration(micros(1000*b.ThrottleMS))))
			if b.Failed > 0 {
				t.line("         " + t.th.Paint(warn, theme.Count(b.Failed)+" requests were not answered"))
			}
		}
	}
	if low, high, ok := extremes(r); ok && high.Records > 0 {
		t.line("")
		t.row("partitions", plain, fmt.Sprintf("%d, from %s (p%d) to %s records (p%d)", r.Environment.Topic.Partitions,
			theme.Count(low.Records), low.ID, theme.Count(high.Records), high.ID))
	}
}

// extremes are the partitions with the fewest and the most records, of several;
// one that got none has no row.
func extremes(r result.Result) (low, high result.PartitionRow, ok bool) {
	seen := make(map[int32]bool, len(r.Partitions))
	for i, p := range r.Partitions {
		seen[p.ID] = true
		if i == 0 || p.Records < low.Records {
			low = p
		}
		if i == 0 || p.Records > high.Records {
			high = p
		}
	}
	for id := range int32(r.Environment.Topic.Partitions) {
		if !seen[id] {
			low = result.PartitionRow{ID: id}
			break
		}
	}
	return low, high, r.Environment.Topic.Partitions > 1
}
