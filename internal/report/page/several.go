package page

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// MaxRuns is the largest number of runs of one page: nobody tells more lines apart.
const MaxRuns = 8

// Several writes a page of at most MaxRuns runs, each from its own start. files are their names, in the order of the runs.
func Several(w io.Writer, runs []result.Result, files []string) error {
	p := newSeveralPage(runs, files)
	foot := "Made by kt of " + theme.Plural(len(runs), "run file", "run files") + ". This page does not hold the runs: keep their files."
	return (&document{Document: p.document(), Foot: foot, Timeline: p.timeline}).write(w)
}

// severalPage is the page of several runs while it is made.
type severalPage struct {
	runs     []*runPage
	files    []string
	step     float64 // of the charts over time, in seconds
	times    Values
	timeline *Timeline
}

func newSeveralPage(runs []result.Result, files []string) *severalPage {
	p := &severalPage{files: files, step: 1, timeline: &Timeline{To: 1, Marks: []Mark{}, Bands: []Band{}}}
	warm := math.Inf(1)
	for _, r := range runs {
		one := newRunPage(r)
		p.runs = append(p.runs, one)
		p.timeline.To = max(p.timeline.To, one.timeline.To)
		for i := range one.points {
			p.step = max(p.step, math.Round(one.points[i].Seconds))
		}
		warm = min(warm, one.timeline.warm)
	}
	p.step = max(p.step, math.Ceil(p.timeline.To/maxPoints))
	for at := p.step / 2; at < p.timeline.To; at += p.step {
		p.times = append(p.times, at)
	}
	if warm > 0 {
		p.timeline.Bands = append(p.timeline.Bands, Band{0, warm, "warmup"})
	}
	return p
}

// letter is what a run is called on the page.
func letter(i int) string { return string(rune('A' + i)) }

// dashesOf are the dashes of the runs, which tell lines apart without colours.
var dashesOf = [MaxRuns][]int{nil, {7, 3}, {2, 2}, {10, 3}, {5, 2}, {1, 2}, {12, 4}, {3, 4}}

// runColors are the colours of the runs. People who see few colours tell them apart too (after Okabe and Ito).
var runColors = [MaxRuns]struct{ light, dark string }{
	{"#0067a8", "#56b4e9"},
	{"#b84a00", "#e69f00"},
	{"#007e5c", "#2fc49a"},
	{"#a8337f", "#e38bc0"},
	{"#806500", "#f0e442"},
	{"#4a4fbf", "#a9b1ff"},
	{"#8c2f39", "#ff8f80"},
	{"#444b54", "#d9dee4"},
}

// series is the line of a run.
func series(i int, values Values) Series {
	return Series{Name: letter(i), Label: letter(i), Class: fmt.Sprintf("run%d", i), Dash: dashesOf[i], Values: values}
}

func (p *severalPage) document() *doc.Document {
	d := &doc.Document{
		Command: "kt report", Subject: theme.Plural(len(p.runs), "run", "runs"), Tags: []string{"each from its own start"},
		Remarks: []string{"One run of each side shows no noise. kt compare tells differences from noise, with five runs a side or more."},
		Sections: []doc.Section{
			{ID: "runs", Title: "Runs", Blocks: []doc.Block{p.list()}},
			{ID: "side", Title: "Figures", Tables: []doc.Table{p.figures()}},
			{ID: "time", Title: "Over time", Columns: true, Blocks: p.overTime()},
			{ID: "latency", Title: "Latency", Columns: true, Blocks: p.latency()},
			{ID: "differs", Title: "What differs", Tables: []doc.Table{p.differs()}},
		},
	}
	if len(p.runs) > 1 {
		d.Tags = append(d.Tags, "differences are against A")
	}
	return d
}

// Runs says of each run what it was.
type Runs []OneRun

// OneRun is a run in a few sentences.
type OneRun struct {
	*doc.Document
	Letter, Class, File string
	Verdict             doc.Facts
}

func (p *severalPage) list() (list Runs) {
	for i, one := range p.runs {
		d := report.RunDoc(&one.r, report.Options{})
		facts := slices.Clone(d.Sections[0].Facts) // the verdict
		for _, s := range d.Sections {
			facts = append(facts, slices.DeleteFunc(slices.Clone(s.Facts), func(f doc.Fact) bool { return f.Name != "outage" })...)
		}
		list = append(list, OneRun{d, letter(i), fmt.Sprintf("run%d", i), p.files[i], doc.Facts{Rows: facts}})
	}
	return list
}

// figure is a row of the table.
type figure struct {
	name    string
	higher  bool // more is better
	latency bool
	write   func(float64) string
	of      func(*runPage) (v float64, ok bool)
}

// metrics are the rows of the table: those of studies, and what went wrong.
func metrics() (all []figure) {
	for _, m := range study.Shown {
		all = append(all, figure{report.Named(m), m.HigherIsBetter(), m.IsLatency(), func(v float64) string { return report.Figure(m, v) }, func(one *runPage) (float64, bool) {
			_, rated := one.r.Quoted()
			figures := study.FiguresOf(&one.r)
			v, ok := figures.Measures[m]
			return v, ok && (rated || !m.HigherIsBetter())
		}})
	}
	return append(all,
		figure{"longest", false, true, func(us float64) string { return theme.Duration(micros(int64(us))) }, func(one *runPage) (float64, bool) {
			_, l := report.Headline(&one.r)
			return float64(l.Max), l.Count > 0 && l.Max != result.Failed
		}},
		figure{"read by the round trip, records/s", true, false, report.Rounded, func(one *runPage) (float64, bool) {
			rate, ok := one.r.Read()
			return rate.Records, ok && one.writes
		}},
		figure{"errors: failed, unknown or never sent", false, false, theme.PerSecond, func(one *runPage) (float64, bool) {
			return float64(one.r.Records.Errors()), true
		}},
		figure{"lost", false, false, theme.PerSecond, func(one *runPage) (float64, bool) {
			lost, verified := report.Lost(&one.r)
			return float64(lost), verified
		}})
}

// figures has a row for each figure, and a column for each run.
func (p *severalPage) figures() doc.Table {
	t := doc.Table{
		ID: "side-by-side", Caption: "Figures of the runs side by side", Columns: doc.Heads(doc.Words, "figure"),
		Note: "Percentages are differences from A. “best” is the best of several valid runs; of latencies only if they count alike.",
	}
	counts := []string{"latency counts from"}
	for i, one := range p.runs {
		t.Columns = append(t.Columns, doc.Column{Head: letter(i)})
		counts = append(counts, one.countsFrom())
	}
	for _, f := range metrics() {
		if row := p.row(f); row != nil {
			t.Rows = append(t.Rows, doc.Row{Cells: row})
		}
	}
	t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(counts...)})
	return t
}

// countsFrom says from when to when the latency of a run counts. Latencies are comparable only if they count alike.
func (p *runPage) countsFrom() string {
	name, _, _ := strings.Cut(p.latencyName(), ", ")
	return name
}

// row returns the row of a figure; nil: no run has it.
func (p *severalPage) row(f figure) []doc.Cell {
	row := doc.Of(f.name)
	best, valid, values := math.NaN(), 0, make([]float64, len(p.runs))
	for i, one := range p.runs {
		v, ok := f.of(one)
		if !ok {
			v = math.NaN()
		}
		if values[i] = v; !one.r.Valid || math.IsNaN(v) {
			continue
		}
		if valid++; math.IsNaN(best) || v != best && v > best == f.higher {
			best = v
		}
	}
	if !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
		return nil
	}
	named := valid > 1 && !(f.latency && slices.ContainsFunc(p.runs, func(one *runPage) bool { return one.countsFrom() != p.runs[0].countsFrom() }))
	alike := !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
	for i, v := range values {
		if _, l := report.Headline(&p.runs[i].r); math.IsNaN(v) {
			row = append(row, doc.Cell{Text: map[bool]string{true: "failed", false: "–"}[f.latency && l.Unserved > 0], Tone: doc.Muted})
			continue
		}
		c := doc.Cell{Text: f.write(v)}
		if i > 0 && values[0] > 0 {
			c.Note = theme.Signed(v/values[0] - 1)
		}
		if v == best && p.runs[i].r.Valid && named && !alike {
			c.Tone, c.Note = doc.Good, strings.TrimSpace(c.Note+" best")
		}
		row = append(row, c)
	}
	return row
}

// overTime is the throughput and the p99 of all runs.
func (p *severalPage) overTime() []doc.Block {
	rate := &Chart{ID: "throughput", Title: "Throughput", About: "records a second", X: p.times, XUnit: Time, Unit: Rate, Timeline: p.timeline}
	p99 := &Chart{ID: "p99", Title: "Latency, p99", About: "of each second or step", X: p.times, XUnit: Time, Unit: Latency, Log: true, Timeline: p.timeline}
	for i, one := range p.runs {
		rate.add(series(i, p.along(one, one.rateIn)))
		p99.add(series(i, p.along(one, one.p99In)))
	}
	return []doc.Block{rate, p99}
}

// along returns a value for each step of the charts: points of different runs have different times.
func (p *severalPage) along(one *runPage, of func(from, to float64, points []result.Point) float64) Values {
	values := make(Values, len(p.times))
	first := 0
	for i, at := range p.times {
		from, to := at-p.step/2, at+p.step/2
		for first < len(one.points) && one.points[first].End() <= from {
			first++
		}
		last := first
		for last < len(one.points) && one.points[last].StartSeconds < to {
			last++
		}
		values[i] = of(from, to, one.points[first:last])
	}
	return values
}

// covered is the share of a step or of a point that the two have in common, from which on the step shows the point.
const covered = 0.4

func shared(from, to float64, p *result.Point) (seconds float64, shows bool) {
	seconds = min(to, p.End()) - max(from, p.StartSeconds)
	return seconds, seconds >= covered*min(to-from, p.Seconds)
}

// rateIn is the mean rate of a step.
func (p *runPage) rateIn(from, to float64, points []result.Point) float64 {
	n, time, shown := 0.0, 0.0, false
	for i := range points {
		x := &points[i]
		seconds, shows := shared(from, to, x)
		records := x.Acknowledged
		if !p.writes {
			records = x.Consumed
		}
		n, time, shown = n+float64(records)*seconds/x.Seconds, time+seconds, shown || shows
	}
	if !shown {
		return math.NaN()
	}
	return n / time
}

// p99In is the highest p99 of the points of a step.
func (p *runPage) p99In(from, to float64, points []result.Point) float64 {
	highest := math.NaN()
	for i := range points {
		v := us(p.headline(&points[i])[2])
		if _, shows := shared(from, to, &points[i]); shows && !math.IsNaN(v) && !(highest > v) {
			highest = v
		}
	}
	return highest
}

// latency is the latency by percentile.
func (p *severalPage) latency() []doc.Block {
	c := &Chart{ID: "percentiles", Title: "Latency by percentile", About: "of the measured part", XUnit: Percentile, Unit: Latency, Log: true}
	for i, one := range p.runs {
		of := one.percentiles()
		if len(of.Series) > 0 {
			c.X = of.X
			c.Series = append(c.Series, series(i, of.Series[0].Values)) // the headline is its first
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	return []doc.Block{c}
}

// differs is what may explain the differences.
func (p *severalPage) differs() doc.Table {
	t := doc.Table{
		ID: "facts", Caption: "Settings and facts of the environments that differ", Empty: "No setting and no fact of the environments differs.", Columns: doc.Heads(doc.Words, "what"),
	}
	var runs []*result.Result
	for i, one := range p.runs {
		runs, t.Columns = append(runs, &one.r), append(t.Columns, doc.Column{Head: letter(i), Kind: doc.Words})
	}
	for _, f := range study.Differ(runs) {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(append([]string{f.What}, f.Values...)...)})
	}
	return t
}
