package tui

import (
	"fmt"
	"math"
	"slices"
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
	at := left.Text(0, 0, "kt "+s.header.Command, theme.Style{FG: theme.Brand, Bold: true})
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

	s.figureLine(c, w-2).draw(c, 1, 1)
}

// figureLine is as many figures as fit. Once there are errors they go to the
// front, to be seen at any width, and say of what kind most are if that costs no
// other figure.
func (s *scene) figureLine(c chart.Canvas, w int) line {
	const gap = "   "
	if s.gathering() {
		return fit(s.hostFigures(), gap, w)
	}
	figures, errors := s.figures(c)
	if s.many() {
		hosts := s.hostFigures()
		if s.present() < len(s.hosts) { // to be seen at any width
			figures = slices.Insert(figures, 1, hosts[0])
			hosts = hosts[1:]
			errors++
		}
		figures = slices.Insert(figures, errors+1, hosts...)
	}
	if age := s.oldestAge(); age > 0 {
		figures = slices.Insert(figures, 1, figure("oldest", theme.Bad, theme.Duration(age)))
		errors++
	}
	if s.All.Failed+s.All.Refused() == 0 {
		return fit(figures, gap, w)
	}
	failed := figures[errors]
	figures = slices.Insert(slices.Delete(figures, errors, errors+1), 1, failed)
	named := slices.Clone(figures)
	named[1] = append(slices.Clone(failed), colored(theme.Bad, " "+s.failures()[0].code))
	if fit(named[:errors+1], gap, math.MaxInt).width() <= w {
		figures = named
	}
	return fit(figures, gap, w)
}

// drawBanner draws the notice.
func drawBanner(c chart.Canvas, notice string) {
	w, _ := c.Size()
	ground := theme.Style{FG: theme.Ground, BG: theme.Warn, Bold: true}
	c.Row(0, 0, w, ' ', ground)
	c.Text(1, 0, c.Fit(string(c.Theme().Glyphs.Alert)+" "+notice, w-2), ground)
}

// badge returns the state of the run.
func (s *scene) badge(c chart.Canvas) line {
	dot := string(c.Theme().Glyphs.Dot) + " "
	state := s.Stage
	if (s.stopping || s.many() && s.overdue()) && state < result.Draining {
		state = result.Draining
	}
	color, name := theme.Warn, stageName(state)
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
		share, limited = max(share, float64(s.done())/float64(n)), true
	}
	return min(share, 1), limited
}

// done returns the number of records so far, with the warm-up: progress counts them.
func (d *data) done() int64 {
	if d.main == read {
		return d.All.Consumed
	}
	return d.All.Acknowledged
}

// figures returns the numbers of the second line, the most important first, and which
// of them is that of the errors.
func (s *scene) figures(c chart.Canvas) (lines []line, errors int) {
	n := s.shown()
	missing := string(c.Theme().Glyphs.Missing)
	rate := func(name string, w way) {
		value := missing
		if s.begun() {
			value = theme.Rate(n.flow[w].Records)
		}
		color := theme.Flow
		if s.reads && s.writes {
			color = flowLooks[w].color
		}
		lines = append(lines, figure(name, color, value))
	}
	bytes := func() {
		value := missing
		if s.begun() {
			value = s.unit.write(n.flow[s.main].Bytes)
		}
		lines = append(lines, figure(s.unit.name(), theme.Flow, value))
	}
	waiting := func() {
		text, color := s.lagValue(c.Theme())
		lines = append(lines, figure("lag", color, text))
	}
	latencies := func(before string) {
		lines = append(lines,
			figure(before+"p50", theme.P50, n.text(p50, missing)),
			figure("p99", theme.P99, n.text(p99, missing)),
			figure("p99.9", theme.P999, n.text(p999, missing)))
	}
	switch {
	case !s.reads:
		rate("rec/s", acked)
		bytes()
		latencies("")
	case !s.writes:
		rate("rec/s", read)
		bytes()
		waiting()
		if s.Stamped {
			latencies("e2e ")
		}
	default:
		ackP99 := missing
		if n.ackP99 > 0 {
			ackP99 = theme.Duration(n.ackP99)
		}
		rate("acked/s", acked)
		rate("read/s", read)
		latencies("e2e ")
		lines = append(lines, figure("ack p99", theme.P99, ackP99))
		waiting()
	}
	errors = len(lines)
	lines = append(lines, s.errorFigure())
	if s.reads && s.writes {
		bytes()
	}
	return append(lines, s.lesserFigures(&n)...), errors
}

// lesserFigures are those of how the load is carried.
func (s *scene) lesserFigures(n *numbers) []line {
	var lines []line
	if s.reads && s.All.Consumed == 0 && s.All.JoinTime > 0 {
		lines = append(lines, figure("joined in", theme.Info, theme.Duration(s.All.JoinTime)))
	}
	if s.All.Rebalances > 0 {
		lines = append(lines, figure("rebalances", theme.Warn, fmt.Sprint(s.All.Rebalances)))
	} else if s.reads && s.header.Group != "" {
		lines = append(lines, figure("rebalances", theme.Good, "0"))
	}
	if m := s.header.MaxInFlight; s.writes && m > 0 {
		lines = append(lines, figure("in-flight", theme.Info, fmt.Sprintf("%d/%d", s.InFlight, m)))
	} else if s.writes {
		lines = append(lines, figure("in-flight", theme.Info, fmt.Sprint(s.InFlight)))
	}
	if n.batch > 0 {
		lines = append(lines, figure("rec/batch", theme.Info, theme.Rate(n.batch)))
	}
	if n.ratio > 0 {
		lines = append(lines, figure("ratio", theme.Info, theme.Ratio(n.ratio)))
	}
	return lines
}

func figure(name string, color theme.Color, value string) line {
	return line{muted(name + " "), emphasis(color, value)}
}

// errorFigure returns the number of records that failed, or of fetches where nothing is
// sent, or of both.
func (s *scene) errorFigure() line {
	count := func(name string, n int64) line {
		if n == 0 {
			return figure(name, theme.Good, "0")
		}
		return figure(name, theme.Bad, theme.Rate(float64(n)))
	}
	switch {
	case !s.writes:
		return count("fetch err", s.All.Refused())
	case s.All.Refused() > 0:
		return slices.Concat(count("err", s.All.Failed), line{{text: "   "}}, count("fetch err", s.All.Refused()))
	}
	return count("err", s.All.Failed)
}

// text returns one of the quantiles as text.
func (n *numbers) text(quantile int, missing string) string {
	if n.latency.Ranked() == 0 {
		return missing
	}
	return theme.Duration(quantiles[quantile].of(&n.latency))
}
