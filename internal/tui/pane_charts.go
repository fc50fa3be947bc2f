package tui

import (
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawThroughput is how many records a second were acknowledged.
func drawThroughput(c chart.Canvas, s *scene) {
	b := box{pane: paneThroughput, name: "Throughput"}
	if len(s.points) > 0 {
		b.right = []line{{emphasis(theme.Flow, theme.Rate(s.last.rate)+" rec/s")}}
		if s.run.rate > 0 {
			b.right = append(b.right, line{muted("avg " + theme.Rate(s.run.rate))}, line{muted("peak " + theme.Rate(s.peak))})
		}
		if t := s.header.TargetRate; t > 0 {
			b.right = slices.Insert(b.right, 1, line{colored(theme.Brand, "target "+theme.Rate(t))})
		}
	}
	for _, code := range s.errorCodes() {
		text := code + " " + theme.Rate(float64(s.errors[code]))
		b.bottom = append(b.bottom, line{colored(theme.Bad, text)})
	}
	inner := b.draw(c)
	w, h := inner.Size()
	x := s.timeAxis(w - gutter - 1)
	points := since(s.points, x.From)
	top := s.header.TargetRate
	for i := range points {
		top = max(top, points[i].rate)
	}
	p := chart.Plot{
		Y: chart.Linear(top*1.02, 4), X: x, Gutter: gutter, Label: theme.Tick,
		Series: []chart.Series{{
			Samples: samples(points, rate), Combine: chart.Mean, Mark: '*',
			Style: theme.Style{FG: theme.Flow}, Fill: theme.Style{FG: theme.FlowFill}, Muted: s.warming(x),
		}},
	}
	if t := s.header.TargetRate; t > 0 && h > 3 {
		p.Marks = []chart.Mark{{Value: t, Style: theme.Style{FG: theme.Brand}}}
	}
	p.Draw(inner)
}

// warming tells which part of a chart is warm-up; nil: none.
func (s *scene) warming(x chart.TimeAxis) func(float64) bool {
	if x.Warmup <= max(x.From, 0) {
		return nil
	}
	return func(second float64) bool { return second < x.Warmup }
}

// latencyLooks are the lines of the quantiles. Without colour, dashes tell them
// apart, and without braille a character of their own.
var latencyLooks = [len(quantiles)]struct {
	color   theme.Color
	mark    rune
	on, off int
}{{theme.Good, '_', 1, 0}, {theme.Warn, '-', 6, 2}, {theme.Hot, '=', 3, 3}, {theme.Bad, '#', 1, 3}}

// latencyName is what the latency of this run is the time between.
func (s *scene) latencyName() string {
	if s.header.TargetRate > 0 {
		return "Response (due → ack)"
	}
	return "Queueing + ack latency"
}

// latencyRemark is what must be known to read it.
func (s *scene) latencyRemark() []line {
	var out []line
	if s.header.TargetRate == 0 {
		out = append(out, line{muted("no target rate: this is mostly queueing")})
	}
	if s.run.measured {
		r := &s.run
		out = append(out,
			line{muted("run: p50 " + r.latency(p50, "") + " p99 " + r.latency(p99, ""))},
			line{muted("p99.9 " + r.latency(p999, "") + " max " + theme.Duration(r.max))})
	}
	return out
}

// drawLatency is the quantiles over time.
func drawLatency(c chart.Canvas, s *scene) {
	legend := line{}
	for i, q := range quantiles {
		if i > 0 {
			legend = append(legend, part{text: " "})
		}
		legend = append(legend, colored(latencyLooks[i].color, q.name))
	}
	b := box{pane: paneLatency, name: s.latencyName(), right: []line{legend}, bottom: s.latencyRemark()}
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
	x := s.timeAxis(w - gutter - 1)
	points := since(s.points, x.From)
	lo, hi := math.Inf(1), math.Inf(-1)
	p := chart.Plot{X: x, Gutter: gutter, Label: labelSeconds, Names: named}
	for i, look := range latencyLooks {
		series := samples(points, func(p *point) float64 { return p.latency[i] })
		for _, v := range series {
			if v.Value > 0 {
				lo, hi = min(lo, v.Value), max(hi, v.Value)
			}
		}
		p.Series = append(p.Series, chart.Series{
			Name: quantiles[i].name, Samples: series, Combine: chart.Max, Muted: s.warming(x),
			Style: theme.Style{FG: look.color}, Mark: look.mark, On: look.on, Off: look.off,
		})
	}
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
	b := box{pane: paneHeatmap, name: "Latency heatmap", right: []line{{muted("few " + "      " + " many")}}}
	inner := b.draw(c)
	chart.Ramp(c, w-3-len(" many")-ramp, 0, ramp)
	columns, rows := chart.HeatSize(inner, gutter)
	x := s.timeAxis(columns)
	points := since(s.points, x.From)
	y := heatAxis(points)
	cells := heatCells(points, x, y, columns, rows)
	chart.Heat{Y: y, X: x, Gutter: gutter, Label: labelSeconds, Share: func(column, row int) float64 {
		return cells[column*rows+row]
	}}.Draw(inner)
}
