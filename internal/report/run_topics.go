package report

import (
	"cmp"
	"fmt"
	"slices"

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

// topics has a row for each of the busiest topics, and one for all others.
func topics(r *result.Result, most int, output doc.Output) doc.Block {
	writes, reads := writes(&r.Header), r.Plan.Reads()
	both := writes && reads
	all := slices.Clone(r.Topics)
	slices.SortStableFunc(all, func(a, b result.TopicRow) int { return cmp.Compare(b.Share, a.Share) })
	t := doc.NewTable("topics", plural(len(all)+r.TopicsLeftOut, "topic"), "topic|name", "partitions|2", "records", "share", pick(writes && !merged(r), "rec/s|6", ""), "MiB|5", pick(writes, "mean|1", ""),
		pick(writes, "p99", ""), pick(writes, "max|3", ""), pick(writes, "longest gap|4", ""), pick(both, "read", ""), pick(reads, "lag", ""))
	t.For, t.Bare = output, true
	rest := result.TopicRow{Topic: plural(len(all)+r.TopicsLeftOut-most, "other"), Partitions: r.Environment.Partitions(), Share: 1, RowFigures: result.RowFigures{
		Records: r.Records.Acknowledged, MiB: float64(r.Throughput.Bytes) / mibBytes, Consumed: r.Records.Consumed, ConsumerLag: result.NotKnown,
	}}
	if r.Fetch != nil {
		rest.ConsumedMiB, rest.ConsumerLag = float64(r.Fetch.Bytes)/mibBytes, r.ConsumerLag.Left
	}
	add := func(x result.TopicRow) {
		if !writes {
			x.Records, x.MiB = x.Consumed, x.ConsumedMiB
		}
		took := func(us int64) doc.Cell {
			return doc.Cell{Text: pick(us == 0, none, theme.Duration(micros(us))), Bar: float64(us)}
		}
		gap := none
		if x.LongestGap != nil {
			gap = theme.Duration(millis(&x.LongestGap.LengthMS))
		}
		mean, p99, longest := took(x.ServiceMeanUS), took(x.ServiceP99US), took(x.ServiceMaxUS)
		t.Add(x.Topic, theme.Count(int64(x.Partitions)), doc.Cell{Text: theme.Count(x.Records), Bar: float64(x.Records)}, theme.Percent(x.Share), theme.PerSecond(per(float64(x.Records), seconds(r.Throughput.Seconds))),
			theme.Number(x.MiB), mean.Text, p99, longest.Text, gap, theme.Count(x.Consumed), x.ConsumerLag.Or(none, theme.Count))
	}
	for _, x := range all[:min(most, len(all))] {
		add(x)
		rest.Partitions, rest.Share, rest.Records, rest.Consumed = rest.Partitions-x.Partitions, rest.Share-x.Share, rest.Records-x.Records, rest.Consumed-x.Consumed
		if rest.MiB, rest.ConsumedMiB = rest.MiB-x.MiB, rest.ConsumedMiB-x.ConsumedMiB; rest.ConsumerLag != result.NotKnown {
			rest.ConsumerLag = max(0, rest.ConsumerLag-x.ConsumerLag)
		}
	}
	if len(all) > most {
		rest.Share, rest.MiB, rest.ConsumedMiB = max(0, rest.Share), max(0, rest.MiB), max(0, rest.ConsumedMiB)
		add(rest)
		t.Rows[len(t.Rows)-1].Tone, t.Rows[len(t.Rows)-1].Cells[2].Bar = doc.Muted, 0
	}
	if output == doc.InPage && len(t.Rows) > openRows {
		return doc.Details{Summary: fmt.Sprintf("%s, the busiest first", t.Caption), For: output, Blocks: []doc.Block{t}}
	}
	return t
}
