package report

import (
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// busiestTopics is how many topics have a row outside of a page.
const busiestTopics = 10

// named is the figures of a partition or a topic.
type named struct {
	name string
	*result.RowFigures
}

// rowsOf returns the figures of each partition; of each topic if nothing less was counted.
func rowsOf(r *result.Result) (rows []named) {
	for i := range r.Partitions {
		rows = append(rows, named{place(&r.Partitions[i]), &r.Partitions[i].RowFigures})
	}
	for i := 0; i < len(r.Topics) && r.Environment.ByTopic; i++ {
		rows = append(rows, named{r.Topics[i].Topic, &r.Topics[i].RowFigures})
	}
	return rows
}

// rowTable returns a table of partitions or topics, with such columns first, and how it gets a row with the cells of those. read says
// whether the records that were read have a column of their own.
func rowTable(r *result.Result, id, caption string, read bool, first ...string) (t *doc.Table, add func(x result.RowFigures, first ...any) *doc.Row) {
	writes := writes(&r.Header)
	t = doc.NewTable(id, caption, first...)
	t.Head("records", "MiB|5", pick(writes, "mean|1", ""), pick(writes, "p99", ""), pick(writes, "max|3", ""), pick(writes, "longest gap|4", ""),
		pick(read, "read", ""), pick(r.Plan.Reads(), "lag", ""))
	took := func(us int64) string { return pick(us == 0, none, theme.Duration(micros(us))) }
	return t, func(x result.RowFigures, first ...any) *doc.Row {
		if !writes {
			x.Records, x.MiB = x.Consumed, x.ConsumedMiB
		}
		gap := none
		if x.LongestGap != nil {
			gap = theme.Duration(millis(&x.LongestGap.LengthMS))
		}
		records, p99 := doc.Cell{Text: theme.Count(x.Records), Bar: float64(x.Records)}, doc.Cell{Text: took(x.ServiceP99US), Bar: float64(x.ServiceP99US)}
		return t.Add(append(first, records, theme.Number(x.MiB), took(x.ServiceMeanUS), p99, took(x.ServiceMaxUS), gap,
			theme.Count(x.Consumed), x.ConsumerLag.Or(none, theme.Count))...)
	}
}

// topics has a row for each of the busiest topics, and one for all others.
func topics(r *result.Result, most int, output doc.Output) doc.Block {
	writes, all := writes(&r.Header), len(r.Topics)+r.TopicsLeftOut
	t, addRow := rowTable(r, "topics", plural(len(r.Environment.Topics), "topic")+", the busiest first", writes && r.Plan.Reads(),
		"topic|name", "partitions|2", "share", pick(writes && !merged(r), "rec/s|6", ""))
	t.For, t.Bare = output, true
	add := func(x *result.TopicRow) *doc.Row {
		rate := theme.PerSecond(per(float64(x.Records), seconds(r.Throughput.Seconds)))
		return addRow(x.RowFigures, x.Topic, theme.Count(int64(x.Partitions)), theme.Percent(x.Share), rate)
	}
	rest := result.TopicRow{Topic: plural(all-most, "other"), Partitions: r.Environment.Partitions(), Share: 1, RowFigures: result.RowFigures{
		Records: r.Records.Acknowledged, MiB: float64(r.Throughput.Bytes) / mibBytes, Consumed: r.Records.Consumed, ConsumerLag: result.NotKnown,
	}}
	if lag := r.ConsumerLag; r.Fetch != nil && lag != nil { // a file may have one of them
		rest.ConsumedMiB, rest.ConsumerLag = float64(r.Fetch.Bytes)/mibBytes, lag.Left
	}
	for i := range r.Topics[:min(most, len(r.Topics))] {
		x := &r.Topics[i]
		add(x)
		rest.Partitions, rest.Share, rest.Records, rest.Consumed = rest.Partitions-x.Partitions, rest.Share-x.Share, rest.Records-x.Records, rest.Consumed-x.Consumed
		if rest.MiB, rest.ConsumedMiB = rest.MiB-x.MiB, rest.ConsumedMiB-x.ConsumedMiB; rest.ConsumerLag != result.NotKnown {
			rest.ConsumerLag = max(0, rest.ConsumerLag-x.ConsumerLag)
		}
	}
	if all > most {
		rest.Share, rest.MiB, rest.ConsumedMiB = max(0, rest.Share), max(0, rest.MiB), max(0, rest.ConsumedMiB)
		row := add(&rest)
		row.Tone, row.Cells[4].Bar = doc.Muted, 0 // it would dwarf the bars of the topics
	}
	return openable(t)
}

// openable returns a table of a page that may have many rows as one that opens.
func openable(t *doc.Table) doc.Block {
	if t.For == doc.InPage && len(t.Rows) > openRows {
		return doc.Details{Summary: t.Caption, For: t.For, Blocks: []doc.Block{t}}
	}
	return t
}
