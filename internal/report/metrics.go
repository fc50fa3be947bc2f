package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Metrics writes the client's metrics as --print-metrics of Kafka's own tools
// does: under the Java client's names, for those that kt knows. Rates and means
// are over the measured part of the run.
func Metrics(w io.Writer, r result.Result) error {
	rows := metricRows(r)
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

type metric struct {
	name  string
	value float64
}

func metricRows(r result.Result) []metric {
	var rows []metric
	if r.Plan.Writes() || !r.Plan.Reads() {
		rows = producerMetrics(r)
	}
	if r.Plan.Reads() {
		rows = append(rows, consumerMetrics(r)...)
	}
	slices.SortFunc(rows, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return rows
}

func producerMetrics(r result.Result) []metric {
	client := setting(r.Config, "client.id")
	var rows []metric
	add := func(name string, v float64) {
		rows = append(rows, metric{fmt.Sprintf("producer-metrics:%s:{client-id=%s}", name, client), v})
	}
	t, rec, b := r.Throughput, r.Records, r.Batches
	add("batch-size-avg", b.BytesMean)
	add("buffer-total-bytes", number(setting(r.Config, "buffer.memory")))
	add("bufferpool-wait-ratio", r.Client.BufferFullShare)
	add("byte-rate", t.MiBPerSecond*mibBytes)
	if b.CompressedShare > 0 {
		add("compression-rate-avg", b.CompressedShare)
	}
	add("record-error-total", float64(rec.Failed))
	add("record-send-rate", t.RecordsPerSecond)
	add("record-send-total", float64(rec.Offered))
	var requests, throttle float64
	for _, broker := range r.Brokers {
		requests += float64(broker.Requests)
		throttle += float64(broker.ThrottleMS)
	}
	add("request-total", requests)
	if requests > 0 {
		add("produce-throttle-time-avg", throttle/requests)
		add("records-per-request-avg", float64(rec.Acknowledged)/requests)
	}
	for _, broker := range r.Brokers {
		node := func(name string, v float64) {
			rows = append(rows, metric{fmt.Sprintf("producer-node-metrics:%s:{client-id=%s, node-id=node-%d}", name, client, broker.ID), v})
		}
		node("request-latency-avg", float64(broker.Latency.Mean)/1000)
		node("request-latency-max", float64(broker.Latency.Max)/1000)
		node("request-total", float64(broker.Requests))
	}
	return rows
}

func number(s string) float64 {
	var v float64
	_, _ = fmt.Sscan(s, &v) // a setting that is no number has no metric
	return v
}
