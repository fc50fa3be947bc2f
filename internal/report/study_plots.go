package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// maxPlots bounds the plots of a study. The table has every cell.
const maxPlots = 24

// factorPlots are the throughput and the p99 along each answer, and its own metric if it is another.
func factorPlots(d *study.Document) (plots []doc.Block) {
	var seen []string
	for i := range d.Answers {
		a := &d.Answers[i]
		for _, m := range []study.Metric{metric.Rate, metric.P99, a.By} {
			key := fmt.Sprint(m, a.Factor, a.At)
			if slices.Contains(seen, key) || len(plots) == maxPlots {
				continue
			}
			seen = append(seen, key)
			plots = append(plots, along(d, a, m, fmt.Sprintf("plot-%d", len(plots))))
		}
	}
	return plots
}

// along is a metric over the values of the factor of an answer.
func along(d *study.Document, a *study.Answer, m study.Metric, id string) *doc.Chart {
	p := &doc.Chart{ID: id, Title: string(m) + " by " + a.Factor, About: "median and interval" + othersOf(d, a), Log: m.IsLatency(), Unit: scaleOf(m)}
	by := *a
	by.By = m
	g := doc.Series{Class: "flow", Joined: true}
	if m != metric.Rate {
		g.Class = "p99"
	}
	for i, bar := range d.Along(&by) {
		p.Names = append(p.Names, bar.Value)
		if s := bar.Spread; s.N > 0 {
			g.Points = append(g.Points, doc.Point{X: float64(i), Y: s.Median, Low: s.Low, High: s.High, Strong: m == a.By && bar.LikeBest})
		}
	}
	if m == a.By {
		p.About += "; filled: the best, and values like it"
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
	case m.IsLatency():
		s.Tick = func(us float64) string { return theme.TickDuration(micros(int64(us))) }
	}
	return s
}

// rateScale writes numbers of records a second.
var rateScale = doc.Unit{Text: func(v float64) string { return theme.Rate(v) + "/s" }, Tick: theme.Tick}

// curvePlot is the latency over the rate, with what it must stay below.
func curvePlot(d *study.Document) *doc.Chart {
	p := &doc.Chart{ID: "curve", Title: "Latency by rate", About: "p99, records a second", XUnit: rateScale, Unit: scaleOf(metric.P99), Log: true}
	g := doc.Series{Name: "p99", Class: "p99", Joined: true}
	for _, c := range d.Curve {
		dot := doc.Point{X: c.Rate, Y: c.Of(metric.P99), Strong: c.Knee}
		if c.Knee {
			dot.Label = "knee"
		}
		g.Points = append(g.Points, dot)
	}
	slices.SortFunc(g.Points, func(a, b doc.Point) int { return cmp.Compare(a.X, b.X) })
	p.Series = []doc.Series{g}
	for _, s := range d.Study.Find.SLO {
		if s.Metric.Name != metric.P99 {
			continue
		}
		p.Rules = append(p.Rules, doc.Rule{Name: s.String(), At: s.Than})
	}
	return p
}

// reachedPlot is what each trial reached at its rate.
func reachedPlot(d *study.Document) *doc.Chart {
	p := &doc.Chart{ID: "reached", Title: "Reached by rate", About: "records a second", XUnit: rateScale, Unit: rateScale}
	groups := []doc.Series{{Name: "held", Class: "good"}, {Name: "did not hold", Class: "bad"}, {Name: "not valid", Class: "muted"}}
	for _, t := range d.Trials {
		if t.Rate == 0 {
			continue // the burst had no rate
		}
		kind, ok := map[study.Outcome]doc.Shape{study.Passed: doc.Circle, study.Invalid: doc.Square}[t.Outcome]
		if !ok {
			kind = doc.Cross
		}
		groups[kind].Points = append(groups[kind].Points, doc.Point{X: t.Rate, Y: t.Achieved, Shape: kind})
	}
	p.Series = slices.DeleteFunc(groups, func(g doc.Series) bool { return len(g.Points) == 0 })
	if peak := d.Peak.RecordsPerSecond; peak > 0 {
		p.Rules = []doc.Rule{{Name: "peak " + theme.Rate(peak) + "/s", At: peak, Upright: true}}
	}
	return p
}
