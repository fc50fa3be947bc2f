package tui

import (
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// trend is by how many records a second consumer lag changes, beside the rate at which
// it is read.
type trend struct {
	change float64
	rate   float64
}

// steadyShare is the part of the rate by which consumer lag may change and still count
// as steady: it is looked at between two polls, and so differs by chance.
const steadyShare = 0.01

// direction is -1 for falling consumer lag, 1 for growing, else 0.
func (t trend) direction() int {
	switch slack := steadyShare * t.rate; {
	case t.change > slack:
		return 1
	case t.change < -slack:
		return -1
	}
	return 0
}

// arrow returns the direction as a character.
func (t trend) arrow(th *theme.Theme) rune {
	arrows := [...]rune{'↓', '→', '↑'}
	if th.ASCII() {
		arrows = [...]rune{'\\', '-', '/'} // the slope: v is an event
	}
	return arrows[t.direction()+1]
}

// color returns the direction as a colour: who reads less than there comes will never be
// done.
func (t trend) color() theme.Color {
	return [...]theme.Color{theme.Good, theme.Info, theme.Warn}[t.direction()+1]
}

// lagTrend returns the trend of the whole consumer lag over the last seconds.
func (s *scene) lagTrend() trend {
	return trend{change: s.ConsumerLag.Growth, rate: s.Tail.Read.Records}
}

// lagValue returns the consumer lag with its direction.
func (s *scene) lagValue(th *theme.Theme) (string, theme.Color) {
	if !s.ConsumerLag.Known || s.silent >= patience {
		return string(th.Glyphs.Missing), theme.Info
	}
	t := s.lagTrend()
	if s.ConsumerLag.Records == 0 { // an arrow says nothing of it
		return "0", theme.Good
	}
	return theme.Rate(float64(s.ConsumerLag.Records)) + " " + string(t.arrow(th)), t.color()
}

// lagOutlook returns what the trend of the consumer lag means; empty when it is steady,
// or about to be another.
func (s *scene) lagOutlook() string {
	if s.goingOn() != "" || s.silent >= patience {
		return ""
	}
	switch t := s.lagTrend(); t.direction() {
	case 1:
		return "grows by " + theme.Rate(t.change) + " a second"
	case -1:
		const longest = 100 * time.Hour // a longer time is no forecast
		if left := float64(s.ConsumerLag.Records) / -t.change; left < longest.Seconds() {
			return "falls by " + theme.Rate(-t.change) + " a second, gone in " + seconds(time.Duration(left*float64(time.Second)))
		}
		return "falls by " + theme.Rate(-t.change) + " a second"
	}
	return ""
}

// seconds writes a time in whole seconds.
func seconds(d time.Duration) string { return theme.TickDuration(d.Round(time.Second)) }

// drawConsumerLag is how many records wait, over time: in the place of the latency,
// where there is none.
func drawConsumerLag(c chart.Canvas, s *scene) {
	b := s.box(paneLatency, s.titled("Consumer lag (records)"))
	if s.ConsumerLag.Known {
		text, color := s.lagValue(c.Theme())
		b.right = []line{{emphasis(color, text)}}
	}
	if outlook := s.lagOutlook(); outlook != "" {
		b.bottom = []line{{muted(outlook)}}
	}
	inner := b.draw(c)
	w, _ := inner.Size()
	x := s.timeAxis(w - gutter - 1)
	points := s.since(x.From)
	top := 0.0
	for i := range points {
		top = max(top, float64(points[i].ConsumerLag))
	}
	chart.Plot{
		Y: chart.Linear(top*headroom, 4), X: x, Gutter: gutter, Label: theme.Tick,
		Series: []chart.Series{{
			Samples: samples(points, (*result.Point).Lag), Combine: chart.Max, Mark: '*',
			Style: theme.Style{FG: theme.Info}, Fill: theme.Style{FG: theme.Grid}, Muted: s.warming(x),
		}},
	}.Draw(inner)
}
