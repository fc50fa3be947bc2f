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
	b := s.box(paneBrokers, "Brokers")
	b.right = s.brokersTitle()
	if s.reads && s.writes {
		b.bottom = []line{{muted("written and read in " + s.unit.name())}, {muted("wait: of a fetch, mean")}}
	}
	inner := b.draw(c)
	if len(rows) == 0 {
		inner.Text(1, 0, "waiting for the first answer", theme.Style{FG: theme.Muted})
		return
	}
	w, h := inner.Size()
	t := s.brokerTable(inner.Sub(1, 0, w-2, h))
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
		t.c.Text(0, room+1, fmt.Sprintf("%d more", len(rows)-room), theme.Style{FG: theme.Muted})
		rows = rows[:room]
		below = room + 2
	}
	t.head(-1)
	for i := range rows {
		t.row(i+1, &rows[i])
		if _, why := s.health(&rows[i]); why != "" {
			t.c.Text(t.columns[0].width+t.columns[1].width+t.columns[2].width, i+1, why, s.brokerStyle(&rows[i]))
		}
	}
	if warning != "" {
		text := string(c.Theme().Glyphs.Alert) + " " + warning
		t.c.Text(0, below, t.c.Fit(text, w-2), theme.Style{FG: theme.Warn})
	}
}

// brokersTitle counts the brokers that answer, and those that throttle the client.
func (s *scene) brokersTitle() (title []line) {
	up, lost, throttled := 0, 0, 0
	for i := range s.Brokers {
		switch health, _ := s.health(&s.Brokers[i]); health {
		case brokerUp:
			up++
		case brokerLost:
			lost++
		case brokerIdle:
		}
		if s.Brokers[i].Throttle > 0 {
			throttled++
		}
	}
	switch { // one that was never asked, for it leads no partition of the topic, is neither up nor lost
	case len(s.Brokers) == 0:
	case lost > 0:
		title = []line{{colored(theme.Bad, fmt.Sprintf("%d of %d up", up, up+lost))}}
	default:
		title = []line{{muted(fmt.Sprintf("%d up", up))}}
	}
	if len(s.Brokers) > 0 && !s.header.Uncounted {
		text := muted(fmt.Sprintf("%d throttled", throttled))
		if throttled > 0 {
			text.style.FG = theme.Warn
		}
		title = append(title, line{text})
	}
	return title
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

// brokerStyle returns the style of a broker's name.
func (s *scene) brokerStyle(b *result.BrokerNow) theme.Style {
	switch health, why := s.health(b); {
	case health == brokerLost:
		return theme.Style{FG: theme.Bad}
	case why != "":
		return theme.Style{FG: theme.Muted}
	}
	return theme.Style{FG: theme.Text}
}

// styleOf returns the style of a number of a broker: good becomes a warning for one that is slow.
func (s *scene) styleOf(b *result.BrokerNow, style theme.Style) theme.Style {
	if style.FG == theme.Good && s.slowness(b) > slowRatio {
		style.FG = theme.Warn
	}
	return style
}

// brokerColumns returns what is shown of a broker. Where there is nothing to show, the first number is missing, and the others
// leave room for the reason.
func (s *scene) brokerColumns(none segment) []column[result.BrokerNow] {
	type broker = result.BrokerNow
	took := func(d time.Duration, c theme.Color) segment {
		if d == 0 { // nothing was answered
			return none
		}
		return colored(c, theme.Duration(d))
	}
	written, fetched := s.unit.name(), s.unit.name()
	if s.reads && s.writes {
		written, fetched = "written", "read"
	}
	far, zoomed := s.many(), s.zoom == paneBrokers // how long requests took is not told over the network; zoomed: there is room for what a broker has of the topics of the run
	columns := shown([]column[broker]{
		{name: written, hidden: !s.writes, value: func(b *broker) segment { return plain(s.unit.write(b.Written)) }},
		{name: fetched, hidden: !s.reads, value: func(b *broker) segment { return plain(s.unit.write(b.Fetched)) }},
		{name: "p99", hidden: !s.writes || far, value: func(b *broker) segment { return took(b.P99, theme.Good) }},
		{name: "mean", hidden: s.reads || far, value: func(b *broker) segment { return took(b.Mean, theme.Text) }},
		{name: "req/s", hidden: s.reads || !far, value: func(b *broker) segment { return plain(theme.Rate(b.Requests)) }},
		{name: "fetch/s", hidden: s.writes, value: func(b *broker) segment { return plain(theme.Rate(b.Fetches)) }},
		{name: "wait", hidden: !s.reads || far, value: func(b *broker) segment { return took(b.FetchMean, theme.Text) }},
		{name: "throttle", value: func(b *broker) segment {
			if b.Throttle > 0 {
				return colored(theme.Warn, theme.Duration(b.Throttle))
			}
			return muted(theme.Duration(b.Throttle))
		}},
		{name: "leads", hidden: !zoomed, value: func(b *broker) segment { return plain(fmt.Sprint(b.Leads)) }},
		{name: "in sync", hidden: !zoomed, value: func(b *broker) segment {
			text := plain(fmt.Sprintf("%d/%d", b.Replicas.InSync, b.Replicas.All))
			switch {
			case b.Replicas.All == 0:
				return none
			case b.Replicas.InSync < b.Replicas.All:
				text.style.FG = theme.Warn
			}
			return text
		}},
	})
	for i := range columns {
		value := columns[i].value
		columns[i].width, columns[i].value = numberWidth, func(b *broker) segment {
			switch _, why := s.health(b); {
			case why != "" && i == 0:
				return segment{none.text, s.brokerStyle(b)}
			case why != "":
				return segment{}
			}
			v := value(b)
			return segment{v.text, s.styleOf(b, v.style)}
		}
	}
	return columns
}

// brokerTable returns the table of the brokers. The gauge after the first number is its share of the highest one, and
// where brokers are shown alone its course. There, a broker says why there is nothing to show.
func (s *scene) brokerTable(c chart.Canvas) table[result.BrokerNow] {
	const gap = 1
	gauged := func(b *result.BrokerNow) float64 {
		if s.writes {
			return b.Written
		}
		return b.Fetched
	}
	numbers := s.brokerColumns(missing(c))
	w, _ := c.Size()
	host, top := chart.Width("host"), 0.0
	for i := range s.Brokers {
		host, top = max(host, chart.Width(s.Brokers[i].Addr)), max(top, gauged(&s.Brokers[i]))
	}
	top = chart.RoundUp(top/units[s.unit].bytes) * units[s.unit].bytes
	rest := max(w-idWidth-len(numbers)*numberWidth, 0)
	switch { // a name says more than a mean or a count
	case s.zoom == paneBrokers && !s.many() && rest < host+leastGauge+3:
		numbers, rest = slices.Delete(numbers, 2, 3), rest+numberWidth
	case s.many() && rest < host+1:
		numbers, rest = slices.Delete(numbers, 1, 2), rest+numberWidth
	}
	host = min(host+1, rest)
	gauge := rest - host - 2
	if gauge < leastGauge {
		host, gauge = rest, 0
	}
	numbers[0].width += gap
	columns := append(shown([]column[result.BrokerNow]{
		{name: "id", width: idWidth, left: true, value: func(b *result.BrokerNow) segment { return segment{fmt.Sprint(b.ID), s.brokerStyle(b)} }},
		{name: "host", width: host, left: true, value: func(b *result.BrokerNow) segment {
			return segment{chart.FitMiddle(b.Addr, host-gap), s.brokerStyle(b)}
		}},
		numbers[0],
		{width: gauge + 2, hidden: gauge == 0, draw: func(c chart.Canvas, b *result.BrokerNow) {
			style := s.styleOf(b, theme.Style{FG: theme.Good})
			latest := b.Trend[max(len(b.Trend)-gauge, 0):]
			switch _, why := s.health(b); {
			case why != "":
			case s.zoom == paneBrokers:
				chart.Sparkline(c, gauge-len(latest), 0, latest, 0, style)
			default:
				chart.Gauge(c, 0, 0, gauge, gauged(b)/top, style)
			}
		}},
	}), numbers[1:]...)
	return table[result.BrokerNow]{c: c, gap: gap, columns: columns}
}
