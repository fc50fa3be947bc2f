package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// StudyDoc returns what a study says. Its policy fills the sections.
func StudyDoc(d *study.Document) *doc.Document {
	all := &doc.Document{Command: "kt study", Subject: d.Study.Name, Tags: []string{d.ID}, Question: d.Study.About, Again: "kt study report " + d.ID, Foot: "This page does not hold the runs: keep the folder of the study."}
	switch {
	case d.WholeDoc != nil:
		wholeDoc(all, d)
	case d.FindDoc != nil:
		findDoc(all, d)
	case d.TrialDoc != nil:
		trialDoc(all, d)
	case d.Optimum != nil:
		optimumDoc(all, d)
	default:
		gridDoc(all, d)
	}
	if len(d.Doubts)+len(d.Accepted) > 0 {
		all.Sections = slices.Insert(all.Sections, 0, doubtsOf(&d.Doubted))
	}
	for _, sentence := range d.NotEqual {
		all.Remarks = append(all.Remarks, "Not equal: "+sentence+".")
	}
	if d.Embedded {
		all.Alerts = append(all.Alerts, result.EmbeddedNotice)
	}
	return all
}

// gridDoc fills in what a study says of its cells.
func gridDoc(all *doc.Document, d *study.Document) {
	all.Tags = append(all.Tags, fmt.Sprintf("%d of %s", d.Runs, plural(d.Wanted, "run")))
	compared := doc.Section{ID: "compared", Captions: true, For: doc.InText}
	for i := range d.Answers {
		a := &d.Answers[i]
		note := doc.Note{Name: question(d, a), Text: a.Sentence}
		if len(d.Answers) > 1 { // a terminal has the texts alone
			note = doc.Note{Name: a.Factor, Text: question(d, a) + ": " + a.Sentence}
		}
		all.Answer = append(all.Answer, note)
		t := &doc.Table{ID: "compared-" + a.Factor, Caption: question(d, a), Columns: []doc.Column{{Head: a.Factor, Kind: doc.Words}}}
		t.Head(string(a.By)+"|bars", "from", "to")
		for v, c := range d.Along(a) {
			if s := c.Measures[a.By]; s.N > 0 {
				t.Add(v, doc.Cell{Text: Figure(a.By, s.Median), Bar: s.Median}, Figure(a.By, s.Low), Figure(a.By, s.High)).Tone = pick(slices.Contains(a.LikeBest, v), doc.Good, doc.Muted)
			}
		}
		compared.Blocks = append(compared.Blocks, t)
	}
	var runs []oneRun
	for _, c := range d.Cells {
		for _, r := range c.Runs {
			for _, l := range r.Loads {
				runs = append(runs, oneRun{c.At, r.Turn, r.Repeat, l})
			}
		}
	}
	all.List = runs
	each := placed(d.Study, "run-table", "Each run", "run", string(metric.Rate), string(metric.P99), "limit|words", "file|name")
	for _, r := range runs {
		texts := placeOf(d.Study, r.At, r.Load)
		for _, m := range []study.Metric{metric.Rate, metric.P99} {
			v, ok := r.Measures[m]
			texts = append(texts, pick(ok, Figure(m, v), none))
		}
		each.Add(r.Turn, texts, r.Limit.String(), r.File)
	}
	all.Sections = []doc.Section{
		{ID: "plots", Title: "By factor", For: doc.InPage, Columns: true, Blocks: factorPlots(d)},
		{ID: "cells", Title: "Cells", Blocks: []doc.Block{cellTable(d)}},
		compared,
		{ID: "faults", Title: "Faults", Blocks: []doc.Block{faultTable(d)}},
		published(d.Published, d.Study.Doubts),
		{ID: "runs", Title: "Runs", Blocks: []doc.Block{doc.Details{Summary: "Runs", For: doc.InPage | doc.InDetails, Blocks: []doc.Block{each}}}},
	}
}

// placed returns a table that begins with a column, unless its head is "", those of the factors, and one of the load if there are several.
func placed(s *study.Study, id, caption, first string, columns ...string) *doc.Table {
	t := doc.NewTable(id, caption)
	if first != "" {
		t.Head(first)
	}
	for _, f := range s.Factors {
		t.Columns = append(t.Columns, doc.Column{Head: f.Name, Kind: doc.Words})
	}
	t.Head(pick(len(s.Loads) > 1 || s.Loads[0].IsWorkload(), "load|words", ""))
	t.Head(columns...)
	return t
}

// placeOf returns the cells of the factors and the load.
func placeOf(s *study.Study, at map[string]string, load string) (texts []string) {
	for _, f := range s.Factors {
		texts = append(texts, at[f.Name])
	}
	return append(texts, load)
}

// eachLoad calls row for each load of each cell, with the cells of its place.
func eachLoad(d *study.Document, row func(c *study.CellDoc, f *study.CellFigures, place []string)) {
	for i := range d.Cells {
		c := &d.Cells[i]
		row(c, &c.CellFigures, placeOf(d.Study, c.At, c.Load))
		for j := range c.Beside {
			row(c, &c.Beside[j], placeOf(d.Study, c.At, c.Beside[j].Load))
		}
	}
}

// cellTable has a row for each load of each cell.
func cellTable(d *study.Document) *doc.Table {
	t := placed(d.Study, "cell-table", "Medians of the runs of each cell, and the interval of the throughput", "",
		"records/s", "from|1", "to|1", "MiB/s|4", "p50|5", "p99", "p99.9|6", "rough|2", "CPU|3", "runs", "limit|words")
	eachLoad(d, func(c *study.CellDoc, f *study.CellFigures, place []string) {
		r, notes := f.Measures[metric.Rate], slices.Clone(f.FailedMetrics)
		if f.ClientBound {
			notes = append(notes, "the brokers may do more")
		}
		if f.Invalid > 0 {
			notes = append(notes, plural(f.Invalid, "run")+" not valid")
		}
		var texts []string
		for _, m := range []study.Metric{metric.Throughput, metric.P50, metric.P99, metric.P999, metric.Roughness, metric.CPU} {
			texts = append(texts, medianOf(f, m))
		}
		limit := limitsOf(f)
		if c.LeftOut != "" {
			limit, notes = "left out", []string{c.LeftOut}
		}
		row := t.Add(place, doc.Cell{Text: medianOf(f, metric.Rate), Bar: r.Median}, pick(r.N > 0, theme.PerSecond(r.Low), none), pick(r.N > 0, theme.PerSecond(r.High), none), texts, r.N, limit)
		row.Note, row.NoteTone, row.Tone = strings.Join(notes, "; "), doc.Warn, pick(r.N == 0 || f.ClientBound || f.Invalid > 0, doc.Muted, doc.Plain)
	})
	return t
}

func limitsOf(f *study.CellFigures) string {
	var limits []string
	for _, l := range f.Limits {
		limits = append(limits, l.String())
	}
	return strings.Join(limits, ", ")
}

func medianOf(f *study.CellFigures, m study.Metric) string {
	return pick(f.Measures[m].N == 0, none, Figure(m, f.Measures[m].Median))
}

// question returns what an answer is about.
func question(d *study.Document, a *study.Answer) string {
	return pick(a.Best == "", string(a.By)+" by "+a.Factor, "best "+a.Factor+" by "+string(a.By)) + othersOf(d, a)
}

// othersOf writes the values of the other factors of an answer.
func othersOf(d *study.Document, a *study.Answer) (text string) {
	for _, f := range d.Study.Factors {
		if v, ok := a.At[f.Name]; ok {
			text += ", " + f.Name + "=" + v
		}
	}
	return text
}

// faultTable is what the runs saw of faults; no row: nothing.
func faultTable(d *study.Document) *doc.Table {
	t := placed(d.Study, "fault-table", "What the runs saw of faults: medians, and the range", "", "failed", "lost", "not checked", "no acks for", "rate back after", "in sync after")
	span := func(ms float64) string { return theme.Duration(time.Duration(ms) * time.Millisecond) }
	faulty := d.Faulty()
	eachLoad(d, func(c *study.CellDoc, f *study.CellFigures, place []string) {
		var texts []string // of the runs that saw an effect, if not all did
		for i, s := range []study.Spread{f.Failed, f.Lost, f.Unchecked, f.Gap, f.Recovered, f.InSync} {
			write := pick(i < 3, theme.PerSecond, span)
			texts = append(texts, pick(s.N == 0, none, write(s.Median)+pick(s.Low < s.High, " ("+write(s.Low)+" – "+write(s.High)+")", "")+
				pick(s.N < f.Failed.N, fmt.Sprintf(", %d of %d runs", s.N, f.Failed.N), "")))
		}
		if faulty && len(c.Runs) > 0 {
			t.Add(place, texts)
		}
	})
	return t
}

// published has the figures of published tests beside those of a study, where they come from, and the doubts about them.
func published(figures []study.Published, doubts []result.Doubt) doc.Section {
	t := doc.NewTable("published-table", "Published figures, and those of this study", "case|words", "at|words", "published", "here", "ratio")
	latencies := doc.NewTable("published-latency-table", "Published latencies, and those of this study", "case|words", "at|words")
	latencies.Note = "Latencies, published and here, are from when a record was sent, as Kafka's own tools count, and not from when it was due."
	for _, of := range study.Latencies {
		leave := pick(of == metric.Mean || of == metric.P99, "", "|2")
		latencies.Head(of+leave, of+" here"+leave)
	}
	var sources []string
	for _, p := range figures {
		if len(p.Latencies) > 0 {
			texts := slices.Repeat([]string{none}, 2*len(study.Latencies))
			for _, l := range p.Latencies {
				at := 2 * slices.Index(study.Latencies, l.Of)
				texts[at], texts[at+1] = Figure(metric.P99, l.Published), pick(l.Here > 0, Figure(metric.P99, l.Here), none)
			}
			latencies.Add(p.Case, p.String(), texts)
		}
		row := t.Add(p.Case, p.String(), theme.PerSecond(p.RecordsPerSecond), none, none)
		if row.Note = p.Environment; p.EnvironmentHere != "" {
			row.Cells[3].Text = theme.PerSecond(p.Here)
			row.Note += "; here: " + p.EnvironmentHere
		}
		if len(p.Differs) > 0 {
			row.Note += "; no ratio, because the load differs: " + strings.Join(p.Differs, "; ")
		} else if p.Ratio > 0 {
			row.Cells[4].Text = theme.Ratio(p.Ratio)
		}
		if source := strings.TrimSuffix(p.Account+": "+p.Link, ": "); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	f := new(doc.Facts)
	for _, source := range sources {
		f.List("published by", source)
	}
	doubted(f, doubts, nil, 0)
	return doc.Section{ID: "published", Title: "Published figures", Blocks: []doc.Block{t, latencies, f}}
}

// oneRun is a load of a run of a study.
type oneRun struct {
	At     map[string]string `json:"at"`
	Turn   int               `json:"turn"`
	Repeat int               `json:"repeat"`
	study.LoadFigures
}

// Figure writes a value of a metric for people, in a column that has its unit.
func Figure(m study.Metric, v float64) string {
	if m.Of().Unit == metric.RecordsRate { // a whole one
		return theme.PerSecond(v)
	}
	text, _, _ := strings.Cut(m.Of().Unit.Show(v), " ")
	return text
}
