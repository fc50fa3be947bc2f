package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// findDoc fills in what a search says.
func findDoc(all *doc.Document, d *study.Document) {
	all.Command, all.Subject, all.Answer = "kt find", d.Study.Heading(), []doc.Note{{Text: d.Sentence}}
	all.Tags, all.List = append(all.Tags, plural(len(d.Trials), "trial")), d.Trials
	scale, what := d.Study.Find.Scale, pick(d.Study.Find.Scale, "scale", "rate")
	trials := doc.NewTable("trial-table", "Trials in their order", "trial|words", what, "reached", "outcome|words")
	tones := map[study.Outcome]doc.Tone{study.Passed: doc.Good, study.Invalid: doc.Muted}
	for _, one := range d.Trials {
		row := trials.Add(one.Kind, rateOf(one.Rate, scale), theme.PerSecond(one.Achieved), one.Outcome)
		row.Tone, row.Note = tones[one.Outcome], strings.Join(one.Reasons, "; ")
	}
	curve := doc.NewTable("curve-table", "Latency at shares of the peak; up to the knee the p99 is at most twice that of the lowest rate",
		pick(scale, "load|words", ""), "of the peak", what, "p50", "p99|bars", "p99.9", "knee|words")
	for _, c := range d.Curve {
		of := func(m study.Metric) string { return Figure(m, c.Measures[m]) }
		row := curve.Add(c.Load, theme.Percent(c.Share), rateOf(c.Rate, scale), of(metric.P50), doc.Cell{Text: of(metric.P99), Bar: c.Measures[metric.P99]}, of(metric.P999), pick(c.Knee, "knee", ""))
		row.Tone = pick(c.Knee, doc.Good, doc.Plain)
	}
	all.Sections = []doc.Section{
		{ID: "plots", Title: "By " + what, For: doc.InPage, Columns: true, Blocks: []doc.Block{curvePlot(d), reachedPlot(d)}},
		{ID: "trials", Blocks: []doc.Block{trials}},
		{ID: "latencies", Title: "Latency below the peak", Blocks: []doc.Block{curve}},
	}
	if !d.Over {
		all.Answer = append(all.Answer, doc.Note{Name: "cut off", Text: "The search was cut off. Go on with: kt study resume " + d.ID, Tone: doc.Warn})
	}
}

// rateOf writes a target, or the scale of a workload; 0 is no limit.
func rateOf(r float64, isScale bool) string {
	return pick(r == 0, "unlimited", pick(isScale, scaleText(r), theme.PerSecond(r)))
}

func scaleText(r float64) string { return strconv.FormatFloat(r, 'g', -1, 64) }

// trialDoc fills in what a trial says.
func trialDoc(all *doc.Document, d *study.Document) {
	table := shiftTable("control", "changed")
	table.Head("seen from|2")
	tones := map[study.Change]doc.Tone{study.Raised: doc.Loud, study.Lowered: doc.Loud, study.Steadier: doc.Good, study.Rougher: doc.Bad}
	for _, e := range d.Effects {
		addShift(table, &e, tones[e.Verdict], pick(e.Seen > 0, theme.Percent(e.Seen), ""))
	}
	all.Command, all.Subject, all.Line, all.Question = "kt trial", d.Study.Trial.String(), d.Study.Loads[0].String(), "Does "+d.Changed.Name+" help?"
	all.Tags = append(all.Tags, plural(d.Control.Runs, "run")+" without it", plural(d.Changed.Runs, "run")+" with it")
	all.Answer, all.List = []doc.Note{{Text: d.Sentence}}, d.Effects
	all.Sections = []doc.Section{
		{ID: "effects", Blocks: []doc.Block{table}}, {ID: "sides", Blocks: []doc.Block{sideTable([]string{"without", "with"}, &d.Control, &d.Changed)}}, filesOf(&d.Control, &d.Changed),
	}
}

// wholeDoc fills in what a study of parts says: the systems side by side, and then each part.
func wholeDoc(all *doc.Document, d *study.Document) {
	t := doc.NewTable("side-by-side-table", "What each part found of each system", "part|words", "system|words", "found|words", "published|words")
	for i := range d.SideBySide {
		s := &d.SideBySide[i]
		var published, sources []string
		for _, p := range s.Published {
			one := theme.Number(p.MBSecond) + " MB/s"
			if p.P99 > 0 {
				one = fmt.Sprintf("p99 %s at %s MB/s", theme.Duration(micros(int64(p.P99))), theme.Number(p.AtSecond))
			}
			published, sources = append(published, one+" ("+p.Of+")"), append(sources, strings.TrimSuffix("published by "+p.Account+": "+p.Link, ": "))
		}
		t.Add(s.Part, s.System, foundOf(s), cmp.Or(strings.Join(published, "; "), none)).Note = strings.Join(slices.Compact(sources), "; ")
	}
	all.Tags = append(all.Tags, plural(len(d.Parts), "part"))
	if d.Sentence != "" {
		all.Command, all.Answer = "kt find", []doc.Note{{Text: d.Sentence}}
	}
	var figures []study.Published
	for _, p := range d.Parts {
		if p.Study != nil && p.Study.GridDoc != nil {
			figures = append(figures, p.Study.Published...)
		}
	}
	all.Sections = []doc.Section{{ID: "side-by-side", Title: "Side by side", Blocks: []doc.Block{t}}, published(figures)}
	list := []any{}
	for i := range d.Parts {
		p := &d.Parts[i]
		part := StudyDoc(cmp.Or(p.Find, p.Study))
		part.Remarks = nil // the whole has them, and published figures
		part.Sections = slices.DeleteFunc(part.Sections, func(s doc.Section) bool { return s.ID == "published" || s.ID == "doubts" })
		all.Add(p.Name, part)
		for _, row := range reflect.ValueOf(part.List).Seq2() {
			list = append(list, inPart{p.Name, row.Interface()})
		}
	}
	all.List = list
}

// inPart is an element of the list of a part.
type inPart struct {
	part string
	of   any
}

// MarshalJSON writes the element with the name of its part.
func (p inPart) MarshalJSON() ([]byte, error) {
	name, _ := json.Marshal(p.part) // a text has a form
	of, err := json.Marshal(p.of)
	return slices.Concat([]byte(`{"part":`), name, []byte(`,`), bytes.TrimPrefix(of, []byte(`{`))), err
}

// foundOf writes what a part found of a system: the highest rate that holds, what runs saw of faults, or the medians.
func foundOf(s *study.SystemBest) string {
	var text string
	switch c, p := s.Cell, s.Peak; {
	case p != nil && p.RecordsPerSecond == 0:
		text = pick(s.Over, "no rate holds", none)
	case p != nil:
		text = pick(p.ClientBound, "at least ", "") + theme.PerSecond(p.RecordsPerSecond) + " records/s"
	case s.By == "":
		texts := []string{theme.Count(int64(c.Failed.Median)) + " failed"}
		if c.Lost.N > 0 {
			texts = append(texts, theme.Count(int64(c.Lost.Median))+" lost")
		}
		if c.Unchecked.Median > 0 {
			texts = append(texts, theme.Count(int64(c.Unchecked.Median))+" not checked")
		}
		if c.Gap.N > 0 {
			texts = append(texts, "none taken for "+theme.Duration(time.Duration(c.Gap.Median)*time.Millisecond))
		}
		text = strings.Join(texts, ", ")
	case s.By.Of().Unit == metric.Time:
		text = "p50 " + Figure(metric.P50, c.Measures[metric.P50].Median) + ", p99 " + Figure(metric.P99, c.Measures[metric.P99].Median)
	default:
		text = theme.PerSecond(c.Measures[metric.Rate].Median) + " records/s"
	}
	return text + pick(s.At != "", " with "+s.At, "") + pick(s.Over, "", " (not over)")
}

// factorPlots are the throughput and the p99 along each answer, and its own metric if it is another.
func factorPlots(d *study.Document) (plots []doc.Block) {
	const most = 24
	var seen []string
	for i := range d.Answers {
		a := &d.Answers[i]
		for _, m := range []study.Metric{metric.Rate, metric.P99, a.By} {
			if key := fmt.Sprint(m, a.Factor, a.At); !slices.Contains(seen, key) && len(plots) < most {
				seen, plots = append(seen, key), append(plots, along(d, a, m, fmt.Sprintf("plot-%d", len(plots))))
			}
		}
	}
	return plots
}

// along is a metric over the values of the factor of an answer.
func along(d *study.Document, a *study.Answer, m study.Metric, id string) *doc.Chart {
	own := m == a.By
	p := &doc.Chart{
		ID: id, Title: string(m) + " by " + a.Factor, Log: m.Of().Unit == metric.Time, Unit: scaleOf(m),
		About: "median and interval" + othersOf(d, a) + pick(own, "; filled: the best, and values like it", ""),
	}
	g := doc.Series{Class: pick(m == metric.Rate, "flow", "p99"), Joined: true}
	for v, c := range d.Along(a) {
		if s := c.Measures[m]; s.N > 0 {
			g.Points = append(g.Points, doc.Point{X: float64(len(p.Names)), Y: s.Median, Low: s.Low, High: s.High, Strong: own && slices.Contains(a.LikeBest, v)})
		}
		p.Names = append(p.Names, v)
	}
	p.Series = []doc.Series{g}
	return p
}

// scaleOf writes values of a metric.
func scaleOf(m study.Metric) doc.Unit {
	s := doc.Unit{Text: func(v float64) string { return Figure(m, v) }, Tick: theme.Tick}
	switch {
	case m.Of().Unit == metric.Ratio:
		s.Tick = theme.Percent
	case m.Of().Unit == metric.Time:
		s.Tick = func(us float64) string { return theme.TickDuration(micros(int64(us))) }
	}
	return s
}

// rateScale writes numbers of records a second.
var rateScale = doc.Unit{Text: func(v float64) string { return theme.Rate(v) + "/s" }, Tick: theme.Tick}

var scaleUnit = doc.Unit{Text: scaleText, Tick: scaleText}

// curvePlot is the latency over the rate, with what it must stay below.
func curvePlot(d *study.Document) *doc.Chart {
	p := &doc.Chart{ID: "curve", Title: "Latency by rate", About: "p99, records a second", XUnit: rateScale, Unit: scaleOf(metric.P99), Log: true}
	if d.Study.Find.Scale {
		p.Title, p.About, p.XUnit = "Latency by scale", "p99 of each load", scaleUnit
	}
	for _, c := range d.Curve {
		i := slices.IndexFunc(p.Series, func(g doc.Series) bool { return g.Name == cmp.Or(c.Load, "p99") })
		if i < 0 {
			i, p.Series = len(p.Series), append(p.Series, doc.Series{Name: cmp.Or(c.Load, "p99"), Class: "p99", Joined: true})
		}
		p.Series[i].Points = append(p.Series[i].Points, doc.Point{X: c.Rate, Y: c.Measures[metric.P99], Strong: c.Knee, Label: pick(c.Knee, "knee", "")})
	}
	for i := range p.Series {
		slices.SortFunc(p.Series[i].Points, func(a, b doc.Point) int { return cmp.Compare(a.X, b.X) })
	}
	for _, s := range d.Study.Find.SLO {
		if s.Metric.Name == metric.P99 {
			p.Rules = append(p.Rules, doc.Rule{Name: s.String(), At: s.Than})
		}
	}
	return p
}

// reachedPlot is what each trial reached at its rate.
func reachedPlot(d *study.Document) *doc.Chart {
	p := &doc.Chart{ID: "reached", Title: "Reached by rate", About: "records a second", XUnit: rateScale, Unit: rateScale}
	if d.Study.Find.Scale {
		p.Title, p.XUnit = "Reached by scale", scaleUnit
	}
	groups := []doc.Series{{Name: "held", Class: "good"}, {Name: "did not hold", Class: "bad"}, {Name: "not valid", Class: "muted"}}
	for _, t := range d.Trials {
		kind := pick(t.Outcome == study.Passed, doc.Circle, pick(t.Outcome == study.Invalid, doc.Square, doc.Cross))
		if t.Rate > 0 { // the burst had no rate
			groups[kind].Points = append(groups[kind].Points, doc.Point{X: t.Rate, Y: t.Achieved, Shape: kind})
		}
	}
	p.Series = slices.DeleteFunc(groups, func(g doc.Series) bool { return len(g.Points) == 0 })
	if scale := d.Peak.Scale; scale > 0 {
		p.Rules = []doc.Rule{{Name: "scale " + scaleText(scale), At: scale, Upright: true}}
	} else if peak := d.Peak.RecordsPerSecond; peak > 0 {
		p.Rules = []doc.Rule{{Name: "peak " + theme.Rate(peak) + "/s", At: peak, Upright: true}}
	}
	return p
}
