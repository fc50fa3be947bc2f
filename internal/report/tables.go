package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// tables writes a row a broker. Of a round trip it writes fetches if brokers throttled them.
func (t *text) tables(r result.Result) {
	if len(r.Brokers) > 0 && writes(r.Header) {
		t.brokers("request", r.Brokers)
	}
	if rows := Fetched(r.Brokers); len(rows) > 0 && (t.verbose || !writes(r.Header) || slices.ContainsFunc(rows, func(b result.BrokerRow) bool { return b.ThrottleMS > 0 })) {
		t.brokers("fetch", rows)
	}
}

// uneven reports whether a partition got more than twice the records of another. Others are of interest to
// --verbose only.
func uneven(low, high result.PartitionRow) bool { return high.Records > 2*low.Records }

func (t *text) partitions(r result.Result, low, high result.PartitionRow) {
	t.row("partitions", plain, fmt.Sprintf("%d, from %s (%s) to %s (%s)", r.Environment.Partitions(),
		theme.Count(low.Records), place(low), plural(high.Records, "record"), place(high)))
}

// brokers writes a row a broker, of its requests of one kind.
func (t *text) brokers(kind string, rows []result.BrokerRow) {
	t.line("")
	g := &grid{
		heads: []string{"id", "broker", "records", "MiB", "p50 " + kind, "p99 " + kind, "throttled"},
		left:  map[int]bool{1: true},
		names: map[int]bool{1: true},
		least: []int{3, 23, 10, 9, 11, 11, 11},
		leave: []string{"MiB", "throttled", "p50 " + kind, "broker"},
	}
	for _, b := range rows {
		records, mib := string(t.th.Glyphs.Missing), string(t.th.Glyphs.Missing)
		if Counted(b) {
			records, mib = theme.Rate(float64(b.Records)), theme.Number(b.MiB)
		}
		g.add(plain, strconv.Itoa(int(b.ID)), b.Addr, records, mib,
			t.quantile(b.Latency, b.Latency.P50), t.quantile(b.Latency, b.Latency.P99), theme.Duration(micros(1000*b.ThrottleMS)))
		if b.Failed > 0 {
			g.note(warn, plural(b.Failed, "request")+" "+either(b.Failed, "was", "were")+" not answered")
		}
	}
	t.draw(g)
}

// Counted reports whether the requests to a broker were counted. Of RabbitMQ and Pulsar a row says only how long they throttled kt.
func Counted(b result.BrokerRow) bool { return b.Requests > 0 || b.Records > 0 }

// Fetched returns the fetches from each broker, as requests to it.
func Fetched(rows []result.BrokerRow) []result.BrokerRow {
	var of []result.BrokerRow
	for _, b := range rows {
		if f := b.Fetch; f != nil {
			of = append(of, result.BrokerRow{
				ID: b.ID, Addr: b.Addr, Requests: f.Requests, Failed: f.Failed, Records: f.Records, MiB: f.MiB, Latency: f.Latency, ThrottleMS: f.ThrottleMS,
			})
		}
	}
	return of
}

// extremes returns the partitions with the fewest and the most records, of several: of
// those sent, or read by a run that only reads. One that got none has no row.
func extremes(r result.Result) (low, high result.PartitionRow, ok bool) {
	type at struct {
		topic string
		id    int32
	}
	seen := make(map[at]bool, len(r.Partitions))
	for i, p := range r.Partitions {
		if !writes(r.Header) {
			p.Records = p.Consumed
		}
		seen[at{p.Topic, p.ID}] = true
		if i == 0 || p.Records < low.Records {
			low = p
		}
		if i == 0 || p.Records > high.Records {
			high = p
		}
	}
	for i := range int32(r.Environment.Partitions()) {
		topic, number := r.Environment.Place(i)
		p := result.PartitionRow{ID: number}
		if len(r.Environment.Topics) > 0 {
			p.Topic = topic.Name
		}
		if !seen[at{p.Topic, p.ID}] {
			low = p
			break
		}
	}
	return low, high, r.Environment.Partitions() > 1
}
