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
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// MaxRuns is the largest number of runs of one page: nobody tells more lines apart.
const MaxRuns = 8

// looks are those of the lines of the runs. People who see few colours tell them apart too (after Okabe and Ito).
var looks = [MaxRuns]struct {
	light, dark string
	dash        []int
}{
	{"#0067a8", "#56b4e9", nil},
	{"#b84a00", "#e69f00", []int{7, 3}},
	{"#007e5c", "#2fc49a", []int{2, 2}},
	{"#a8337f", "#e38bc0", []int{10, 3}},
	{"#806500", "#f0e442", []int{5, 2}},
	{"#4a4fbf", "#a9b1ff", []int{1, 2}},
	{"#8c2f39", "#ff8f80", []int{12, 4}},
	{"#444b54", "#d9dee4", []int{3, 4}},
}

// Several writes a page of at most MaxRuns runs, each from its own start. files are their names, in the order of the runs.
func Several(w io.Writer, runs []result.Result, files []string) error {
	d := &doc.Document{
		Command: "kt report", Subject: theme.Plural(len(runs), "run", "runs"), Tags: []string{"each from its own start"},
		Remarks: []string{"One run of each side shows no noise. kt compare tells differences from noise, with five runs a side or more."},
	}
	if len(runs) > 1 {
		d.Tags = append(d.Tags, "differences are against A")
	}
	var all severalPage
	var names []string
	var results []*result.Result
	for i, r := range runs {
		all, names, results = append(all, newRunPage(r)), append(names, letter(i)), append(results, &runs[i])
	}
	differs := report.DifferTable(names...) // what may explain the differences
	for what, values := range study.Differ(results) {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = strings.Join(v, "") // "": the run has none
		}
		differs.Add(what, row)
	}
	d.Sections = []doc.Section{
		{ID: "runs", Title: "Runs", Columns: true, Blocks: all.list(files)},
		{ID: "side", Title: "Figures", Blocks: []doc.Block{all.figures()}},
		{ID: "over-time", Title: "Charts", Columns: true, Blocks: all.charts()},
		{ID: "differs", Title: "What differs", Blocks: []doc.Block{differs}},
	}
	foot := "Made by kt of " + theme.Plural(len(runs), "run file", "run files") + ". This page does not hold the runs: keep their files."
	return write(w, d, foot, "")
}

// severalPage is the page of several runs while it is made.
type severalPage []*runPage

// letter is what a run is called on the page.
func letter(i int) string { return string(rune('A' + i)) }

// list says of each run what it was.
func (p severalPage) list(files []string) (blocks []doc.Block) {
	for i, one := range p {
		d := report.RunDoc(&one.r, report.Options{})
		f := &doc.Facts{Title: letter(i) + "  " + d.Command + " ▸ " + d.Subject}
		row := func(name string, texts ...string) { f.Add(name, doc.Plain, strings.Join(texts, ", ")) }
		for _, b := range d.Badges {
			f.Add("verdict", b.Tone, b.Text)
		}
		row("warning", d.Alerts...)
		for n, s := range d.Sections {
			for _, b := range s.Blocks {
				if facts, ok := b.(*doc.Facts); ok {
					f.Rows = append(f.Rows, slices.DeleteFunc(slices.Clone(facts.Rows), func(f doc.Fact) bool { return n > 0 && f.Name != "outage" })...) // the first is the verdict
				}
			}
		}
		row("made", d.About...)
		row("load", d.Tags...)
		row("command", lineOf(d))
		row("file", files[i])
		blocks = append(blocks, f)
	}
	return blocks
}

// figure is a row of the table.
type figure struct {
	name    string
	higher  bool // more is better
	latency bool
	write   func(float64) string
	of      func(*result.Result) (v float64, ok bool)
}

// rows are those of the table: the metrics of studies, and what went wrong.
func rows() (all []figure) {
	for _, m := range study.Shown {
		_, unit, _ := strings.Cut(m.Of().Unit.Show(2), " ") // Figure leaves it out
		all = append(all, figure{strings.TrimSuffix(string(m)+", "+unit, ", "), m.Of().HigherIsBetter, m.Of().Unit == metric.Time, func(v float64) string { return report.Figure(m, v) }, func(r *result.Result) (float64, bool) {
			_, rated := r.Quoted()
			figures := study.FiguresOf(r)
			v, ok := figures.Measures[m]
			return v, ok && (rated || !m.Of().HigherIsBetter)
		}})
	}
	return append(all,
		figure{"longest", false, true, func(us float64) string { return duration(us / 1e6) }, func(r *result.Result) (float64, bool) {
			_, l := report.Headline(r)
			return float64(l.Max), l.Count > 0 && l.Max != result.Failed
		}},
		figure{"read by the round trip, records/s", true, false, theme.PerSecond, func(r *result.Result) (float64, bool) {
			rate, ok := r.Read()
			return rate.Records, ok && !r.Plan.ReadsOnly()
		}},
		figure{"errors: failed, unknown or never sent", false, false, theme.PerSecond, func(r *result.Result) (float64, bool) { return float64(r.Records.Errors()), true }},
		figure{"lost", false, false, theme.PerSecond, func(r *result.Result) (float64, bool) {
			lost, verified := report.Lost(r)
			return float64(lost), verified
		}})
}

// figures has a row for each figure that a run has, and a column for each run, with the differences from the first. The best is named if
// runs are comparable.
func (p severalPage) figures() *doc.Table {
	t := doc.NewTable("side-by-side", "Figures of the runs side by side", "figure|words")
	t.Note = "Percentages are differences from A. “best” is the best of several valid runs; of latencies only if they count alike."
	counts := []string{"latency counts from"} // latencies are comparable only if they count alike
	for i, one := range p {
		t.Head(letter(i))
		name, _, _ := strings.Cut(one.latencyName(), ", ")
		counts = append(counts, name)
	}
	alike := len(slices.Compact(slices.Clone(counts[1:]))) == 1
	for _, f := range rows() {
		cells := []doc.Cell{{Text: f.name}}
		var valid []float64
		first, differ, some, best := 0.0, false, false, math.NaN() // which equals nothing
		for i, one := range p {
			v, ok := f.of(&one.r)
			c := doc.Cell{Text: f.write(v)}
			_, l := report.Headline(&one.r)
			switch {
			case !ok:
				v, c = math.NaN(), doc.Cell{Text: doc.Unknown, Tone: doc.Muted}
				if f.latency && l.Unserved > 0 {
					c.Text = "failed"
				}
			case i > 0 && first > 0:
				c.Note = theme.Signed(v/first - 1)
			}
			if i == 0 {
				first = v
			}
			if ok && one.r.Valid {
				valid = append(valid, v)
			}
			cells, differ, some = append(cells, c), differ || v != first, some || ok
		}
		if (alike || !f.latency) && len(valid) > 1 && differ {
			if best = slices.Min(valid); f.higher {
				best = slices.Max(valid)
			}
		}
		for i, one := range p {
			if v, ok := f.of(&one.r); ok && v == best && one.r.Valid {
				cells[i+1].Tone, cells[i+1].Note = doc.Good, strings.TrimSpace(cells[i+1].Note+" best")
			}
		}
		if some {
			t.Add(cells)
		}
	}
	t.Add(counts)
	return t
}

// charts are the throughput, the p99 and the distribution of latencies of all runs.
func (p severalPage) charts() []doc.Block {
	t, warm, step := &doc.Timeline{To: 1, Marks: []doc.Event{}, Bands: []doc.Band{}}, math.Inf(1), 1.0
	for _, one := range p {
		t.To, warm = max(t.To, one.timeline.To), min(warm, one.warm)
		for i := range one.points {
			step = max(step, math.Round(one.points[i].Seconds))
		}
	}
	if warm > 0 {
		t.Bands = append(t.Bands, doc.Band{To: warm, Class: "warmup"})
	}
	step = max(step, math.Ceil(t.To/maxPoints))
	rate := &doc.Chart{ID: "throughput", Title: "Throughput", About: "records a second", XUnit: timeUnit, Unit: rateUnit, Time: t}
	p99 := &doc.Chart{ID: "p99", Title: "Latency, p99", About: "of each second or step", XUnit: timeUnit, Unit: latencyUnit, Log: true, Time: t}
	for at := step / 2; at < t.To; at += step {
		rate.X = append(rate.X, at)
	}
	p99.X = rate.X
	percentiles := (&runPage{}).percentiles()
	for i, one := range p {
		rates, highest := one.along(rate.X, step)
		var distribution doc.Values
		if own := one.percentiles(); len(own.Series) > 0 {
			distribution = own.Series[0].Values // the headline is the first
		}
		for _, line := range []struct {
			c      *doc.Chart
			values doc.Values
		}{{rate, rates}, {p99, highest}, {percentiles, distribution}} {
			add(line.c, doc.Series{Name: letter(i), Label: letter(i), Class: fmt.Sprintf("run%d", i), Dash: looks[i].dash, Values: line.values})
		}
	}
	return []doc.Block{rate, p99, percentiles}
}

// covered is the share of a step or of a point that the two have in common, from which on the step shows the point.
const covered = 0.4

// along returns the mean rate and the highest p99 of each step: points of different runs have different times.
func (p *runPage) along(times doc.Values, step float64) (rates, p99 doc.Values) {
	for _, at := range times {
		records, time, highest := 0.0, 0.0, math.NaN()
		for i := range p.points {
			x := &p.points[i]
			in := min(at+step/2, x.End()) - max(at-step/2, x.StartSeconds)
			if in < covered*min(step, x.Seconds) {
				continue
			}
			n := x.Acknowledged
			if !p.writes {
				n = x.Consumed
			}
			time, records = time+in, records+float64(n)*in/x.Seconds
			if v := us(p.headline(x)[2]); !math.IsNaN(v) && !(highest > v) {
				highest = v
			}
		}
		rates, p99 = append(rates, records/time), append(p99, highest) // NaN: no point is in the step
	}
	return rates, p99
}
