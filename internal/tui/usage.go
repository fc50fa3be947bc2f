package tui

import (
	"math"
	"time"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// usage is how busy kt and its machine were in one second, of figures that a Point does not have.
type usage struct {
	start, end                   time.Duration
	kt, host, buffered, inFlight float64
}

// mostUsage is the number of seconds that the charts of the client go back.
const mostUsage = 600

// drawUsage draws how busy the client was over time: two charts a row.
func (s *scene) drawUsage(c chart.Canvas) {
	charts := []struct {
		name  string
		top   float64
		value func(*usage) float64
	}{
		{"kt CPU, cores", s.Sample.Cores, func(u *usage) float64 { return u.kt }},
		{"host CPU, cores", s.Sample.HostCores, func(u *usage) float64 { return u.host }},
		{"buffer, MiB", float64(s.header.BufferBytes) / (1 << 20), func(u *usage) float64 { return u.buffered / (1 << 20) }},
		{"requests in flight", float64(s.header.MaxInFlight), func(u *usage) float64 { return u.inFlight }},
	}
	if !s.writes { // readers have no buffer to fill
		charts = charts[:2]
	}
	w, h := c.Size()
	rows := len(charts) / 2
	for i, of := range charts {
		place := c.Sub(i%2*w/2, i/2*(h/rows), w/2, h/rows)
		place.Text(gutter+1, 0, of.name, theme.Style{FG: theme.Text})
		s.plotUsage(place.Sub(0, 1, w/2, h/rows-1), of.top, of.value)
	}
}

// plotUsage draws one figure. The axis goes up to the limit, unless far less is used.
func (s *scene) plotUsage(c chart.Canvas, limit float64, value func(*usage) float64) {
	const little = 0.5
	w, h := c.Size()
	x := s.timeAxis(w - gutter - 1)
	list, top := make([]chart.Sample, len(s.usage)), 0.0
	for i := range s.usage {
		u := &s.usage[i]
		v := value(u)
		list[i] = chart.Sample{Start: u.start.Seconds(), End: u.end.Seconds(), Value: v}
		if u.end.Seconds() > x.From {
			top = math.Max(top, v)
		}
	}
	p := chart.Plot{X: x, Gutter: gutter, Label: theme.Tick, Series: []chart.Series{{
		Samples: list, Combine: chart.Max, Mark: '*', Muted: s.warming(x),
		Style: theme.Style{FG: theme.Flow}, Fill: theme.Style{FG: theme.FlowFill},
	}}}
	if top > little*limit {
		top = max(top, limit)
		p.Marks = []chart.Mark{{Value: func(float64) float64 { return limit }, Style: theme.Style{FG: theme.Warn}}}
	}
	p.Y = chart.Linear(top*headroom, min(4, h/2-1))
	p.Draw(c)
}
