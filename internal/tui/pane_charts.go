package tui

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// look is how a line is drawn. Without colour, dashes tell lines apart, and without braille a character of their own.
type look struct {
	name    string
	color   theme.Color
	fill    theme.Color // of the area below; Default: no area
	mark    rune
	on, off int // dashes; 0 off: unbroken
}

// series returns a line of samples.
func (l look) series(list []chart.Sample, combine chart.Combine) chart.Series {
	return chart.Series{
		Name: l.name, Samples: list, Combine: combine, Mark: l.mark, On: l.on, Off: l.off,
		Style: theme.Style{FG: l.color}, Fill: theme.Style{FG: l.fill},
	}
}

// flowLooks are the lines of the ways.
var flowLooks = [ways]look{acked: {"acked", theme.Flow, theme.FlowFill, '*', 1, 0}, read: {"read", theme.Good, theme.Default, 'o', 4, 4}}

// shownWays are those that this run goes, the one behind first.
func (d *data) shownWays() []way {
	if d.reads && d.writes {
		return []way{acked, read}
	}
	return []way{d.main}
}

// drawThroughput is how many records a second were acknowledged, or read, or both.
func drawThroughput(c chart.Canvas, s *scene) {
	b := s.box(paneThroughput, s.titled("Throughput"))
	b.right = s.throughputTitle(c.Theme())
	for _, f := range s.failures() {
		text := f.code + " " + theme.Rate(float64(f.count))
		b.bottom = append(b.bottom, line{colored(theme.Bad, text)})
	}
	b.bottom = append(b.bottom, s.shareGroup()...)
	inner := b.draw(c)
	w, h := inner.Size()
	shown := s.shownWays()
	named := len(shown) > 1 && !c.Theme().Colored() // a legend says nothing without its colours
	if named {
		w -= chart.NameWidth
	}
	x := s.timeAxis(w - chart.Gutter - 1)
	points := s.since(x.From)
	top := s.highestTarget(x)
	p := chart.Plot{X: x, Label: theme.Tick, Names: named}
	for _, way := range shown {
		for i := range points {
			if rate := way.rate(&points[i]); rate > top { // NaN is not
				top = rate
			}
		}
		look := flowLooks[way]
		if len(shown) == 1 { // there is nothing to tell it from
			look = flowLooks[acked]
		}
		series := look.series(samples(points, way.rate), chart.Mean)
		series.Broken = look.off > 0
		p.Series = append(p.Series, series)
	}
	p.Y = chart.Linear(top*headroom, min(5, h/2-1)) // labels are two rows apart
	if s.header.TargetRate > 0 && h > 3 {
		p.Marks = []chart.Mark{{Value: s.targetAt, Style: theme.Style{FG: theme.Brand}}}
	}
	p.Draw(inner)
}

// targetAt returns the target rate at a second of the run.
func (s *scene) targetAt(second float64) float64 {
	if len(s.Targets) == 0 {
		return s.header.TargetRate
	}
	return s.Targets.Rate(time.Duration(second * float64(time.Second)))
}

// highestTarget returns the highest target rate that a chart shows.
func (s *scene) highestTarget(x chart.TimeAxis) float64 {
	if len(s.Targets) == 0 {
		return s.header.TargetRate
	}
	from, to := time.Duration(max(x.From, 0)*float64(time.Second)), time.Duration(x.To*float64(time.Second))
	return s.Targets.Highest(from, to)
}

// throughputTitle returns what the throughput is now, most important first.
func (s *scene) throughputTitle(th *theme.Theme) []line {
	if !s.begun() {
		return nil
	}
	last := s.current().flow
	var out []line
	if s.reads && s.writes {
		for _, way := range s.shownWays() {
			look := flowLooks[way]
			out = append(out, line{colored(look.color, look.name+" "), emphasis(look.color, theme.Rate(last[way].Records))})
		}
		text, color := s.lagValue(th)
		out = append(out, line{muted("lag "), colored(color, text)})
	} else {
		out = append(out, line{emphasis(theme.Flow, theme.Rate(last[s.main].Records)+" rec/s")})
	}
	if s.header.TargetRate > 0 {
		out = append(out, line{colored(theme.Brand, "target "+theme.Rate(s.targetAt((s.At-1).Seconds())))})
	}
	if s.main == read {
		out = append(out, line{colored(theme.Flow, s.unit.write(last[read].Bytes)+" "+s.unit.name())})
	}
	if run := s.run().flow[s.main].Records; run > 0 {
		out = append(out, line{muted("avg " + theme.Rate(run))}, line{muted("peak " + theme.Rate(byWay(s.main, s.Peak, s.PeakRead)))})
	}
	return out
}

// ageLook is the line of the oldest record's age, where there is something to see.
var ageLook = look{"age", theme.Bad, theme.Default, '!', 1, 0}

// titled returns the name of a chart, with whom it is about where that could be asked.
func (s *scene) titled(name string) string {
	if s.of == "" {
		return name
	}
	return name + ", " + s.of
}

// latencyTitle returns the name of the latency, over many hosts of what all measured, and what must be known to read it.
func (s *scene) latencyTitle() (title string, remarks []line) {
	name, between := "Queueing + ack latency", ""
	if s.of != "" {
		name = "Ack latency"
	}
	switch {
	case s.endToEnd():
		name, between = "End to end", "due → polled"
	case s.header.TargetRate > 0 && s.of == "":
		name, between = "Response", "due → ack"
	case s.header.TargetRate > 0:
		between = "due → " + map[bool]string{true: "sent", false: "ack"}[slices.Contains(s.header.Tags, "acks=0")]
	}
	switch title = s.titled(name); {
	case s.of == "" && between != "":
		title += " (" + between + ")"
	case s.many():
		title = name + ", merged"
	}
	if s.of != "" && between != "" {
		remarks = append(remarks, line{muted(between)})
	}
	if s.header.TargetRate == 0 && s.writes { // else the stamps tell when records were due
		remarks = append(remarks, line{muted("no target rate: this is mostly queueing")})
	}
	if r := s.run(); r.latency.Ranked() > 0 {
		remarks = append(remarks,
			line{muted("run: p50 " + r.text(p50, "") + " p99 " + r.text(p99, ""))},
			line{muted("p99.9 " + r.text(p999, "") + " max " + theme.Duration(r.latency.Max.Duration()))})
	}
	return title, remarks
}

// drawLatency is the quantiles over time.
func drawLatency(c chart.Canvas, s *scene) {
	if s.untimed() {
		drawConsumerLag(c, s)
		return
	}
	age := colored(ageLook.color, ageLook.name+" ") // first, and with its room kept: the other names stay where they are when it comes or goes
	if !slices.ContainsFunc(s.Recent, func(p result.Point) bool { return s.ageOf(&p) > 0 }) {
		age.text = strings.Repeat(" ", len(age.text))
	}
	legend := line{age}
	for _, q := range quantiles {
		legend = append(legend, colored(q.color, q.name+" "))
	}
	legend[len(quantiles)].text = quantiles[p999].name
	title, remarks := s.latencyTitle()
	b := s.box(paneLatency, title)
	b.right, b.bottom = []line{legend}, remarks
	w, _ := c.Size()
	// A legend says nothing without its colours: then the lines carry their names.
	named := !c.Theme().Colored() || legend.width() > b.room(w)
	if named {
		b.right = nil
	}
	inner := b.draw(c)
	w, _ = inner.Size()
	if named {
		w -= chart.NameWidth
	}
	x := s.timeAxis(w - chart.Gutter - 1)
	points := s.since(x.From)
	lo, hi := math.Inf(1), math.Inf(-1)
	p := chart.Plot{X: x, Label: labelSeconds, Names: named, Ranked: true}
	add := func(look look, value func(*result.Point) float64) {
		list := samples(points, value)
		for _, v := range list {
			if v.Value > 0 {
				lo, hi = min(lo, v.Value), max(hi, v.Value)
			}
		}
		p.Series = append(p.Series, look.series(list, chart.Max))
	}
	for i, q := range quantiles {
		add(q.look, func(p *result.Point) float64 { return s.latencyOf(p, i) })
	}
	add(ageLook, s.ageOf)
	p.Y = latencyAxis(lo, hi)
	p.Draw(inner)
}

// latencyAxis holds both latencies; before there are any, 1 ms to 1 s.
func latencyAxis(lo, hi float64) chart.Axis {
	if !(lo <= hi) {
		lo, hi = 1e-3, 1
	}
	return chart.Decades(lo, hi)
}

func labelSeconds(v float64) string {
	return theme.TickDuration(time.Duration(v * float64(time.Second)))
}

// drawHeatmap is how the latencies are spread, over time.
func drawHeatmap(c chart.Canvas, s *scene) {
	const ramp = 6
	w, _ := c.Size()
	name := "Latency heatmap"
	switch {
	case s.untimed():
		name = "Fetch time heatmap"
	case s.reads:
		name = "End-to-end heatmap"
	}
	b := s.box(paneHeatmap, s.titled(name))
	legend := line{muted("few " + "      " + " many")}
	if legend.width() <= b.room(w) {
		b.right = []line{legend}
	}
	inner := b.draw(c)
	if b.right != nil {
		chart.Ramp(c, w-3-len(" many")-ramp, 0, ramp)
	}
	columns, rows := chart.HeatSize(inner)
	x := s.timeAxis(columns)
	points := s.Heat[sort.Search(len(s.Heat), func(i int) bool { return s.Heat[i].End.Seconds() > x.From }):]
	y := heatAxis(points)
	cells := heatCells(points, x, y, columns, rows)
	chart.Heat{Y: y, X: x, Label: labelSeconds, Share: func(column, row int) float64 {
		return cells[column*rows+row]
	}}.Draw(inner)
}

// heatAxis holds every latency of the columns.
func heatAxis(columns []result.HeatColumn) chart.Axis {
	first, last := result.HeatBins, -1
	for i := range columns {
		for bin, n := range columns[i].Bins {
			if n > 0 {
				first, last = min(first, bin), max(last, bin)
			}
		}
	}
	if last < 0 {
		return latencyAxis(1, 0)
	}
	return latencyAxis(result.HeatStart(float64(first)), result.HeatStart(float64(last+1)))
}

// tail is the part of the ramp that the logarithm of a count decides. A tail of
// ten records in a million is what the map is for, and would not show otherwise;
// the rest of the ramp is left to the count itself, so that the bulk has a shape
// too.
const tail = 0.75

// heatCells returns how full each place of the map is, column by column, against the
// fullest.
func heatCells(points []result.HeatColumn, x chart.TimeAxis, y chart.Axis, columns, rows int) []float64 {
	cells := make([]float64, columns*rows)
	// The edges of the rows from the top down, in bins. As in every chart the ends of the axis are in the middle of the first and
	// the last line of text, so that the labels are right; half a line is left above and below.
	edges := make([]float64, rows+1)
	lowest, decades := math.Log10(y.Min/1e-6)*result.HeatPerDecade, math.Log10(y.Max/y.Min)*result.HeatPerDecade
	for i := range edges {
		edges[i] = lowest + (1-(float64(i)-1)/float64(max(rows-2, 1)))*decades
	}
	top := 0.0
	var sum [result.HeatBins + 1]float64
	span := func(i int) (start, end float64) { return points[i].Start.Seconds(), points[i].End.Seconds() }
	for column, held := range chart.Places(len(points), span, x.From, x.To, columns) {
		clear(sum[:])
		for _, p := range points[held[0]:held[1]] {
			running := 0.0
			for bin, n := range p.Bins { // sum[i] is what lies below bin i
				running += float64(n)
				sum[bin+1] += running
			}
		}
		for row := range rows {
			v := (at(&sum, edges[row]) - at(&sum, edges[row+1])) / float64(max(held[1]-held[0], 1))
			cells[column*rows+row] = v
			top = max(top, v)
		}
	}
	for i, v := range cells {
		const trace = 0.05 // of a record: less is only the edge of a bin
		if cells[i] = -1; v > trace {
			cells[i] = tail*math.Log1p(v)/math.Log1p(top) + (1-tail)*v/top
		}
	}
	return cells
}

// at returns the running total at a place between bins.
func at(sum *[result.HeatBins + 1]float64, place float64) float64 {
	place = min(max(place, 0), result.HeatBins)
	i := min(int(place), result.HeatBins-1)
	return sum[i] + (sum[i+1]-sum[i])*(place-float64(i))
}
