package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// javaMetric is a metric under the name that Kafka's Java clients give it.
type javaMetric struct {
	name  string
	value float64
}

// Metrics writes the client's metrics as --print-metrics of Kafka's own tools
// does: under the Java client's names, for those that kt knows. Rates and means
// are over the measured part of the run.
func Metrics(w io.Writer, r result.Result) error {
	rows := javaMetrics(&r)
	width := len("Metric Name")
	for _, m := range rows {
		width = max(width, len(m.name))
	}
	return buffered(w, func(b *bytes.Buffer) {
		fmt.Fprintf(b, "\n%-*s   %s\n", width, "Metric Name", "Value")
		for _, m := range rows {
			fmt.Fprintf(b, "%-*s : %.3f\n", width, theme.Clean(m.name), m.value)
		}
	})
}

// javaMetrics are the rows of a result. A value that is no number is not known.
func javaMetrics(r *result.Result) (rows []javaMetric) {
	add := func(group, client string, list []javaMetric) {
		for _, m := range list {
			if !math.IsNaN(m.value) && !math.IsInf(m.value, 0) {
				rows = append(rows, javaMetric{fmt.Sprintf("%s-metrics:%s:{client-id=%s}", group, m.name, client), m.value})
			}
		}
	}
	nodes := func(group, client string, brokers []result.BrokerRow) {
		for _, b := range brokers {
			add(group+"-node", fmt.Sprintf("%s, node-id=node-%d", client, b.ID),
				[]javaMetric{{"request-latency-avg", inMillis(b.Latency.Mean)}, {"request-latency-max", inMillis(b.Latency.Max)}, {"request-total", float64(b.Requests)}})
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
			add("consumer-coordinator", client, groupMetrics(r, f))
		}
		nodes("consumer", client, fetched(r.Brokers))
	}
	slices.SortFunc(rows, func(a, b javaMetric) int { return strings.Compare(a.name, b.name) })
	return rows
}

func inMillis[T result.Micros | int64](us T) float64 { return float64(us) / 1000 }

// some is a value that is not known where it is 0.
func some(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

func producerMetrics(r *result.Result) []javaMetric {
	var requests, throttle float64
	for _, b := range r.Brokers {
		requests, throttle = requests+float64(b.Requests), throttle+float64(b.ThrottleMS)
	}
	return []javaMetric{
		{"batch-size-avg", r.Batches.BytesMean},
		{"buffer-total-bytes", number(setting(r.Config, "buffer.memory"))},
		{"bufferpool-wait-ratio", r.Client.BufferFullShare},
		{"byte-rate", r.Throughput.MiBPerSecond * mibBytes},
		{"compression-rate-avg", some(r.Batches.CompressedShare)},
		{"produce-throttle-time-avg", throttle / requests},
		{"record-error-total", float64(r.Records.Failed)},
		{"record-send-rate", r.Throughput.RecordsPerSecond},
		{"record-send-total", float64(r.Records.Offered)},
		{"records-per-request-avg", float64(r.Records.Acknowledged) / requests},
		{"request-total", requests},
	}
}

func fetchMetrics(r *result.Result, f *result.Fetch) []javaMetric {
	var throttle float64
	for _, b := range fetched(r.Brokers) {
		throttle += float64(b.ThrottleMS)
	}
	var lag result.Lag
	for _, p := range r.Partitions {
		lag = max(lag, p.ConsumerLag)
	}
	return []javaMetric{
		{"bytes-consumed-rate", some(f.MiBPerSecond) * mibBytes}, // less than a second has none
		{"bytes-consumed-total", float64(f.Bytes)},
		{"records-consumed-rate", some(f.RecordsPerSecond)},
		{"records-consumed-total", float64(r.Records.Consumed)},
		{"fetch-latency-avg", inMillis(f.Latency.Mean)},
		{"fetch-latency-max", inMillis(f.Latency.Max)},
		{"fetch-rate", per(float64(f.Requests), seconds(f.Seconds))},
		{"fetch-total", float64(f.Requests)},
		{"fetch-size-avg", f.RequestBytes},
		{"records-per-request-avg", f.RequestRecords},
		{"fetch-throttle-time-avg", throttle / max(1, float64(f.Requests))},
		{"records-lag-max", float64(lag)},
	}
}

func groupMetrics(r *result.Result, f *result.Fetch) []javaMetric {
	rows := []javaMetric{{"commit-latency-avg", inMillis(f.CommitMean)}, {"commit-rate", per(float64(f.Commits), seconds(f.Seconds))}, {"commit-total", float64(f.Commits)}}
	if n := r.Rebalances; n != nil {
		rows = append(rows, javaMetric{"rebalance-latency-avg", float64(n.TotalMS) / max(1, float64(n.Count))}, javaMetric{"rebalance-latency-max", float64(n.LongestMS)},
			javaMetric{"rebalance-latency-total", float64(n.TotalMS)}, javaMetric{"rebalance-total", float64(n.Count)})
	}
	return rows
}

func number(s string) float64 {
	var v float64
	_, _ = fmt.Sscan(s, &v) // a setting that is no number has no metric
	return v
}
