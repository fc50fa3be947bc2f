package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	default:
		gridDoc(all, d)
	}
	for _, sentence := range d.NotEqual {
		all.Remarks = append(all.Remarks, "Not equal: "+sentence+".")
	}
	if d.Embedded() {
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
		compared.Tables = append(compared.Tables, comparedTable(d, a))
	}
	all.Sections = []doc.Section{
		{ID: "plots", Title: "By factor", For: doc.InPage, Columns: true, Blocks: factorPlots(d)},
		{ID: "cells", Title: "Cells", Tables: []doc.Table{cellTable(d)}},
		compared,
		{ID: "faults", Title: "Faults", Tables: []doc.Table{faultTable(d)}},
		published(d),
		{ID: "runs", Title: "Runs", Blocks: []doc.Block{doc.Details{Summary: "Runs", For: doc.InPage | doc.InDetails, Blocks: []doc.Block{runTable(d)}}}},
	}
}

func factorColumns(d *study.Document) (columns []doc.Column) {
	for _, f := range d.Study.Factors {
		columns = append(columns, doc.Column{Head: f.Name, Data: f.Name, Kind: doc.Words})
	}
	return columns
}

func factorCells(d *study.Document, c *study.CellDoc) (cells []doc.Cell) {
	for _, f := range d.Study.Factors {
		cells = append(cells, doc.Cell{Text: c.At[f.Name]})
	}
	return cells
}

// loadTable returns a table with a row for each load of each cell: the values of its factors, the load if there are several, and then
// the cells that row returns. The table leaves out the loads for which row returns false.
func loadTable(d *study.Document, columns []doc.Column, row func(c *study.CellDoc, f *study.CellFigures) (doc.Row, bool)) (t doc.Table) {
	place := factorColumns(d)
	if len(d.Study.Loads) > 1 {
		place = append(place, doc.Column{Head: "load", Kind: doc.Words})
	}
	t.Columns = append(place, columns...)
	for i := range d.Cells {
		c := &d.Cells[i]
		for j := range 1 + len(c.Beside) {
			f, at := &c.CellFigures, factorCells(d, c)
			if j > 0 {
				f = &c.Beside[j-1]
			}
			if len(d.Study.Loads) > 1 {
				at = append(at, doc.Cell{Text: f.Load})
			}
			if r, ok := row(c, f); ok {
				r.Cells = append(at, r.Cells...)
				t.Rows = append(t.Rows, r)
			}
		}
	}
	return t
}

// notMeasured stands for a figure that there is not.
const notMeasured = "–"

// cellTable has a row for each load of each cell.
func cellTable(d *study.Document) doc.Table {
	columns := []doc.Column{
		{Head: "records/s"},
		{Head: "from", Leave: 1},
		{Head: "to", Leave: 1},
		{Head: "MiB/s", Leave: 4},
		{Head: "p50", Leave: 5},
		{Head: "p99"},
		{Head: "p99.9", Leave: 6},
		{Head: "rough", Leave: 2},
		{Head: "CPU", Leave: 3},
		{Head: "runs"},
		{Head: "limit", Kind: doc.Words},
	}
	var rates []float64
	t := loadTable(d, columns, func(c *study.CellDoc, f *study.CellFigures) (doc.Row, bool) {
		row, r, notes := doc.Row{NoteTone: doc.Warn}, f.Of(metric.Rate), slices.Clone(f.FailedMetrics)
		if f.ClientBound {
			notes = append(notes, "the brokers may do more")
		}
		if f.Invalid > 0 {
			notes = append(notes, plural(f.Invalid, "run")+" not valid")
		}
		var limits []string
		for _, l := range f.Limits {
			limits = append(limits, l.String())
		}
		of := func(m study.Metric) string {
			if f.Of(m).N == 0 {
				return notMeasured
			}
			return Figure(m, f.Of(m).Median)
		}
		low, high, limit := notMeasured, notMeasured, strings.Join(limits, ", ")
		if r.N > 0 {
			low, high = Rounded(r.Low), Rounded(r.High)
		}
		if r.N == 0 || f.ClientBound || f.Invalid > 0 {
			row.Tone = doc.Muted
		}
		if row.Note = strings.Join(notes, "; "); c.LeftOut != "" {
			limit, row.Note = "left out", c.LeftOut
		}
		row.Cells = doc.Of(of(metric.Rate), low, high, of(metric.Throughput), of(metric.P50), of(metric.P99), of(metric.P999), of(metric.Roughness), of(metric.CPU), strconv.Itoa(r.N), limit)
		rates = append(rates, r.Median)
		return row, true
	})
	t.ID, t.Caption = "cell-table", "Medians of the runs of each cell, and the interval of the throughput"
	t.Bars(len(t.Columns)-len(columns), rates)
	return t
}

// comparedTable has the values that an answer compares.
func comparedTable(d *study.Document, a *study.Answer) doc.Table {
	t := doc.Table{ID: "compared-" + a.Factor, Caption: question(d, a), Columns: []doc.Column{{Head: a.Factor, Kind: doc.Words}, {Head: string(a.By), Bars: true}, {Head: "from"}, {Head: "to"}}}
	var medians []float64
	for _, v := range d.Along(a) {
		if v.Spread.N == 0 {
			continue
		}
		row := doc.Row{Tone: doc.Muted, Cells: doc.Of(v.Value, Figure(a.By, v.Spread.Median), Figure(a.By, v.Spread.Low), Figure(a.By, v.Spread.High))}
		if v.LikeBest {
			row.Tone = doc.Good
		}
		t.Rows, medians = append(t.Rows, row), append(medians, v.Spread.Median)
	}
	t.Bars(1, medians)
	return t
}

// question returns what an answer is about.
func question(d *study.Document, a *study.Answer) string {
	text := "best " + a.Factor + " by " + string(a.By)
	if a.Best == "" {
		text = string(a.By) + " by " + a.Factor
	}
	return text + othersOf(d, a)
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
func faultTable(d *study.Document) doc.Table {
	span := func(ms float64) string { return theme.Duration(time.Duration(ms) * time.Millisecond) }
	faulty := d.Faulty()
	t := loadTable(d, doc.Heads(doc.Number, "failed", "lost", "not checked", "no acks for", "rate back after", "in sync after"), func(c *study.CellDoc, f *study.CellFigures) (doc.Row, bool) {
		var texts []string
		for _, s := range []study.Spread{f.Failed, f.Lost, f.Unchecked} {
			texts = append(texts, overRuns(s, f.Failed.N, theme.PerSecond))
		}
		for _, s := range []study.Spread{f.Gap, f.Recovered, f.InSync} {
			texts = append(texts, overRuns(s, f.Failed.N, span))
		}
		return doc.Row{Cells: doc.Of(texts...)}, faulty && len(c.Runs) > 0
	})
	t.ID, t.Caption = "fault-table", "What the runs saw of faults: medians, and the range"
	return t
}

// overRuns writes the median of an effect with its range, and in how many runs it was seen if not in all.
func overRuns(s study.Spread, runs int, write func(float64) string) string {
	if s.N == 0 {
		return notMeasured
	}
	text := write(s.Median)
	if s.Low < s.High {
		text += " (" + write(s.Low) + " – " + write(s.High) + ")"
	}
	if s.N < runs {
		text += fmt.Sprintf(", %d of %d runs", s.N, runs)
	}
	return text
}

// published has the figures of published tests beside those of the study, and where they come from.
func published(d *study.Document) doc.Section {
	t := doc.Table{
		ID: "published-table", Caption: "Published figures, and those of this study",
		Columns: []doc.Column{{Head: "case", Kind: doc.Words}, {Head: "at", Kind: doc.Words}, {Head: "published"}, {Head: "here"}, {Head: "ratio"}},
	}
	var sources doc.Facts
	for _, p := range d.Published {
		row := doc.Row{Cells: doc.Of(p.Case, p.String(), Rounded(p.RecordsPerSecond), notMeasured, notMeasured), Note: p.Environment}
		if p.EnvironmentHere != "" {
			row.Cells[3].Text = Rounded(p.Here)
			row.Note += "; here: " + p.EnvironmentHere
		}
		if len(p.Differs) > 0 {
			row.Note += "; no ratio, because the load differs: " + strings.Join(p.Differs, "; ")
		} else if p.Ratio > 0 {
			row.Cells[4].Text = theme.Ratio(p.Ratio)
		}
		t.Rows = append(t.Rows, row)
		if f := (doc.Fact{Name: "published by", Text: strings.TrimSuffix(p.Account+": "+p.Link, ": ")}); !slices.ContainsFunc(sources.Rows, func(o doc.Fact) bool { return o.Text == f.Text }) {
			sources.Rows = append(sources.Rows, f)
		}
	}
	return doc.Section{ID: "published", Title: "Published figures", Tables: []doc.Table{t}, Blocks: []doc.Block{sources}}
}

// runTable has a row for each load of each run.
func runTable(d *study.Document) *doc.Table {
	t := &doc.Table{ID: "run-table", Caption: "Each run", Data: true}
	t.Columns = append([]doc.Column{{Head: "run", Data: "turn"}, {Data: "repeat"}, {Data: "load", Kind: doc.Words}}, factorColumns(d)...)
	if len(d.Study.Loads) > 1 {
		t.Columns[2].Head = "load"
	}
	for _, m := range d.Study.Metrics() {
		c := doc.Column{Data: m.Of().Column()}
		if m == metric.Rate || m == metric.P99 {
			c.Head = string(m)
		}
		t.Columns = append(t.Columns, c)
	}
	t.Columns = append(t.Columns, doc.Column{Data: "valid"}, doc.Column{Head: "limit", Data: "limit", Kind: doc.Words})
	for _, name := range []string{"failed_records", "lost_records", "longest_gap_ms", "rate_recovered_ms", "in_sync_ms"} {
		t.Columns = append(t.Columns, doc.Column{Data: name})
	}
	t.Columns = append(t.Columns, doc.Column{Head: "file", Data: "file", Kind: doc.Name})
	for i := range d.Cells {
		c := &d.Cells[i]
		for _, r := range c.Runs {
			for j := range r.Loads {
				place := append([]doc.Cell{dataCell(strconv.Itoa(r.Turn)), dataCell(strconv.Itoa(r.Repeat)), {Text: r.Loads[j].Load}}, factorCells(d, c)...)
				t.Rows = append(t.Rows, doc.Row{Cells: append(place, runCells(d, &r.Loads[j])...)})
			}
		}
	}
	return t
}

// dataCell returns a number that is the same for people and programs.
func dataCell(text string) doc.Cell { return doc.Cell{Text: text, Data: text} }

func runCells(d *study.Document, l *study.LoadFigures) (cells []doc.Cell) {
	for _, m := range d.Study.Metrics() {
		one := doc.Cell{Text: notMeasured}
		if v, ok := l.Measures[m]; ok {
			one = doc.Cell{Text: Figure(m, v), Data: strconv.FormatFloat(v, 'f', -1, 64)}
		}
		cells = append(cells, one)
	}
	cells = append(cells, dataCell(strconv.FormatBool(l.Valid)), doc.Cell{Text: l.Limit.String(), Data: string(l.Limit)})
	o := cmp.Or(l.Outage, new(result.Outage))
	for _, n := range []*int64{&l.Failed, l.Lost, o.LongestGapMS, o.RecoveredMS, o.InSyncMS} {
		if cells = append(cells, doc.Cell{}); n != nil {
			cells[len(cells)-1] = dataCell(strconv.FormatInt(*n, 10))
		}
	}
	return append(cells, doc.Cell{Text: l.File})
}

// Named returns the name of a metric with the unit that Figure leaves out.
func Named(m study.Metric) string {
	if unit := map[metric.Unit]string{metric.RecordsRate: "records/s", metric.BytesRate: "MiB/s", metric.Cores: "cores"}[m.Of().Unit]; unit != "" {
		return string(m) + ", " + unit
	}
	return string(m)
}

// Figure writes a value of a metric for people, in a column that has its unit.
func Figure(m study.Metric, v float64) string {
	switch of := m.Of(); of.Unit {
	case metric.RecordsRate:
		return Rounded(v)
	case metric.BytesRate:
		return fmt.Sprintf("%.2f", v/mibBytes)
	case metric.Cores:
		return fmt.Sprintf("%.2f", v)
	case metric.Ratio:
		return theme.Percent(v)
	case metric.Time:
		return theme.Duration(micros(int64(v)))
	}
	return theme.PerSecond(v)
}
