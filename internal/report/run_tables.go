package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

const (
	maxRows  = 100 // of a table that only a page has; the document in the page has all
	openRows = 12  // rows of a page that nobody has to scroll past
)

// parts has a row for each broker and for each partition.
func parts(r *result.Result) doc.Section {
	s := doc.Section{ID: "parts", Title: "Brokers and partitions", Captions: true}
	writes := writes(&r.Header)
	if writes {
		s.Blocks = append(s.Blocks, brokers("brokers", "acknowledged by", "brokers: acknowledged records, time of a request", r.Brokers))
	}
	read := fetched(r.Brokers)
	t := brokers("fetches", "read from", "fetches: records read, time of a request", read)
	if writes && !slices.ContainsFunc(read, func(b result.BrokerRow) bool { return b.ThrottleMS > 0 }) {
		t.For = doc.InDetails | doc.InPage
	}
	s.Blocks = append(s.Blocks, t, partitions(r))
	return s
}

// brokers has a row for each broker, of its requests of one kind. Of RabbitMQ and Pulsar a row says only how long they throttled kt.
func brokers(id, from, caption string, rows []result.BrokerRow) *doc.Table {
	t := doc.NewTable(id, caption, "id", from+"|name|1", "records", "MiB|5", "request p50|2", "p99", "max|3", "throttled|4")
	t.Bare = true
	for i := range rows {
		b := &rows[i]
		l, carried, mib := &b.Latency, none, none
		if b.Requests > 0 || b.Records > 0 {
			carried, mib = theme.Rate(float64(b.Records)), theme.Number(b.MiB)
		}
		row := t.Add(b.ID, b.Addr, doc.Cell{Text: carried, Bar: float64(b.Records)}, mib, latencyOf(l, l.P50), doc.Cell{Text: latencyOf(l, l.P99), Bar: float64(l.P99)},
			latencyOf(l, l.Max), theme.Duration(millis(&b.ThrottleMS)))
		if row.NoteTone = doc.Warn; b.Failed > 0 {
			row.Note = plural(b.Failed, "request") + " " + either(b.Failed, "was", "were") + " not answered"
		}
	}
	return t
}

// fetched returns the fetches from each broker, as requests to it.
func fetched(rows []result.BrokerRow) []result.BrokerRow {
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

// partitions has a row for each partition, in a page.
func partitions(r *result.Result) doc.Block {
	writes, reads := writes(&r.Header), r.Plan.Reads()
	t := doc.NewTable("partitions", "", "partition|name", "leader", "records", "MiB")
	if t.For = doc.InPage; writes {
		t.Head("mean", "p99", "max", "longest gap")
	}
	if reads {
		t.Head("read", "lag")
	}
	latency := func(us int64) string {
		if us == 0 {
			return none
		}
		return theme.Duration(micros(us))
	}
	total, top := int64(0), int64(0)
	for i := range r.Partitions {
		x := r.Partitions[i]
		if !writes {
			x.Records, x.MiB = x.Consumed, x.ConsumedMiB
		}
		total, top = total+x.Records, max(top, x.Records)
		if i >= maxRows {
			continue
		}
		name, gap := strconv.Itoa(int(x.ID)), none
		if x.Topic != "" {
			name = place(&x)
		}
		if x.LongestGap != nil {
			gap = theme.Duration(millis(&x.LongestGap.LengthMS))
		}
		row := []any{name, x.Leader, doc.Cell{Text: theme.Count(x.Records), Bar: float64(x.Records)}, theme.Number(x.MiB)}
		if writes {
			row = append(row, latency(x.ServiceMeanUS), doc.Cell{Text: latency(x.ServiceP99US), Bar: float64(x.ServiceP99US)}, latency(x.ServiceMaxUS), gap)
		}
		if reads {
			row = append(row, theme.Count(x.Consumed), x.ConsumerLag.Or(none, theme.Count))
		}
		t.Add(row...)
	}
	count := max(r.Environment.Partitions(), len(r.Partitions)) // one that got nothing has no row
	if t.Caption = plural(count, "partition"); total > 0 {
		t.Caption += fmt.Sprintf("; skew %s (the fullest, in means)", theme.Number(float64(top)*float64(count)/float64(total)))
	}
	if more := len(r.Partitions) - maxRows; more > 0 {
		t.Note = theme.Plural(more, "more row is", "more rows are") + " in the run that this page holds: kt report FILE --output json."
	}
	if len(t.Rows) > openRows {
		return doc.Details{Summary: t.Caption, For: doc.InPage, Blocks: []doc.Block{t}}
	}
	return t
}
