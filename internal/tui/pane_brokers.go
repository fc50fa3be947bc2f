package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// slowRatio is from how many times the p99 of the others on a broker is called
// slow.
const slowRatio = 1.5

// drawBrokers is what each broker does.
func drawBrokers(c chart.Canvas, s *scene) {
	rows := slices.Clone(s.Brokers)
	up, lost, throttled := 0, 0, 0
	for i := range rows {
		switch health, _ := s.health(&rows[i]); health {
		case brokerUp:
			up++
		case brokerLost:
			lost++
		case brokerIdle:
		}
		if rows[i].Throttle > 0 {
			throttled++
		}
	}
	b := s.box(paneBrokers, "Brokers")
	if len(rows) > 0 {
		b.right = []line{upLine(up, lost)}
	}
	if len(rows) > 0 && !s.header.Uncounted {
		b.right = append(b.right, throttledLine(throttled))
	}
	if s.reads && s.writes {
		b.bottom = []line{{muted("written and read in " + s.unit.name())}, {muted("wait: of a fetch, mean")}}
	}
	inner := b.draw(c)
	if len(rows) == 0 {
		inner.Text(1, 0, "waiting for the first answer", theme.Style{FG: theme.Muted})
		return
	}
	w, h := inner.Size()
	table := newBrokerTable(inner.Sub(1, 0, w-2, h), s)
	warning := s.brokerWarning()
	room := h - 1
	if warning != "" {
		room--
	}
	below := len(rows) + 1
	if len(rows) > room { // the slowest are what is looked for
		slices.SortStableFunc(rows, func(a, b result.BrokerNow) int {
			return cmp.Or(cmp.Compare(b.P99, a.P99), cmp.Compare(b.FetchMean, a.FetchMean))
		})
		room = max(room-1, 0)
		table.c.Text(0, room+1, fmt.Sprintf("%d more", len(rows)-room), theme.Style{FG: theme.Muted})
		rows = rows[:room]
		below = room + 2
	}
	table.draw(rows)
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
func (d *data) health(b *result.BrokerNow) (health, string) {
	switch {
	case b.Gone:
		return brokerLost, "gone"
	case b.Refusing:
		return brokerLost, "no answer"
	case d.header.Uncounted:
		return brokerUp, "requests are not counted"
	case !b.Asked:
		return brokerIdle, "no requests"
	case b.Silent < patience:
		return brokerUp, ""
	case !d.writes:
		return brokerUp, "no requests lately"
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
func (s *scene) brokerWarning() string {
	worst, times := int32(0), 0.0
	for i := range s.Brokers {
		if ratio := s.slowness(&s.Brokers[i]); ratio > times {
			worst, times = s.Brokers[i].ID, ratio
		}
	}
	if times <= slowRatio {
		return ""
	}
	return fmt.Sprintf("broker %d p99 over 10 s is %s the others'", worst, theme.Ratio(times))
}

// slowness returns the usual p99 of a broker over that of the others; 0 when there
// are none to compare with.
func (s *scene) slowness(b *result.BrokerNow) float64 {
	others := make([]time.Duration, 0, len(s.Brokers))
	for i := range s.Brokers {
		if o := &s.Brokers[i]; o.ID != b.ID && o.UsualP99 > 0 {
			others = append(others, o.UsualP99)
		}
	}
	m := upperMedian(others)
	if m == 0 {
		return 0
	}
	return float64(b.UsualP99) / float64(m)
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
	value func(b *result.BrokerNow) segment
}

// columns returns what is shown of a broker, and what the gauge after the first is of.
func (s *scene) columns(missing string) (columns []brokerColumn, gauge func(*result.BrokerNow) float64) {
	written := func(b *result.BrokerNow) float64 { return b.Written }
	fetched := func(b *result.BrokerNow) float64 { return b.Fetched }
	stream := func(name string, bytes func(*result.BrokerNow) float64) brokerColumn {
		return brokerColumn{name, func(b *result.BrokerNow) segment { return plain(s.unit.write(bytes(b))) }}
	}
	took := func(d time.Duration, c theme.Color) segment {
		if d == 0 { // nothing was answered
			return muted(missing)
		}
		return colored(c, theme.Duration(d))
	}
	tail := brokerColumn{"p99", func(b *result.BrokerNow) segment { return took(b.P99, theme.Good) }}
	mean := brokerColumn{"mean", func(b *result.BrokerNow) segment { return took(b.Mean, theme.Text) }}
	requests := brokerColumn{"req/s", func(b *result.BrokerNow) segment { return plain(theme.Rate(b.Requests)) }}
	fetches := brokerColumn{"fetch/s", func(b *result.BrokerNow) segment { return plain(theme.Rate(b.Fetches)) }}
	wait := brokerColumn{"wait", func(b *result.BrokerNow) segment { return took(b.FetchMean, theme.Text) }}
	throttle := brokerColumn{"throttle", func(b *result.BrokerNow) segment {
		if b.Throttle > 0 {
			return colored(theme.Warn, theme.Duration(b.Throttle))
		}
		return muted(theme.Duration(b.Throttle))
	}}
	switch {
	case s.many() && !s.reads: // how long requests took is not told over the network
		columns, gauge = []brokerColumn{stream(s.unit.name(), written), requests, throttle}, written
	case s.many() && !s.writes:
		columns, gauge = []brokerColumn{stream(s.unit.name(), fetched), fetches, throttle}, fetched
	case s.many():
		columns, gauge = []brokerColumn{stream("written", written), stream("read", fetched), throttle}, written
	case !s.reads:
		columns, gauge = []brokerColumn{stream(s.unit.name(), written), tail, mean, throttle}, written
	case !s.writes:
		columns, gauge = []brokerColumn{stream(s.unit.name(), fetched), fetches, wait, throttle}, fetched
	default:
		columns, gauge = []brokerColumn{stream("written", written), stream("read", fetched), tail, wait, throttle}, written
	}
	if s.zoom == paneBrokers {
		columns = append(columns, s.topicColumns(missing)...)
	}
	return columns, gauge
}

// topicColumns returns what a broker has of the topics of the run.
func (s *scene) topicColumns(missing string) []brokerColumn {
	leads := brokerColumn{"leads", func(b *result.BrokerNow) segment { return plain(fmt.Sprint(b.Leads)) }}
	inSync := brokerColumn{"in sync", func(b *result.BrokerNow) segment {
		r := b.Replicas
		text := fmt.Sprintf("%d/%d", r.InSync, r.All)
		switch {
		case r.All == 0:
			return muted(missing)
		case r.InSync < r.All:
			return colored(theme.Warn, text)
		}
		return plain(text)
	}}
	return []brokerColumn{leads, inSync}
}

// brokerTable draws rows of columns.
type brokerTable struct {
	c       chart.Canvas
	s       *scene
	columns []brokerColumn
	gauged  func(*result.BrokerNow) float64
	top     float64 // of the gauge

	host, gauge int // widths; 0: no gauge
}

func newBrokerTable(c chart.Canvas, s *scene) brokerTable {
	t := brokerTable{c: c, s: s}
	t.columns, t.gauged = s.columns(string(c.Theme().Glyphs.Missing))
	w, _ := c.Size()
	t.host = chart.Width("host")
	for i := range s.Brokers {
		t.host = max(t.host, chart.Width(s.Brokers[i].Addr))
	}
	rest := max(w-idWidth-len(t.columns)*numberWidth, 0)
	switch { // a name says more than a mean or a count
	case s.zoom == paneBrokers && !s.many() && rest < t.host+leastGauge+3:
		t.columns, rest = slices.Delete(t.columns, 2, 3), rest+numberWidth
	case s.many() && rest < t.host+1:
		t.columns, rest = slices.Delete(t.columns, 1, 2), rest+numberWidth
	}
	t.host = min(t.host+1, rest)
	if t.gauge = rest - t.host - 2; t.gauge < leastGauge {
		t.host, t.gauge = rest, 0
	}
	for i := range s.Brokers {
		t.top = max(t.top, t.gauged(&s.Brokers[i]))
	}
	t.top = chart.RoundUp(t.top/units[s.unit].bytes) * units[s.unit].bytes
	return t
}

// right returns where a column ends.
func (t *brokerTable) right(column int) int {
	x := idWidth + t.host + (column+1)*numberWidth
	if column > 0 && t.gauge > 0 {
		x += t.gauge + 2
	}
	return x
}

func (t *brokerTable) draw(rows []result.BrokerNow) {
	head := theme.Style{FG: theme.Muted}
	t.c.Text(0, 0, "id", head)
	t.c.Text(idWidth, 0, "host", head)
	for i := range t.columns {
		t.c.TextRight(t.right(i), 0, t.columns[i].name, head)
	}
	for i := range rows {
		t.row(i+1, &rows[i], t.s.slowness(&rows[i]) > slowRatio)
	}
}

func (t *brokerTable) row(y int, b *result.BrokerNow, slow bool) {
	health, why := t.s.health(b)
	text := theme.Style{FG: theme.Text}
	switch {
	case health == brokerLost:
		text.FG = theme.Bad
	case why != "":
		text.FG = theme.Muted
	}
	t.c.Text(0, y, fmt.Sprint(b.ID), text)
	t.c.Text(idWidth, y, chart.FitMiddle(b.Addr, max(t.host-1, 0)), text)
	first := t.right(0)
	if why != "" {
		t.c.TextRight(first, y, string(t.c.Theme().Glyphs.Missing), text)
		t.c.Text(first+1, y, why, text)
		return
	}
	color := theme.Good
	if slow {
		color = theme.Warn
	}
	if latest := b.Trend[max(len(b.Trend)-t.gauge, 0):]; t.s.zoom == paneBrokers {
		chart.Sparkline(t.c, first+1+t.gauge-len(latest), y, latest, theme.Style{FG: color})
	} else {
		chart.Gauge(t.c, first+1, y, t.gauge, t.gauged(b)/t.top, theme.Style{FG: color})
	}
	for i := range t.columns {
		value := t.columns[i].value(b)
		if value.style.FG == theme.Good {
			value.style.FG = color
		}
		t.c.TextRight(t.right(i), y, value.text, value.style)
	}
}
