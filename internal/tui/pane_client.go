package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// load is how much of something is used.
type load struct {
	name  string
	share float64
	text  string
	color theme.Color
	trend []float64 // drawn in the place of the share; nil: none
}

// drawClient is how busy kt and its machine are, and what the run is bound by.
func drawClient(c chart.Canvas, s *scene) {
	b := s.box(paneClient, "This client")
	b.right = []line{s.bound()}
	if w, _ := c.Size(); s.bound().width() > b.room(w) {
		b.right[0] = b.right[0][1:] // without the words before
	}
	if n := s.All.FailedConnects; n > 0 {
		b.bottom = []line{{colored(theme.Warn, "failed connects "+theme.Count(n))}}
	}
	if s.Sample.RSS > 0 {
		b.bottom = append(b.bottom, line{muted("memory " + theme.Bytes(s.Sample.RSS))})
	}
	inner := b.draw(c)
	w, h := inner.Size()
	const margin, mostEvidence = 1, 3
	by := s.bounded()
	evidence := wrap(c, brief(by.Evidence, func(text string) bool {
		return len(wrap(c, text, w-2*margin, mostEvidence+1)) <= mostEvidence
	}), w-2*margin, mostEvidence)
	loads := s.loads(c.Theme())
	// The evidence goes before the last gauges, which are the least important.
	rows := max(h-len(evidence), 1)
	if len(loads) > rows {
		loads = loads[:rows]
	}
	if len(loads) == 0 {
		inner.Text(margin, 0, "waiting for the first sample", theme.Style{FG: theme.Muted})
	}
	const leastUsage = 8 // two rows of charts
	if y := len(loads) + len(evidence) + 2; len(s.usage) > 0 && h-y >= leastUsage {
		s.drawUsage(inner.Sub(0, y, w, h-y))
		h = y - 1
	}
	drawLoads(inner.Sub(margin, 0, w-2*margin, h), loads)
	for i, l := range evidence {
		y := len(loads) + i
		if len(loads)+len(evidence) < h { // room for a blank line
			y++
		}
		inner.Text(margin, y, l, theme.Style{FG: boundColor(by.Limit)})
	}
}

// bound returns the name of the limit.
func (s *scene) bound() line {
	limit := s.bounded().Limit
	if limit == "" {
		return line{muted("limit "), muted("not known yet")}
	}
	return line{muted("limit "), emphasis(boundColor(limit), limit.String())}
}

// limitLine returns the limit, and as many clauses of its evidence as fit.
func (s *scene) limitLine(c chart.Canvas, w int) line {
	l := append(s.bound(), plain("  "))
	room := w - l.width()
	return append(l, plain(c.Fit(brief(s.bounded().Evidence, func(text string) bool { return chart.Width(text) <= room }), room)))
}

// boundColor returns red for a stall and for a schedule that kt did not keep, which makes
// the run not valid. Each other limit is what the run was made to find.
func boundColor(l verdict.Limit) theme.Color {
	switch l {
	case "", verdict.Unknown:
		return theme.Muted
	case verdict.None:
		return theme.Good
	case verdict.Schedule, verdict.Stalled:
		return theme.Bad
	}
	return theme.Warn
}

// loads returns the gauges, the most important first. To wait for records is no fault of readers, and the colour does not say so.
func (s *scene) loads(th *theme.Theme) (out []load) {
	m, n := &s.Sample, &s.shown().Counts
	add := func(name string, used, all float64, text string) {
		if all > 0 {
			out = append(out, load{name: name, share: used / all, text: text, color: loadColor(used / all)})
		}
	}
	part := func(name string, of time.Duration, text string) {
		if share := of.Seconds() / n.ReadTime.Seconds(); n.ReadTime > 0 {
			out = append(out, load{name: name, share: share, text: theme.Percent(share) + text, color: theme.Info})
		}
	}
	readers := func() {
		part("readers", n.ReadWait, " idle")
		if n.ReadHeld > 0 || !s.writes {
			part("held back", n.ReadHeld, " by kt itself")
		}
		if l := s.shareLimits(); l != nil {
			add("locks", float64(n.Locks), float64(l.Locks), theme.Count(n.Locks)+" of "+theme.Count(l.Locks)+" a partition")
			add("delivered", float64(s.All.Redelivered()), float64(s.All.Consumed), s.deliveries())
		}
	}
	if !s.writes {
		readers()
	}
	add("kt CPU", m.ProcessCPU, m.Cores, theme.Tick(m.ProcessCPU)+" of "+theme.Tick(m.Cores)+" cores")
	add("host CPU", m.HostCPU, m.HostCores, theme.Tick(m.HostCPU)+" of "+theme.Tick(m.HostCores)+" cores")
	if s.writes && s.begun() {
		add("buffer", float64(s.Buffered), float64(s.header.BufferBytes), theme.MiB(float64(s.Buffered))+" of "+theme.Bytes(s.header.BufferBytes))
		add("in-flight", float64(s.InFlight), float64(s.header.MaxInFlight), fmt.Sprintf("%d of %d requests", s.InFlight, s.header.MaxInFlight))
	}
	if s.reads && s.writes {
		readers()
	}
	if s.reads && s.ConsumerLag.Known {
		text, color := s.lagValue(th)
		count, arrow, _ := strings.Cut(text, " ")
		const widest = 256 // cells of a gauge
		l := load{name: "lag", text: strings.TrimSpace(count + " records " + arrow), color: color, trend: []float64{}}
		for _, p := range s.Recent[max(len(s.Recent)-widest, 0):] {
			l.trend = append(l.trend, p.Lag())
		}
		out = append(out, l)
	}
	if s.writes && m.Interval > 0 {
		const giga = 1e9
		bits := float64(m.NetSent) * 8 / m.Interval.Seconds()
		add("NIC out", bits, float64(m.NetSpeed), theme.Tick(bits/giga)+" of "+theme.Tick(float64(m.NetSpeed)/giga)+" Gb/s")
	}
	if share := m.GCCPU / m.ProcessCPU; m.ProcessCPU > 0 {
		out = append(out, load{name: "GC", share: share, color: theme.Good, text: theme.Percent(share) + ", pause " + theme.Duration(time.Duration(m.GCPauseMax))})
	}
	return out
}

func drawLoads(c chart.Canvas, loads []load) {
	const name, least = 10, 6
	w, _ := c.Size()
	text := 0
	for _, l := range loads {
		text = max(text, chart.Width(l.text))
	}
	gauge := w - name - text - 2
	for y, l := range loads {
		c.Text(0, y, l.name, theme.Style{FG: theme.Text})
		if gauge < least {
			c.Text(name, y, l.text, theme.Style{FG: l.color})
			continue
		}
		if l.trend != nil {
			latest := l.trend[max(len(l.trend)-gauge, 0):]
			chart.Sparkline(c, name+gauge-len(latest), y, latest, 0, theme.Style{FG: l.color})
		} else {
			chart.Gauge(c, name, y, gauge, l.share, theme.Style{FG: l.color})
		}
		c.Text(name+gauge+2, y, l.text, theme.Style{FG: theme.Text})
	}
}

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
		place.Text(chart.Gutter+1, 0, of.name, theme.Style{FG: theme.Text})
		s.plotUsage(place.Sub(0, 1, w/2, h/rows-1), of.top, of.value)
	}
}

// plotUsage draws one figure. The axis goes up to the limit, unless far less is used.
func (s *scene) plotUsage(c chart.Canvas, limit float64, value func(*usage) float64) {
	const little = 0.5
	w, h := c.Size()
	x := s.timeAxis(w - chart.Gutter - 1)
	list, top := make([]chart.Sample, len(s.usage)), 0.0
	for i := range s.usage {
		u := &s.usage[i]
		v := value(u)
		list[i] = chart.Sample{Start: u.start.Seconds(), End: u.end.Seconds(), Value: v}
		if u.end.Seconds() > x.From {
			top = math.Max(top, v)
		}
	}
	p := chart.Plot{X: x, Label: theme.Tick, Series: []chart.Series{flowLooks[acked].series(list, chart.Max)}}
	if top > little*limit {
		top = max(top, limit)
		p.Marks = []chart.Mark{{Value: func(float64) float64 { return limit }, Style: theme.Style{FG: theme.Warn}}}
	}
	p.Y = chart.Linear(top*headroom, min(4, h/2-1))
	p.Draw(c)
}
