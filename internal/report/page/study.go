package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// Study writes the page of a study.
func Study(w io.Writer, d *study.Document, _ report.Options) error {
	doc := Document{
		Title: "kt study ▸ " + d.Study.Name, Foot: madeAgain(d.ID), Sections: studySections(d),
		Head: studyHead(d.Study, d.NotEqual, d.Embedded(), d.ID, fmt.Sprintf("%d of %s", d.Runs, theme.Plural(d.Wanted, "run", "runs"))),
	}
	return doc.Write(w)
}

// studyHead is the head of a study: what it asks, and what is not equal between the systems in it.
func studyHead(s *study.Study, notEqual []string, embedded bool, about ...string) Head {
	h := Head{Command: "kt study", Subject: s.Name, About: about}
	if s.About != "" {
		h.Remarks = []string{s.About}
	}
	for _, sentence := range notEqual {
		h.Remarks = append(h.Remarks, "Not equal: "+sentence+".")
	}
	if embedded {
		h.Alerts = []string{result.EmbeddedNotice}
	}
	return h
}

func studySections(d *study.Document) []Section {
	return []Section{
		{ID: "answers", Title: "Answers", Wide: true, Blocks: []Block{answers(d)}},
		{ID: "plots", Title: "By factor", Blocks: plots(d)},
		{ID: "cells", Title: "Cells", Wide: true, Blocks: []Block{cellTable(d)}},
		{ID: "faults", Title: "Faults", Wide: true, Blocks: []Block{faultTable(d)}},
		{ID: "published", Title: "Beside published figures", Wide: true, Blocks: []Block{published(d)}},
	}
}

func madeAgain(id string) string {
	return "Made by kt study report " + id + " --output html. This page does not hold the runs: keep the folder of the study."
}

// answers has each answer under its question.
func answers(d *study.Document) (notes Notes) {
	for i := range d.Answers {
		a := &d.Answers[i]
		notes = append(notes, Note{report.Question(d, a), a.Sentence, ""})
	}
	return notes
}

// maxPlots bounds the plots of a page. The table has every cell.
const maxPlots = 24

// plots are the throughput and the p99 along each answer, and its own metric if it is another.
func plots(d *study.Document) (blocks []Block) {
	var seen []string
	for i := range d.Answers {
		a := &d.Answers[i]
		for _, m := range []study.Metric{study.Throughput, study.P99, a.By} {
			key := fmt.Sprint(m, a.Factor, a.At)
			if slices.Contains(seen, key) || len(blocks) == maxPlots {
				continue
			}
			seen = append(seen, key)
			blocks = append(blocks, along(d, a, m, fmt.Sprintf("plot-%d", len(blocks))))
		}
	}
	return blocks
}

// along is a metric over the values of the factor of an answer.
func along(d *study.Document, a *study.Answer, m study.Metric, id string) *Plot {
	p := &Plot{
		ID: id, Title: m.String() + " by " + a.Factor, About: "median and interval",
		Text: func(v float64) string { return report.Figure(m, v) }, Tick: theme.Tick,
	}
	switch {
	case m == study.Roughness:
		p.Tick = theme.Percent
	case m.IsLatency():
		p.Log, p.Tick = true, func(us float64) string { return theme.TickDuration(micros(int64(us))) }
	}
	for _, f := range d.Study.Factors {
		if v, ok := a.At[f.Name]; ok {
			p.About += ", " + f.Name + "=" + v
		}
	}
	by := *a
	by.By = m
	g := DotGroup{Class: "flow", Joined: true}
	if m != study.Throughput {
		g.Class = "p99"
	}
	for i, bar := range d.Along(&by) {
		p.Names = append(p.Names, bar.Value)
		if s := bar.Spread; s.N > 0 {
			g.Points = append(g.Points, Dot{X: float64(i), Y: s.Median, Low: s.Low, High: s.High, Strong: m == a.By && bar.LikeBest})
		}
	}
	if m == a.By {
		p.About += "; filled: the best, and values like it"
	}
	p.Groups = []DotGroup{g}
	return p
}

// loadHeads are the heads of what tells the rows of a table apart.
func loadHeads(d *study.Document) []Column { return texts(report.LoadHeads(d)...) }

// loadCells are the cells below loadHeads.
func loadCells(d *study.Document, c *study.CellDoc, f *study.CellFigures) (at []string) {
	for _, factor := range d.Study.Factors {
		at = append(at, c.At[factor.Name])
	}
	if len(d.Study.Loads) > 1 {
		at = append(at, f.Load)
	}
	return at
}

// eachLoad calls f for each load of each cell.
func eachLoad(d *study.Document, f func(c *study.CellDoc, f *study.CellFigures)) {
	for i := range d.Cells {
		c := &d.Cells[i]
		f(c, &c.CellFigures)
		for j := range c.Beside {
			f(c, &c.Beside[j])
		}
	}
}

// cellTable has a row for each load of each cell.
func cellTable(d *study.Document) Table {
	t := Table{
		ID: "cell-table", Caption: "Medians of the runs of each cell, and the interval of the throughput",
		Heads: slices.Concat(loadHeads(d), numbers("records/s", "from", "to", "MiB/s", "p50", "p99", "p99.9", "rough", "CPU", "runs"), texts("limit")),
	}
	first := len(loadHeads(d))
	var rates []float64
	eachLoad(d, func(c *study.CellDoc, f *study.CellFigures) {
		row := cells(append(loadCells(d, c, f), figuresOf(f)...)...)
		last := &row[len(row)-1]
		switch {
		case c.LeftOut != "":
			last.Text, last.Class = "left out: "+c.LeftOut, "warn"
		case f.Invalid > 0 || f.ClientBound:
			last.Class = "warn"
		}
		t.Rows, rates = append(t.Rows, row), append(rates, f.Throughput.Median)
	})
	bars(t.Rows, first, rates)
	return t
}

func figuresOf(f *study.CellFigures) []string {
	of := func(m study.Metric) string {
		if f.Of(m).N == 0 {
			return "–"
		}
		return report.Figure(m, f.Of(m).Median)
	}
	r := f.Throughput
	from, to := "–", "–"
	if r.N > 0 {
		from, to = report.Figure(study.Throughput, r.Low), report.Figure(study.Throughput, r.High)
	}
	return []string{
		of(study.Throughput), from, to, of(study.Bytes), of(study.P50), of(study.P99), of(study.P999), of(study.Roughness), of(study.CPU),
		strconv.Itoa(r.N), report.LimitsOf(f),
	}
}

// faultTable is what the runs saw of faults; no row: nothing.
func faultTable(d *study.Document) Table {
	t := Table{
		ID: "fault-table", Caption: "What the runs saw of faults: medians, and the range",
		Heads: append(loadHeads(d), numbers("failed", "lost", "not checked", "no acks for", "rate back after", "in sync after")...),
	}
	if !d.Faulty() {
		return t
	}
	count := theme.PerSecond
	span := func(v float64) string { return theme.Duration(millis(int64(v))) }
	eachLoad(d, func(c *study.CellDoc, f *study.CellFigures) {
		if len(c.Runs) > 0 {
			of := func(s study.Spread, write func(float64) string) string { return report.OverRuns(s, f, "–", write) }
			t.Rows = append(t.Rows, cells(append(loadCells(d, c, f),
				of(f.Failed, count), of(f.Lost, count), of(f.Unchecked, count), of(f.Gap, span), of(f.Recovered, span), of(f.InSync, span))...))
		}
	})
	return t
}

// published is the table of figures that others have measured.
func published(d *study.Document) Table {
	t := Table{
		ID: "published-table", Caption: "Figures that others have published, and those of this study",
		Heads: slices.Concat(texts("case", "at"), numbers("published", "here", "ratio"), texts("their environment", "here")),
	}
	for _, p := range d.Published {
		ratio := theme.Ratio(p.Ratio)
		switch {
		case p.EnvironmentHere == "":
			continue // the study has no run of it
		case len(p.Differs) > 0:
			ratio = "none: " + strings.Join(p.Differs, "; ")
		}
		t.Rows = append(t.Rows, cells(p.Source+"/"+p.Case, p.String(), report.Rounded(p.RecordsPerSecond), report.Rounded(p.Here), ratio, p.Environment, p.EnvironmentHere))
	}
	return t
}

// plotsOf are the pictures of a search.
func plotsOf(d *study.FindDocument) Section {
	return Section{ID: "plots", Title: "By rate", Blocks: []Block{curve(d), reached(d)}}
}

// curve is the latency over the rate, with what it must stay below.
func curve(d *study.FindDocument) *Plot {
	p := &Plot{ID: "curve", Title: "Latency by rate", About: "p99, records a second", XUnit: Rate, Text: Latency.text, Tick: Latency.tick, Log: true}
	g := DotGroup{Name: "p99", Class: "p99", Joined: true}
	for _, c := range d.Curve {
		dot := Dot{X: c.Rate, Y: c.Latency.P99 / 1e6, Strong: c.Knee}
		if c.Knee {
			dot.Label = "knee"
		}
		g.Points = append(g.Points, dot)
	}
	slices.SortFunc(g.Points, func(a, b Dot) int { return cmp.Compare(a.X, b.X) })
	p.Groups = []DotGroup{g}
	for _, s := range d.Study.Find.SLO {
		p.Lines = append(p.Lines, Line{Name: fmt.Sprintf("%s < %s", s.Metric, theme.Duration(micros(int64(s.Below)))), At: s.Below / 1e6})
	}
	return p
}

// reached is what each trial reached at its rate.
func reached(d *study.FindDocument) *Plot {
	p := &Plot{ID: "reached", Title: "Reached by rate", About: "records a second", XUnit: Rate, Text: Rate.text, Tick: Rate.tick}
	held, failed, invalid := DotGroup{Name: "held", Class: "good"}, DotGroup{Name: "did not hold", Class: "bad"}, DotGroup{Name: "not valid", Class: "muted"}
	for _, t := range d.Trials {
		if t.Rate == 0 {
			continue // the burst had no rate
		}
		dot := Dot{X: t.Rate, Y: t.Achieved}
		switch t.Outcome {
		case study.Passed:
			held.Points = append(held.Points, dot)
		case study.Invalid:
			dot.Shape = square
			invalid.Points = append(invalid.Points, dot)
		default:
			dot.Shape = cross
			failed.Points = append(failed.Points, dot)
		}
	}
	p.Groups = slices.DeleteFunc([]DotGroup{held, failed, invalid}, func(g DotGroup) bool { return len(g.Points) == 0 })
	if peak := d.Peak.RecordsPerSecond; peak > 0 {
		p.Lines = []Line{{Name: "peak " + theme.Rate(peak) + "/s", At: peak, Upright: true}}
	}
	return p
}
