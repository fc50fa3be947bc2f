package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// PerfTest writes a finished run as the tool of Kafka's that makes such runs does,
// so that scripts which read that keep working: kafka-producer-perf-test,
// kafka-consumer-perf-test, kafka-share-consumer-perf-test or kafka-e2e-latency. The last one also prints the latency of every thousandth
// record, which kt does not keep.
func PerfTest(w io.Writer, r result.Result, o Options) error {
	if !r.Plan.Reads() {
		return producerPerf(w, r)
	}
	if r.Plan.Writes() {
		h := r.Histograms.EndToEnd.Served()
		_, err := fmt.Fprintf(w, "Avg latency: %.4f ms\nPercentiles: 50th = %d, 99th = %d, 99.9th = %d\n", ms(h.Mean()), inMS(h, 0.5), inMS(h, 0.99), inMS(h, 0.999))
		return err
	}
	o.Consumer.Detailed = false
	c := newConsumerPerf(w, r.Header, o.Consumer)
	if err := c.writeHeader(); err != nil {
		return err
	}
	return c.finish(r)
}

// producerPerf writes the closing lines of kafka-producer-perf-test: the whole run,
// and behind a warm-up the steady state too. Latency counts from when a record was
// due.
func producerPerf(w io.Writer, r result.Result) error {
	measured := stats.Window{
		Acknowledged: r.Records.Acknowledged, Bytes: r.Throughput.Bytes,
		Offered: r.Records.Offered, Response: r.Histograms.Response.Histogram,
		Start: seconds(r.Throughput.FirstDueSeconds), End: seconds(r.Throughput.FirstDueSeconds + r.Throughput.Seconds),
	}
	if r.Warmup == nil {
		return perfTotal(w, &measured, "", r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond)
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
	if err := perfTotal(w, &whole, "", whole.RecordsPerSecond(), whole.BytesPerSecond()/mibBytes); err != nil {
		return err
	}
	return perfTotal(w, &measured, " steady state", r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond)
}

// writePerfInterval writes the progress line of kafka-producer-perf-test.
func writePerfInterval(w io.Writer, s *stats.Window) error {
	h := s.Response.Served()
	_, err := fmt.Fprintf(w, "%d records sent, %.1f records/sec (%.2f MB/sec), %.1f ms avg latency, %.1f ms max latency.\n",
		s.Acknowledged, s.RecordsPerSecond(), s.BytesPerSecond()/mibBytes, ms(h.Mean()), ms(h.Max()))
	return err
}

func perfTotal(w io.Writer, s *stats.Window, kind string, records, mib float64) error {
	h := s.Response.Served() // Kafka's tool counts failed records in no figure
	_, err := fmt.Fprintf(w, "%d%s records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n",
		s.Acknowledged, kind, records, mib, ms(h.Mean()), ms(h.Max()), inMS(h, 0.5), inMS(h, 0.95), inMS(h, 0.99), inMS(h, 0.999))
	return err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func inMS(h *stats.Histogram, quantile float64) int64 {
	return h.ValueAtQuantile(quantile).Milliseconds()
}

// ConsumerRows are options of the rows of kafka-consumer-perf-test.
type ConsumerRows struct {
	HideHeader bool
	Consumers  bool          // a row for each member of a share group
	Detailed   bool          // rows as the run goes on, in place of the one at its end
	Interval   time.Duration // of detailed rows: the last one of a run is shorter, and has none
	Date       DateFormat
	Zone       *time.Location // of the times; nil: this machine's
}

// consumerPerf writes a run as kafka-consumer-perf-test does, and one of a share group as kafka-share-consumer-perf-test,
// so that scripts which read that keep working: a header when the run begins, then a row an interval or one row at the end.
type consumerPerf struct {
	w       io.Writer
	rows    ConsumerRows
	started time.Time
	plan    plan.Plan

	records, bytes int64       // read so far
	members        stats.Share // by consumer, so far
}

// newConsumerPerf writes to w of the run that h begins.
func newConsumerPerf(w io.Writer, h result.Header, rows ConsumerRows) *consumerPerf {
	rows.Zone = cmp.Or(rows.Zone, time.Local)
	return &consumerPerf{w: w, rows: rows, started: h.StartedAt, plan: h.Plan}
}

// writeHeader writes the names of the columns, unless they are to be hidden.
func (c *consumerPerf) writeHeader() error {
	if c.rows.HideHeader {
		return nil
	}
	if c.plan.Read.Share != nil {
		_, err := fmt.Fprintln(c.w, "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms")
		return err
	}
	_, err := fmt.Fprintln(c.w, pick(c.rows.Detailed, "time, threadId, ", "start.time, end.time, ")+
		"data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec")
	return err
}

// writeInterval writes the row of an interval, when rows are detailed: totals so far,
// and the rates of the interval. As in Kafka's tool, the rest at the end has none.
func (c *consumerPerf) writeInterval(s *stats.Window) error {
	const whole = 0.9 // of the interval
	if !c.rows.Detailed || s.Seconds() < whole*c.rows.Interval.Seconds() {
		return nil
	}
	if c.plan.Read.Share != nil {
		return c.memberIntervals(s)
	}
	c.records += s.Consumed
	c.bytes += s.ConsumedBytes
	rebalance := s.JoinTime + s.RebalanceTime/time.Duration(max(1, c.plan.Read.Clients()))
	return c.row(c.date(s.End)+", 0", c.records, c.bytes, s.Consumed, s.ConsumedBytes, s.End-s.Start, rebalance) // Kafka's tool has one thread
}

// finish writes the end: a warning when too few records came before the timeout, and the row of the whole
// run, warm-up included, unless rows are detailed. The time for joining and rebalancing is the mean of the readers.
func (c *consumerPerf) finish(r result.Result) error {
	records, bytes, elapsed, rebalances := r.Records.Consumed, cmp.Or(r.Fetch, new(result.Fetch)).Bytes, seconds(r.ElapsedSeconds), []*result.Rebalances{r.Rebalances}
	if w := r.Warmup; w != nil {
		records, bytes, rebalances = records+w.Records.Consumed, bytes+w.ConsumedBytes, append(rebalances, w.Rebalances)
	}
	share := cmp.Or(r.Fetch, new(result.Fetch)).Share
	for i := 1; share != nil && c.rows.Consumers && i <= c.plan.Read.Clients(); i++ {
		n := strconv.Itoa(i)
		got, of := share.Members[n], share.MemberBytes[n]
		name := theme.Clean(setting(r.ConsumerConfig, "client.id"))
		if name == plan.ShareClient {
			name += "-" + n
		}
		if err := c.shareRow(fmt.Sprintf("Share consumer %d having client id %s consumption metrics- ", i, name), 0, elapsed, got, of, got, of, ""); err != nil {
			return err
		}
	}
	if want := c.plan.Load.Records; r.ReadEnd == result.ReadIdle && records < want {
		if _, err := fmt.Fprintf(c.w, "WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. "+
			"You can use the --timeout option to increase the timeout.\n", c.plan.Read.Timeout.Std().Milliseconds()); err != nil {
			return err
		}
	}
	switch {
	case share != nil:
		return c.shareRow("", 0, elapsed, records, bytes, records, bytes, "")
	case c.rows.Detailed:
		return nil
	}
	rebalance := time.Duration(r.JoinMS) * time.Millisecond
	for _, n := range rebalances {
		if n != nil {
			rebalance += millis(&n.TotalMS) / time.Duration(max(1, c.plan.Read.Clients()))
		}
	}
	return c.row(c.date(0)+", "+c.date(elapsed), records, bytes, records, bytes, elapsed, rebalance)
}

// row writes the totals of a row, and the rates of the amounts that came in its time.
func (c *consumerPerf) row(times string, records, bytes, ofRecords, ofBytes int64, elapsed, rebalance time.Duration) error {
	fetch, mib := max(0, elapsed-rebalance), float64(ofBytes)/mibBytes
	_, err := fmt.Fprintf(c.w, "%s, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n", times, float64(bytes)/mibBytes, per(mib, elapsed), records,
		per(float64(ofRecords), elapsed), rebalance.Milliseconds(), fetch.Milliseconds(), per(mib, fetch), per(float64(ofRecords), fetch))
	return err
}

// memberIntervals writes a row for each member of a share group that got records in an interval.
func (c *consumerPerf) memberIntervals(s *stats.Window) error {
	so := stats.Merge(stats.Window{Read: stats.Read{Share: c.members}}, stats.Window{Read: stats.Read{Share: stats.Share{Members: s.Members, MemberBytes: s.MemberBytes}}})
	c.members = so.Share
	for i := 1; i <= c.plan.Read.Clients(); i++ {
		n := strconv.Itoa(i)
		if s.Members[n] == 0 {
			continue
		}
		if err := c.shareRow("", s.Start, s.End, so.Members[n], so.MemberBytes[n], s.Members[n], s.MemberBytes[n], fmt.Sprintf(" for share consumer %d", i)); err != nil {
			return err
		}
	}
	return nil
}

// shareRow is the row of kafka-share-consumer-perf-test: totals, and the rates of the amounts that came between two times.
func (c *consumerPerf) shareRow(before string, from, to time.Duration, records, bytes, ofRecords, ofBytes int64, after string) error {
	took := to - from
	_, err := fmt.Fprintf(c.w, "%s%s, %s, %.4f, %.4f, %.4f, %d, %d%s\n", before, c.date(from), c.date(to), float64(bytes)/mibBytes,
		per(float64(ofBytes)/mibBytes, took), per(float64(ofRecords), took), records, took.Milliseconds(), after)
	return err
}

// per returns a rate, 0 over no time.
func per(v float64, d time.Duration) float64 {
	return pick(d <= 0, 0, v/d.Seconds())
}

func (c *consumerPerf) date(at time.Duration) string {
	return theme.Clean(c.rows.Date.Format(c.started.Add(at).In(c.rows.Zone))) // of the pattern, the user's own text
}

// Metrics writes the client's metrics as --print-metrics of Kafka's own tools
// does: under the Java client's names, for those that kt knows. Rates and means
// are over the measured part of the run.
func Metrics(w io.Writer, r result.Result) error {
	rows, width := javaMetrics(&r), len("Metric Name")
	for name := range rows {
		width = max(width, len(name))
	}
	return buffered(w, func(b *bytes.Buffer) {
		fmt.Fprintf(b, "\n%-*s   %s\n", width, "Metric Name", "Value")
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			fmt.Fprintf(b, "%-*s : %.3f\n", width, theme.Clean(name), rows[name])
		}
	})
}

// metrics are values under the names that Kafka's Java clients give them.
type metrics map[string]float64

// javaMetrics returns those of a result. A value that is no number is not known.
func javaMetrics(r *result.Result) metrics {
	rows := make(metrics)
	add := func(group, client string, list metrics) {
		for name, value := range list {
			if !math.IsNaN(value) && !math.IsInf(value, 0) {
				rows[fmt.Sprintf("%s-metrics:%s:{client-id=%s}", group, name, client)] = value
			}
		}
	}
	nodes := func(group, client string, brokers []result.BrokerRow) {
		for _, b := range brokers {
			add(group+"-node", fmt.Sprintf("%s, node-id=node-%d", client, b.ID),
				metrics{"request-latency-avg": inMillis(b.Latency.Mean), "request-latency-max": inMillis(b.Latency.Max), "request-total": float64(b.Requests)})
		}
	}
	if writes(&r.Header) {
		client := setting(r.Config, "client.id")
		add("producer", client, producerMetrics(r))
		nodes("producer", client, r.Brokers)
	}
	if r.Plan.Reads() {
		client, f := setting(r.ConsumerConfig, "client.id"), cmp.Or(r.Fetch, new(result.Fetch)) // a file that was cut off before has none
		add("consumer-fetch-manager", client, fetchMetrics(r, f))
		if r.Plan.Read.Group != "" {
			add("consumer-coordinator", client, metrics{
				"commit-latency-avg": inMillis(f.CommitMean), "commit-rate": per(float64(f.Commits), seconds(f.Seconds)), "commit-total": float64(f.Commits),
			})
			if n := r.Rebalances; n != nil {
				add("consumer-coordinator", client, metrics{
					"rebalance-latency-avg": float64(n.TotalMS) / max(1, float64(n.Count)), "rebalance-latency-max": float64(n.LongestMS),
					"rebalance-latency-total": float64(n.TotalMS), "rebalance-total": float64(n.Count),
				})
			}
		}
		nodes("consumer", client, fetched(r.Brokers))
	}
	return rows
}

func inMillis[T result.Micros | int64](us T) float64 { return float64(us) / 1000 }

// some is a value that is not known where it is 0.
func some(v float64) float64 { return pick(v == 0, math.NaN(), v) }

func producerMetrics(r *result.Result) metrics {
	var requests, throttle float64
	for _, b := range r.Brokers {
		requests, throttle = requests+float64(b.Requests), throttle+float64(b.ThrottleMS)
	}
	return metrics{
		"batch-size-avg":            r.Batches.BytesMean,
		"buffer-total-bytes":        number(setting(r.Config, "buffer.memory")),
		"bufferpool-wait-ratio":     r.Client.BufferFullShare,
		"byte-rate":                 r.Throughput.MiBPerSecond * mibBytes,
		"compression-rate-avg":      some(r.Batches.CompressedShare),
		"produce-throttle-time-avg": throttle / requests,
		"record-error-total":        float64(r.Records.Failed),
		"record-send-rate":          r.Throughput.RecordsPerSecond,
		"record-send-total":         float64(r.Records.Offered),
		"records-per-request-avg":   float64(r.Records.Acknowledged) / requests,
		"request-total":             requests,
	}
}

func fetchMetrics(r *result.Result, f *result.Fetch) metrics {
	var throttle float64
	for _, b := range fetched(r.Brokers) {
		throttle += float64(b.ThrottleMS)
	}
	var lag result.Lag
	for _, p := range r.Partitions {
		lag = max(lag, p.ConsumerLag)
	}
	return metrics{
		"bytes-consumed-rate":     some(f.MiBPerSecond) * mibBytes, // less than a second has none
		"bytes-consumed-total":    float64(f.Bytes),
		"records-consumed-rate":   some(f.RecordsPerSecond),
		"records-consumed-total":  float64(r.Records.Consumed),
		"fetch-latency-avg":       inMillis(f.Latency.Mean),
		"fetch-latency-max":       inMillis(f.Latency.Max),
		"fetch-rate":              per(float64(f.Requests), seconds(f.Seconds)),
		"fetch-total":             float64(f.Requests),
		"fetch-size-avg":          f.RequestBytes,
		"records-per-request-avg": f.RequestRecords,
		"fetch-throttle-time-avg": throttle / max(1, float64(f.Requests)),
		"records-lag-max":         pick(r.Environment.ByTopic, some(0), float64(lag)), // it is of partitions
	}
}

func number(s string) float64 {
	var v float64
	_, _ = fmt.Sscan(s, &v) // a setting that is no number has no metric
	return v
}
