package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// slowRatio is from how many times the p99 of the others on a broker is called
// slow.
const slowRatio = 1.5

// drawBrokers is what each broker does.
func drawBrokers(c chart.Canvas, s *scene) {
	ids := slices.Sorted(maps.Keys(s.brokers))
	up, lost, throttled := 0, 0, 0
	for _, b := range s.brokers {
		switch {
		case b.up():
			up++
		case b.silent < forever:
			lost++
		}
		if b.throttle > 0 {
			throttled++
		}
	}
	b := box{pane: paneBrokers, name: "Brokers"}
	if len(ids) > 0 {
		b.right = []line{upLine(up, lost), throttledLine(throttled)}
	}
	inner := b.draw(c)
	if len(ids) == 0 {
		inner.Text(1, 0, "waiting for the first answer", theme.Style{FG: theme.Muted})
		return
	}
	w, h := inner.Size()
	table := brokerTable{c: inner.Sub(1, 0, w-2, h), s: s}
	warning := s.brokerWarning(ids)
	room := h - 1
	if warning != "" {
		room--
	}
	below := len(ids) + 1
	if len(ids) > room { // the slowest are what is looked for
		slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(s.brokers[b].p99, s.brokers[a].p99) })
		if room--; room < 0 {
			room = 0
		}
		table.c.Text(0, room+1, fmt.Sprintf("%d more", len(ids)-room), theme.Style{FG: theme.Muted})
		ids = ids[:room]
		below = room + 2
	}
	table.draw(ids)
	if warning != "" {
		text := string(c.Theme().Glyphs.Alert) + " " + warning
		table.c.Text(0, below, table.c.Fit(text, w-2), theme.Style{FG: theme.Warn})
	}
}

// upLine counts the brokers that answer. One that was never asked, for it leads
// no partition of the topic, is neither up nor lost.
func upLine(up, lost int) line {
	if lost > 0 {
		return line{colored(theme.Bad, fmt.Sprintf("%d of %d up", up, up+lost))}
	}
	return line{muted(fmt.Sprintf("%d up", up))}
}

func throttledLine(n int) line {
	if n > 0 {
		return line{colored(theme.Warn, fmt.Sprintf("%d throttled", n))}
	}
	return line{muted("0 throttled")}
}

// brokerWarning names the broker that stands out most; empty when none does.
func (s *scene) brokerWarning(ids []int32) string {
	worst, times := int32(0), 0.0
	for _, id := range ids {
		if ratio := s.slowness(id, ids); ratio > times {
			worst, times = id, ratio
		}
	}
	if times <= slowRatio {
		return ""
	}
	return fmt.Sprintf("broker %d p99 is %s the others'", worst, theme.Ratio(times))
}

// slowness is the usual p99 of a broker over that of the others; 0 when there
// are none to compare with.
func (s *scene) slowness(id int32, ids []int32) float64 {
	b := s.brokers[id]
	others := make([]time.Duration, 0, len(ids))
	for _, o := range ids {
		v := s.brokers[o]
		if u := v.usual(); o != id && u > 0 {
			others = append(others, u)
		}
	}
	m := median(others)
	if m == 0 {
		return 0
	}
	return float64(b.usual()) / float64(m)
}

// brokerTable draws rows of columns.
type brokerTable struct {
	c chart.Canvas
	s *scene
}

// Widths of the columns; the host and the gauge share what is left.
const (
	idWidth     = 4
	numberWidth = 9
	leastGauge  = 5
)

func (t brokerTable) draw(ids []int32) {
	w, _ := t.c.Size()
	rest := max(w-idWidth-4*numberWidth-2, 0)
	host := chart.Width("host")
	for _, id := range ids {
		host = max(host, chart.Width(t.s.header.Brokers[id]))
	}
	host = min(host+1, rest)
	gauge := rest - host
	if gauge < leastGauge {
		host, gauge = rest, 0
	}
	head := theme.Style{FG: theme.Muted}
	x := idWidth + host + numberWidth
	t.c.Text(0, 0, "id", head)
	t.c.Text(idWidth, 0, "host", head)
	t.c.TextRight(x, 0, t.s.unit.name(), head)
	x += gauge + 2
	for i, name := range []string{"p99", "mean", "throttle"} {
		t.c.TextRight(x+(i+1)*numberWidth, 0, name, head)
	}
	top := 0.0
	for _, b := range t.s.brokers {
		top = max(top, b.wire)
	}
	top = chart.RoundUp(top/units[t.s.unit].bytes) * units[t.s.unit].bytes
	for i, id := range ids {
		t.row(i+1, id, host, gauge, top, t.s.slowness(id, ids) > slowRatio)
	}
}

func (t brokerTable) row(y int, id int32, host, gauge int, top float64, slow bool) {
	b := t.s.brokers[id]
	text, color := theme.Style{FG: theme.Text}, theme.Good
	if slow {
		color = theme.Hot
	}
	why := ""
	switch {
	case b.refusing:
		why, text = "no answer", theme.Style{FG: theme.Bad}
	case b.silent >= forever:
		why, text = "not asked", theme.Style{FG: theme.Muted}
	case !b.up():
		why, text = "silent", theme.Style{FG: theme.Bad}
	}
	t.c.Text(0, y, fmt.Sprint(id), text)
	t.c.Text(idWidth, y, t.c.Fit(t.s.header.Brokers[id], max(host-1, 0)), text)
	x := idWidth + host + numberWidth
	if why != "" {
		t.c.TextRight(x, y, string(t.c.Theme().Glyphs.Missing), text)
		t.c.Text(x+1, y, why, text)
		return
	}
	t.c.TextRight(x, y, t.s.unit.write(b.wire), text)
	chart.Gauge(t.c, x+1, y, gauge, b.wire/top, theme.Style{FG: color})
	x += gauge + 2
	t.c.TextRight(x+numberWidth, y, theme.Duration(b.p99), theme.Style{FG: color})
	t.c.TextRight(x+2*numberWidth, y, theme.Duration(b.mean), text)
	throttle := theme.Style{FG: theme.Muted}
	if b.throttle > 0 {
		throttle.FG = theme.Warn
	}
	t.c.TextRight(x+3*numberWidth, y, theme.Duration(b.throttle), throttle)
}
