package report

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// workloadDoc returns what a workload says: its verdict, a row for each load, and then each load as if it had been made alone.
func workloadDoc(r *result.Result, d *doc.Document) *doc.Document {
	d.Subject, d.Tags = r.Subject(), append(marked(r.Tags), plural(len(r.Loads), "load"))
	d.Sections = []doc.Section{
		verdictOf(r),
		{ID: "loads", Title: "Loads", Captions: true, Blocks: []doc.Block{loadTable(r), details(r)}},
		happened(r),
		{ID: "watched", Title: "Watched hosts", Captions: true, Blocks: []doc.Block{busy(r)}},
	}
	for i := range r.Loads {
		l := &r.Loads[i]
		d.Add(l.Name, loadDoc(l))
	}
	d.Sections = append(d.Sections, environment(&r.Loads[0].Result), findings(r))
	return d
}

// loadDoc returns what one load says, without what all loads have in common.
func loadDoc(l *result.LoadResult) *doc.Document {
	r := l.Result
	r.Client, r.Tune, r.Notice = result.ClientUse{}, nil, ""
	return &doc.Document{
		Question: "kt " + string(r.Plan.Command) + " " + r.Subject(), Alerts: alerts(&r), Remarks: []string{strings.Join(Tags(r.Header), ", ")},
		Sections: sectionsOf(&r, figures(&r)),
	}
}

// loadTable has a row for each load, and the sums.
func loadTable(r *result.Result) *doc.Table {
	writing, reading := r.Plan.Writes(), r.Plan.Reads()
	t := doc.NewTable("load-table", "loads; response of those that write, end to end of those that read", "load|name", "command|words|3", "topic|name|5",
		pick(writing, "records/s", ""), "target|4", pick(reading, "read/s", ""), "MiB/s|6", "p50|2", "p99", "max|7", pick(reading, "lag|1", ""), "errors", "bound by|words", "state|words")
	rates := func(r *result.Result) []string {
		f, target := wholeFigures(r), r.Throughput.TargetRecordsPerSecond
		return []string{
			pick(r.Plan.Writes(), theme.PerSecond(f.RecordsPerSecond), none), pick(target > 0, theme.PerSecond(target), none),
			pick(r.Fetch != nil, theme.PerSecond(f.ConsumedPerSecond), none), theme.Number(f.MiBPerSecond + f.ConsumedMiB),
		}
	}
	for i := range r.Loads {
		l, lag := &r.Loads[i], none
		if c := l.ConsumerLag; c != nil {
			lag = c.Records.Or(none, theme.Count)
		}
		_, latency := l.HeadlineLatency()
		failed := l.Records.Errors()
		t.Add(l.Name, string(l.Plan.Command), l.Subject(), rates(&l.Result), latencyOf(&latency, latency.P50), latencyOf(&latency, latency.P99), latencyOf(&latency, latency.Max),
			lag, doc.Cell{Text: theme.Count(failed), Tone: pick(failed > 0, doc.Bad, doc.Plain)}, l.BoundBy.Limit.String(), loadState(l))
	}
	t.Add("all", "", "", rates(r), "", "", "", "", theme.Count(r.Records.Errors()), "", "").Tone = doc.Loud
	return t
}

// loadState returns what became of a load.
func loadState(l *result.LoadResult) doc.Cell {
	broken := l.Broken()
	switch {
	case !l.Valid:
		return doc.Cell{Text: "not valid", Tone: doc.Bad}
	case broken != nil:
		return doc.Cell{Text: broken.Expression + " not held", Tone: doc.Bad}
	}
	return doc.Cell{Text: pick(l.Ended == result.Completed && len(l.Limits) > 0, "limits held", l.Ended)}
}

// WorkloadPlan is what a workload will make and what it takes, before anything is made.
type WorkloadPlan struct {
	*study.Forecast
	Loads []PlannedLoad `json:"loads"`
}

// PlannedLoad is one load of it.
type PlannedLoad struct {
	Name   string    `json:"load"`
	Limits []string  `json:"limits,omitempty"`
	Plan   plan.Plan `json:"plan"`
}

// WorkloadDoc is a workload before anything is made. Its bytes are those of keys and values, before compression and replicas.
func WorkloadDoc(p *WorkloadPlan) *doc.Document {
	t := doc.NewTable("loads", "Loads", "load|name", "command|words", "topics|words", "partitions", "records/s|words", "bytes", "ends|words", "limits|words")
	for i := range p.Loads {
		l := &p.Loads[i]
		of, topics, ends := &l.Plan.Load, cmp.Or(l.Plan.Topic.Name, l.Plan.Read.Include), "when all is read"
		records := cmp.Or(float64(of.Records), l.Plan.RecordsPerSecond()*of.Duration.Std().Seconds())
		switch {
		case of.Records > 0:
			ends = plural(of.Records, "record")
		case of.Duration > 0:
			ends = theme.Duration(of.Duration.Std())
		case !l.Plan.Read.ToEnd:
			ends = "never"
		}
		if n := len(l.Plan.Topic.Names()); n > 1 {
			topics += " (" + plural(n, "topic") + ")"
		}
		t.Add(l.Name, string(l.Plan.Command), topics, pick(l.Plan.Topic.Partitions > 0, strconv.Itoa(int(l.Plan.Topic.Partitions)), none), of.Rate.String(),
			pick(l.Plan.Writes() && records > 0, theme.Bytes(int64(records*l.Plan.Payload.MeanBytes())), none), ends, strings.Join(l.Limits, ", "))
	}
	return &doc.Document{
		Command: "kt run", Subject: p.Study.Name, Question: p.Study.About, Tags: []string{plural(len(p.Loads), "load")}, List: p.Loads, Remarks: takes(p.Forecast),
		Sections: []doc.Section{{ID: "loads", Blocks: []doc.Block{t}}},
	}
}
