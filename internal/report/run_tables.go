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
		s.Tables = append(s.Tables, brokers("brokers", "acknowledged by", "brokers: acknowledged records, time of a request", r.Brokers))
	}
	read := fetched(r.Brokers)
	t := brokers("fetches", "read from", "fetches: records read, time of a request", read)
	if writes && !slices.ContainsFunc(read, func(b result.BrokerRow) bool { return b.ThrottleMS > 0 }) {
		t.For = doc.InDetails | doc.InPage
	}
	s.Tables = append(s.Tables, t)
	s.Blocks = []doc.Block{partitions(r)}
	return s
}

// brokers has a row for each broker, of its requests of one kind. Of RabbitMQ and Pulsar a row says only how long they throttled kt.
func brokers(id, from, caption string, rows []result.BrokerRow) doc.Table {
	t := doc.Table{ID: id, Caption: caption, Bare: true, Columns: []doc.Column{
		{Head: "id"}, {Head: from, Kind: doc.Name, Leave: 1}, {Head: "records"}, {Head: "MiB", Leave: 5}, {Head: "request p50", Leave: 2}, {Head: "p99"}, {Head: "max", Leave: 3}, {Head: "throttled", Leave: 4},
	}}
	var records, p99 []float64
	for i := range rows {
		b := &rows[i]
		l, carried, mib := &b.Latency, none, none
		if b.Requests > 0 || b.Records > 0 {
			carried, mib = theme.Rate(float64(b.Records)), theme.Number(b.MiB)
		}
		row := doc.Row{NoteTone: doc.Warn, Cells: doc.Of(strconv.Itoa(int(b.ID)), b.Addr, carried, mib,
			latencyOf(l, l.P50), latencyOf(l, l.P99), latencyOf(l, l.Max), theme.Duration(millis(&b.ThrottleMS)))}
		if b.Failed > 0 {
			row.Note = plural(b.Failed, "request") + " " + either(b.Failed, "was", "were") + " not answered"
		}
		t.Rows, records, p99 = append(t.Rows, row), append(records, float64(b.Records)), append(p99, float64(l.P99))
	}
	t.Bars(2, records)
	t.Bars(5, p99)
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
	t := &doc.Table{ID: "partitions", For: doc.InPage, Columns: append(doc.Heads(doc.Name, "partition"), doc.Heads(doc.Number, "leader", "records", "MiB")...)}
	if writes {
		t.Columns = append(t.Columns, doc.Heads(doc.Number, "mean", "p99", "max", "longest gap")...)
	}
	if reads {
		t.Columns = append(t.Columns, doc.Heads(doc.Number, "read", "lag")...)
	}
	latency := func(us int64) string {
		if us == 0 {
			return none
		}
		return theme.Duration(micros(us))
	}
	var records, p99 []float64
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
		row := doc.Of(name, strconv.Itoa(int(x.Leader)), theme.Count(x.Records), theme.Number(x.MiB))
		if x.LongestGap != nil {
			gap = theme.Duration(millis(&x.LongestGap.LengthMS))
		}
		if writes {
			row = append(row, doc.Of(latency(x.ServiceMeanUS), latency(x.ServiceP99US), latency(x.ServiceMaxUS), gap)...)
		}
		if reads {
			row = append(row, doc.Of(theme.Count(x.Consumed), x.ConsumerLag.Or(none, theme.Count))...)
		}
		t.Rows, records, p99 = append(t.Rows, doc.Row{Cells: row}), append(records, float64(x.Records)), append(p99, float64(x.ServiceP99US))
	}
	if t.Bars(2, records); writes {
		t.Bars(5, p99)
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
