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

// brokerColumns returns what is shown of a broker, and what the gauge after the first is of.
func (s *scene) brokerColumns(missing string) (columns []column[result.BrokerNow], gauge func(*result.BrokerNow) float64) {
	add := func(has bool, name string, value func(b *result.BrokerNow) segment) {
		if has {
			columns = append(columns, column[result.BrokerNow]{name: name, width: numberWidth, value: func(b *result.BrokerNow) segment {
				_, why := s.health(b)
				switch {
				case why != "" && len(columns) > 0 && name == columns[0].name:
					return segment{missing, s.brokerStyle(b)}
				case why != "":
					return segment{}
				}
				v := value(b)
				return segment{v.text, s.styleOf(b, v.style)}
			}})
		}
	}
	written := func(b *result.BrokerNow) float64 { return b.Written }
	fetched := func(b *result.BrokerNow) float64 { return b.Fetched }
	took := func(d time.Duration, c theme.Color) segment {
		if d == 0 { // nothing was answered
			return muted(missing)
		}
		return colored(c, theme.Duration(d))
	}
	both, own := s.reads && s.writes, !s.many() // how long requests took is not told over the network
	names := [...]string{s.unit.name(), s.unit.name()}
	if both {
		names = [...]string{"written", "read"}
	}
	if gauge = written; !s.writes {
		gauge = fetched
	}
	add(s.writes, names[0], func(b *result.BrokerNow) segment { return plain(s.unit.write(b.Written)) })
	add(s.reads, names[1], func(b *result.BrokerNow) segment { return plain(s.unit.write(b.Fetched)) })
	add(s.writes && own, "p99", func(b *result.BrokerNow) segment { return took(b.P99, theme.Good) })
	add(!s.reads && own, "mean", func(b *result.BrokerNow) segment { return took(b.Mean, theme.Text) })
	add(!s.reads && !own, "req/s", func(b *result.BrokerNow) segment { return plain(theme.Rate(b.Requests)) })
	add(!s.writes, "fetch/s", func(b *result.BrokerNow) segment { return plain(theme.Rate(b.Fetches)) })
	add(s.reads && own, "wait", func(b *result.BrokerNow) segment { return took(b.FetchMean, theme.Text) })
	add(true, "throttle", func(b *result.BrokerNow) segment {
		if b.Throttle > 0 {
			return colored(theme.Warn, theme.Duration(b.Throttle))
		}
		return muted(theme.Duration(b.Throttle))
	})
	zoomed := s.zoom == paneBrokers // there is room for what a broker has of the topics of the run
	add(zoomed, "leads", func(b *result.BrokerNow) segment { return plain(fmt.Sprint(b.Leads)) })
	add(zoomed, "in sync", func(b *result.BrokerNow) segment {
		r := b.Replicas
		text := fmt.Sprintf("%d/%d", r.InSync, r.All)
		switch {
		case r.All == 0:
			return muted(missing)
		case r.InSync < r.All:
			return colored(theme.Warn, text)
		}
		return plain(text)
	})
	return columns, gauge
}

// brokerTable returns the table of the brokers. The gauge after the first number is its share of the highest one, and
// where brokers are shown alone its course. There, a broker says why there is nothing to show.
func (s *scene) brokerTable(c chart.Canvas) table[result.BrokerNow] {
	missing := string(c.Theme().Glyphs.Missing)
	numbers, gauged := s.brokerColumns(missing)
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
	text := func(text func(*result.BrokerNow) string) func(chart.Canvas, *result.BrokerNow) {
		return func(c chart.Canvas, b *result.BrokerNow) {
			w, _ := c.Size()
			c.Text(0, 0, chart.FitMiddle(text(b), w), s.brokerStyle(b))
		}
	}
	const gap = 1
	numbers[0].width += gap
	columns := []column[result.BrokerNow]{
		{name: "id", width: idWidth, draw: text(func(b *result.BrokerNow) string { return fmt.Sprint(b.ID) })},
		{name: "host", width: host, draw: text(func(b *result.BrokerNow) string { return b.Addr })},
		numbers[0],
	}
	if gauge > 0 {
		columns = append(columns, column[result.BrokerNow]{width: gauge + 2, draw: func(c chart.Canvas, b *result.BrokerNow) {
			style := s.styleOf(b, theme.Style{FG: theme.Good})
			if _, why := s.health(b); why != "" {
				return
			}
			if latest := b.Trend[max(len(b.Trend)-gauge, 0):]; s.zoom == paneBrokers {
				chart.Sparkline(c, gauge-len(latest), 0, latest, 0, style)
			} else {
				chart.Gauge(c, 0, 0, gauge, gauged(b)/top, style)
			}
		}})
	}
	return table[result.BrokerNow]{c: c, gap: gap, columns: append(columns, numbers[1:]...)}
}
