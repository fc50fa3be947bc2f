package report

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// PerfTest writes a finished run as the tool of Kafka's that makes such runs does,
// so that scripts which read that keep working: kafka-producer-perf-test,
// kafka-consumer-perf-test or kafka-e2e-latency.
func PerfTest(w io.Writer, r result.Result, o Options) error {
	switch {
	case r.Plan.Reads() && r.Plan.Writes():
		return endToEnd(w, r)
	case r.Plan.Reads():
		c := newConsumerPerf(w, r.Header, ConsumerRows{HideHeader: o.Consumer.HideHeader, Date: o.Consumer.Date, Zone: o.Consumer.Zone})
		if err := c.writeHeader(); err != nil {
			return err
		}
		return c.finish(r)
	}
	return producerPerf(w, r)
}

// endToEnd writes the closing lines of kafka-e2e-latency. That tool also prints the
// latency of every thousandth record, which kt does not keep.
func endToEnd(w io.Writer, r result.Result) error {
	h := r.Histograms.EndToEnd.Served()
	q := func(q float64) int64 { return h.ValueAtQuantile(q).Milliseconds() }
	_, err := fmt.Fprintf(w, "Avg latency: %.4f ms\nPercentiles: 50th = %d, 99th = %d, 99.9th = %d\n", ms(h.Mean()), q(0.5), q(0.99), q(0.999))
	return err
}

// producerPerf writes the closing lines of kafka-producer-perf-test: the whole run,
// and behind a warm-up the steady state too. Latency counts from when a record was
// due.
func producerPerf(w io.Writer, r result.Result) error {
	return buffered(w, func(b *bytes.Buffer) {
		measured := stats.Window{
			Acknowledged: r.Records.Acknowledged, Bytes: r.Throughput.Bytes,
			Offered: r.Records.Offered, Response: r.Histograms.Response.Histogram,
			Start: seconds(r.Throughput.FirstDueSeconds), End: seconds(r.Throughput.FirstDueSeconds + r.Throughput.Seconds),
		}
		steady := rate{r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond}
		if r.Warmup == nil {
			perfTotal(b, &measured, "", steady)
			return
		}
		if r.Overlap != nil { // rates are over that, and it is not all that was measured
			measured.End = max(measured.End, seconds(r.Overlap.SpanSeconds))
		}
		warmup := stats.Window{
			Acknowledged: r.Warmup.Records.Acknowledged, Bytes: r.Warmup.Bytes,
			Offered: r.Warmup.Records.Offered, Response: r.Warmup.Histogram.Histogram,
			Start: seconds(r.Warmup.FirstDueSeconds), End: measured.Start,
		}
		if measured.Offered == 0 { // it ended within the warm-up
			warmup.End = seconds(r.ElapsedSeconds)
		}
		whole := stats.Merge(warmup, measured)
		perfTotal(b, &whole, "", rate{whole.RecordsPerSecond(), whole.BytesPerSecond() / mibBytes})
		perfTotal(b, &measured, " steady state", steady)
	})
}

// rate is what was acknowledged in a second.
type rate struct{ records, mib float64 }

// writePerfInterval writes the progress line of kafka-producer-perf-test.
func writePerfInterval(w io.Writer, s *stats.Window) error {
	h := s.Response.Served()
	_, err := fmt.Fprintf(w, "%d records sent, %.1f records/sec (%.2f MB/sec), %.1f ms avg latency, %.1f ms max latency.\n",
		s.Acknowledged, s.RecordsPerSecond(), s.BytesPerSecond()/mibBytes, ms(h.Mean()), ms(h.Max()))
	return err
}

func perfTotal(b *bytes.Buffer, s *stats.Window, kind string, per rate) {
	h := s.Response.Served() // Kafka's tool counts failed records in no figure
	q := func(q float64) int64 { return h.ValueAtQuantile(q).Milliseconds() }
	fmt.Fprintf(b, "%d%s records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n",
		s.Acknowledged, kind, per.records, per.mib, ms(h.Mean()), ms(h.Max()),
		q(0.5), q(0.95), q(0.99), q(0.999))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
