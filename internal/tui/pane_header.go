package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawHeader draws what runs and how far it is, and the numbers of the last
// second below.
func drawHeader(c chart.Canvas, s *scene) {
	w, _ := c.Size()
	g := c.Theme().Glyphs
	right := append(s.badge(c), plain("  "+s.clockText()))
	gaugeWidth := 0
	share, limited := s.progress()
	if limited = limited && !s.gathering(); limited {
		gaugeWidth = min(w/10, 24)
		if d := s.header.Duration; d > 0 {
			right = append(right, muted(" / "+theme.Clock(d)))
		}
	}
	x := w - 1 - right.width()
	if limited {
		x -= gaugeWidth + 1
		chart.Gauge(c, w-1-gaugeWidth, 0, gaugeWidth, share, theme.Style{FG: theme.Brand})
	}
	right.draw(c, x, 0)

	left := c.Sub(1, 0, x-3, 1)
	room, _ := left.Size()
	at := left.Text(0, 0, s.header.name(), theme.Style{FG: theme.Brand, Bold: true})
	at = left.Text(at, 0, " "+string(g.Arrow)+" ", theme.Style{FG: theme.Muted})
	at = left.Text(at, 0, chart.FitMiddle(s.header.Topic, room-at), theme.Style{FG: theme.Text, Bold: true}) + 2
	var tags []line
	for i, tag := range s.header.Tags {
		if i > 0 {
			tag = string(g.Separator) + " " + tag
		}
		tags = append(tags, line{muted(tag)})
	}
	fit(tags, " ", room-at).draw(left, at, 0)

	fit(s.figures(c, false), "   ", w-2).draw(c, 1, 1)
}

// badge returns the state of the run.
func (s *scene) badge(c chart.Canvas) line {
	dot := string(c.Theme().Glyphs.Dot) + " "
	state := s.Stage
	if (s.stopping || s.many() && s.overdue()) && state < result.Draining {
		state = result.Draining
	}
	color, name := theme.Warn, stageNames[state]
	switch {
	case s.gathering() && s.stopping:
		name = "STOP"
	case s.gathering() && s.startsIn > 0:
		color, name = theme.Good, "START"
	case s.gathering():
	case s.CutOff && !s.frozen:
		name = "CUT OFF"
	case s.frozen && s.header.Replay:
		return line{emphasis(theme.Info, dot+"PAUSED")}
	case s.frozen:
		return line{emphasis(theme.Info, dot+"FROZEN")}
	case s.joining() && !s.stopping:
		name = "joining the group…"
	case state < result.Draining && s.goingOn() != "":
		color, name = theme.Bad, "STALL"
	case state == result.Draining && !s.writes: // there is nothing to drain
		name = "STOP"
	case state == result.Running || state == result.Finished:
		color = theme.Good
	}
	return line{emphasis(color, dot), emphasis(color, name)}
}

// clockText returns how long the load has run, or when it begins once that is agreed.
func (s *scene) clockText() string {
	if s.gathering() && s.startsIn > 0 {
		return "in " + theme.TickDuration(max(-s.clock, 0).Truncate(time.Second)+time.Second)
	}
	return theme.Clock(s.clock)
}

// overdue reports whether the load has ended by its plan, whoever told of that.
func (s *scene) overdue() bool {
	d := s.header.Duration
	return d > 0 && s.clock >= d && !s.gathering()
}

// progress returns how much of the run is over; limited tells that it has an end.
func (s *scene) progress() (share float64, limited bool) {
	if d := s.header.Duration; d > 0 {
		share, limited = float64(s.clock)/float64(d), true
	}
	if n := s.header.Records; n > 0 {
		share, limited = max(share, float64(byWay(s.main, s.All.Acknowledged, s.All.Consumed))/float64(n)), true
	}
	return min(share, 1), limited
}

// figures returns the numbers of the run, the most important first. Errors, and what is amiss, come before the latencies as
// soon as there is some. few leaves out what a small terminal has no room for.
func (s *scene) figures(c chart.Canvas, few bool) (lines []line) {
	if s.gathering() {
		return s.hostFigures()
	}
	add := func(has bool, name string, color theme.Color, value string) {
		if has {
			lines = append(lines, figure(name, color, value))
		}
	}
	n, missing, both := s.shown(), string(c.Theme().Glyphs.Missing), s.reads && s.writes
	known := func(text string) string {
		if s.begun() {
			return text
		}
		return missing
	}
	errors := func() {
		add(s.writes, "err", countColor(s.All.Failed, theme.Bad), theme.Rate(float64(s.All.Failed)))
		add(!s.writes || s.All.Refused() > 0, "fetch err", countColor(s.All.Refused(), theme.Bad), theme.Rate(float64(s.All.Refused())))
	}
	add(!both, "rec/s", theme.Flow, known(theme.Rate(n.flow[s.main].Records)))
	add(both, "acked/s", flowLooks[acked].color, known(theme.Rate(n.flow[acked].Records)))
	failures, hosts := s.failures(), s.hostFigures()
	if len(failures) > 0 {
		errors()
	}
	add(s.oldestAge() > 0, "oldest", theme.Bad, theme.Duration(s.oldestAge()))
	if s.present() < len(s.hosts) { // to be seen at any width
		lines, hosts = append(lines, hosts[0]), hosts[1:]
	}
	bytes := known(s.unit.write(n.flow[s.main].Bytes))
	lag, lagColor := s.lagValue(c.Theme())
	add(both, "read/s", flowLooks[read].color, known(theme.Rate(n.flow[read].Records)))
	add(!both && !few, s.unit.name(), theme.Flow, bytes)
	add(!s.writes, "lag", lagColor, lag)
	before := ""
	if s.reads {
		before = "e2e "
	}
	if !s.untimed() {
		add(!few, before+"p50", theme.P50, n.text(p50, missing))
		add(true, "p99", theme.P99, n.text(p99, missing))
		add(!few, "p99.9", theme.P999, n.text(p999, missing))
	}
	add(both && n.Response.P99 > 0, "ack p99", theme.P99, theme.Duration(n.Response.P99.Duration()))
	add(both && n.Response.P99 == 0, "ack p99", theme.P99, missing)
	add(both, "lag", lagColor, lag)
	if len(failures) > 0 {
		add(true, "error", theme.Bad, failures[0].code)
	} else {
		errors()
	}
	if s.many() {
		lines = append(lines, hosts...)
	}
	add(both && !few, s.unit.name(), theme.Flow, bytes)
	s.lesserFigures(&n, add)
	return lines
}

// lesserFigures adds those of how the load is carried.
func (s *scene) lesserFigures(n *numbers, add func(has bool, name string, color theme.Color, value string)) {
	add(s.reads && s.All.Consumed == 0 && s.All.JoinTime > 0, "joined in", theme.Info, theme.Duration(s.All.JoinTime))
	add(s.All.Rebalances > 0 || s.reads && s.header.Group != "", "rebalances", countColor(s.All.Rebalances, theme.Warn), fmt.Sprint(s.All.Rebalances))
	requests := fmt.Sprint(s.InFlight)
	if m := s.header.MaxInFlight; m > 0 {
		requests += fmt.Sprintf("/%d", m)
	}
	add(s.writes, "in-flight", theme.Info, requests)
	add(n.batches.RecordsMean > 0, "rec/batch", theme.Info, theme.Rate(n.batches.RecordsMean))
	ratio := n.batches.CompressionRatio
	add(ratio > 0 && ratio != 1, "ratio", theme.Info, theme.Ratio(ratio))
}

// countColor returns the colour of a count that is best at 0.
func countColor(n int64, bad theme.Color) theme.Color {
	if n == 0 {
		return theme.Good
	}
	return bad
}

func figure(name string, color theme.Color, value string) line {
	return line{muted(name + " "), emphasis(color, value)}
}

// text returns one of the quantiles as text.
func (n *numbers) text(quantile int, missing string) string {
	if n.latency.Ranked() == 0 {
		return missing
	}
	return theme.Duration(quantiles[quantile].of(&n.latency))
}

// drawTiny is for a terminal that has no room for the header: the state and the numbers on
// two rows; the latest event, the limit and a sparkline where there are more. A notice or a
// silence takes the place of the limit.
func drawTiny(c chart.Canvas, s *scene) {
	w, h := c.Size()
	rows := []line{fit(s.tinyState(c), " ", w), fit(s.figures(c, true), "  ", w)}
	if h == 1 {
		rows = rows[1:]
	}
	if s.news() {
		l := s.eventParts(c, &s.events[len(s.events)-1])
		l[2].text = c.Fit(l[2].text, w-l[:2].width())
		rows = append(rows, l)
	}
	room := h - len(rows)
	silent, notice := s.goingOn(), wrap(c, s.notice, w, room+1)
	switch {
	// It is there as a whole or not at all, because it ends with the key to press.
	case len(notice) > 0 && len(notice) <= room && s.Stage != result.Finished:
		for _, text := range notice {
			rows = append(rows, line{emphasis(theme.Warn, text)})
		}
	case silent != "":
		rows = append(rows, line{emphasis(theme.Bad, c.Fit(silent, w))})
	case s.many(): // what limits them is not known before the end
		warning := s.hostWarning()
		rows = append(rows, line{colored(warning.color, warning.fit(c, w))})
	default:
		rows = append(rows, s.limitLine(c, w))
	}
	for y, l := range rows {
		l.draw(c, 0, y)
	}
	if len(rows) < h && w > 1 {
		x := s.timeAxis(w)
		values := chart.Resample(samples(s.since(x.From), s.main.rate), x.From, x.To, w, chart.Mean)
		chart.Sparkline(c, 0, len(rows), values, 0, theme.Style{FG: theme.Flow})
	}
}

func (s *scene) tinyState(c chart.Canvas) []line {
	var out []line
	if short, _, _ := strings.Cut(s.header.Notice, " "); short != "" {
		out = append(out, line{emphasis(theme.Warn, short)}) // "embedded", "wire"
	}
	out = append(out, s.badge(c), line{plain(s.clockText())})
	if d := s.header.Duration; d > 0 && !s.gathering() {
		out = append(out, line{muted("of "), plain(theme.Clock(d))})
	}
	return append(out, line{emphasis(theme.Brand, s.header.name())}, line{plain(s.header.Topic)})
}
