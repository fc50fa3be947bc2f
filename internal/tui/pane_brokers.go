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
		switch health, _ := s.health(&b); health {
		case brokerUp:
			up++
		case brokerLost:
			lost++
		case brokerIdle:
		}
		if b.throttle > 0 {
			throttled++
		}
	}
	b := box{digit: s.digit(paneBrokers), name: "Brokers"}
	if len(ids) > 0 {
		b.right = []line{upLine(up, lost), throttledLine(throttled)}
	}
	if s.reads && s.writes {
		b.bottom = []line{{muted("written and read in " + s.unit.name())}, {muted("wait: of a fetch, mean")}}
	}
	inner := b.draw(c)
	if len(ids) == 0 {
		inner.Text(1, 0, "waiting for the first answer", theme.Style{FG: theme.Muted})
		return
	}
	w, h := inner.Size()
	table := newBrokerTable(inner.Sub(1, 0, w-2, h), s, ids)
	warning := s.brokerWarning(ids)
	room := h - 1
	if warning != "" {
		room--
	}
	below := len(ids) + 1
	if len(ids) > room { // the slowest are what is looked for
		slices.SortStableFunc(ids, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.brokers[b].p99, s.brokers[a].p99), cmp.Compare(s.brokers[b].wait, s.brokers[a].wait))
		})
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

// health is whether a broker answers.
type health int

const (
	brokerUp health = iota
	brokerLost
	brokerIdle // it was never asked, for it leads no partition of the topic
)

// health also says why there is nothing to show of a broker; "" when there is. Who
// only reads, and has read ahead, asks a broker nothing for a while.
func (d *data) health(b *broker) (health, string) {
	switch {
	case b.gone:
		return brokerLost, "gone"
	case b.refusing:
		return brokerLost, "no answer"
	case b.silent >= forever:
		return brokerIdle, "not asked"
	case b.silent < patience:
		return brokerUp, ""
	case !d.writes:
		return brokerUp, "not asked lately"
	}
	return brokerLost, "silent"
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
	m := upperMedian(others)
	if m == 0 {
		return 0
	}
	return float64(b.usual()) / float64(m)
}

// Widths of the columns; the host and the gauge share what is left.
const (
	idWidth     = 4
	numberWidth = 9
	leastGauge  = 5
)

// brokerColumn is a number of each broker.
type brokerColumn struct {
	name  string
	value func(b *broker) part
}

// columns are what is shown of a broker, and what the gauge after the first is of.
func (s *scene) columns(missing string) (columns []brokerColumn, gauge func(*broker) float64) {
	written := func(b *broker) float64 { return b.wire }
	fetched := func(b *broker) float64 { return b.fetched }
	stream := func(name string, bytes func(*broker) float64) brokerColumn {
		return brokerColumn{name, func(b *broker) part { return plain(s.unit.write(bytes(b))) }}
	}
	took := func(d time.Duration, c theme.Color) part {
		if d == 0 { // nothing was answered
			return muted(missing)
		}
		return colored(c, theme.Duration(d))
	}
	tail := brokerColumn{"p99", func(b *broker) part { return took(b.p99, theme.Good) }}
	mean := brokerColumn{"mean", func(b *broker) part { return took(b.mean, theme.Text) }}
	fetches := brokerColumn{"fetch/s", func(b *broker) part { return plain(theme.Rate(b.fetches)) }}
	wait := brokerColumn{"wait", func(b *broker) part { return took(b.wait, theme.Text) }}
	throttle := brokerColumn{"throttle", func(b *broker) part {
		if b.throttle > 0 {
			return colored(theme.Warn, theme.Duration(b.throttle))
		}
		return muted(theme.Duration(b.throttle))
	}}
	switch {
	case !s.reads:
		return []brokerColumn{stream(s.unit.name(), written), tail, mean, throttle}, written
	case !s.writes:
		return []brokerColumn{stream(s.unit.name(), fetched), fetches, wait, throttle}, fetched
	}
	return []brokerColumn{stream("written", written), stream("read", fetched), tail, wait, throttle}, written
}

// brokerTable draws rows of columns.
type brokerTable struct {
	c       chart.Canvas
	s       *scene
	columns []brokerColumn
	gauged  func(*broker) float64
	top     float64 // of the gauge

	host, gauge int // widths; 0: no gauge
}

func newBrokerTable(c chart.Canvas, s *scene, ids []int32) brokerTable {
	t := brokerTable{c: c, s: s}
	t.columns, t.gauged = s.columns(string(c.Theme().Glyphs.Missing))
	w, _ := c.Size()
	rest := max(w-idWidth-len(t.columns)*numberWidth-2, 0)
	t.host = chart.Width("host")
	for _, id := range ids {
		t.host = max(t.host, chart.Width(s.header.Brokers[id]))
	}
	t.host = min(t.host+1, rest)
	if t.gauge = rest - t.host; t.gauge < leastGauge {
		t.host, t.gauge = rest, 0
	}
	for _, b := range s.brokers {
		t.top = max(t.top, t.gauged(&b))
	}
	t.top = chart.RoundUp(t.top/units[s.unit].bytes) * units[s.unit].bytes
	return t
}

// right is where a column ends.
func (t *brokerTable) right(column int) int {
	x := idWidth + t.host + (column+1)*numberWidth
	if column > 0 {
		x += t.gauge + 2
	}
	return x
}

func (t *brokerTable) draw(ids []int32) {
	head := theme.Style{FG: theme.Muted}
	t.c.Text(0, 0, "id", head)
	t.c.Text(idWidth, 0, "host", head)
	for i := range t.columns {
		t.c.TextRight(t.right(i), 0, t.columns[i].name, head)
	}
	for i, id := range ids {
		t.row(i+1, id, t.s.slowness(id, ids) > slowRatio)
	}
}

func (t *brokerTable) row(y int, id int32, slow bool) {
	b := t.s.brokers[id]
	health, why := t.s.health(&b)
	text := theme.Style{FG: theme.Text}
	switch {
	case health == brokerLost:
		text.FG = theme.Bad
	case why != "":
		text.FG = theme.Muted
	}
	t.c.Text(0, y, fmt.Sprint(id), text)
	t.c.Text(idWidth, y, t.c.Fit(t.s.header.Brokers[id], max(t.host-1, 0)), text)
	first := t.right(0)
	if why != "" {
		t.c.TextRight(first, y, string(t.c.Theme().Glyphs.Missing), text)
		t.c.Text(first+1, y, why, text)
		return
	}
	color := theme.Good
	if slow {
		color = theme.Hot
	}
	chart.Gauge(t.c, first+1, y, t.gauge, t.gauged(&b)/t.top, theme.Style{FG: color})
	for i := range t.columns {
		value := t.columns[i].value(&b)
		if value.style.FG == theme.Good {
			value.style.FG = color
		}
		t.c.TextRight(t.right(i), y, value.text, value.style)
	}
}
