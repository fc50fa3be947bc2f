package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// HGRM writes the distribution of the headline latency in milliseconds as HdrHistogram writes one: a .hgrm file, which
// plotting tools read. Rows are those of its Java class, with five ticks for each half of the distance to 100 %.
func HGRM(w io.Writer, r result.Result, _ Options) error {
	name, h := "response time", &r.Histograms.Response.Histogram
	if r.Plan.Reads() {
		name, h = "end-to-end latency", &r.Histograms.EndToEnd.Histogram
	}
	if h.Count() == 0 {
		return fmt.Errorf("no %s was measured, so there is no distribution: see --output text", name)
	}
	return buffered(w, func(b *bytes.Buffer) {
		fmt.Fprintf(b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
		eachPercentile(h, func(value time.Duration, level float64, total int64) {
			fmt.Fprintf(b, "%12.3f %2.12f %10d", ms(value), level/100, total)
			if level < 100 {
				fmt.Fprintf(b, " %14.2f", 1/(1-level/100))
			}
			b.WriteByte('\n')
		})
		fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", ms(h.Mean()), deviation(h))
		fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", ms(h.Served().Max()), h.Ranked())
		fmt.Fprintf(b, "#[Buckets = %12d, SubBuckets     = %12d]\n", stats.HDRBuckets, stats.HDRSubBuckets)
		fmt.Fprintf(b, "#[%s in milliseconds, run %s]\n", name, theme.Clean(r.RunID))
	})
}

// ticks is the number of levels in each half of the distance to 100 %, as HdrHistogram has by default.
const ticks = 5

// eachPercentile calls row for the levels that HdrHistogram prints: the first value at or above each level of percent, and
// how many values are at most that. A value with many of the levels has a row for each.
func eachPercentile(h *stats.Histogram, row func(value time.Duration, level float64, total int64)) {
	level, total := 0.0, int64(0)
	h.Each(func(upTo time.Duration, count int64) {
		total += count
		upTo = min(upTo, h.Served().Max())
		for 100*float64(total)/float64(h.Ranked()) >= level {
			row(upTo, level, total)
			if total == h.Ranked() {
				row(upTo, 100, total)
				return
			}
			halves := int64(math.Log(100/(100-level))/math.Ln2) + 1
			level += 100 / (ticks * math.Exp2(float64(halves)))
		}
	})
}

// deviation returns the standard deviation in milliseconds.
func deviation(h *stats.Histogram) float64 {
	mean, sum := ms(h.Mean()), 0.0
	h.Each(func(upTo time.Duration, count int64) { sum += float64(count) * (ms(upTo) - mean) * (ms(upTo) - mean) })
	return math.Sqrt(sum / float64(h.Count()))
}
