package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// leastTags is the room below which a piece of the tags says nothing.
const leastTags = 8

// drawHeader draws what runs and how far it is, and the numbers of the last
// second below.
func drawHeader(c chart.Canvas, s *scene) {
	w, _ := c.Size()
	g := c.Theme().Glyphs
	right := append(s.badge(c), plain("  "+theme.Clock(s.clock)))
	gaugeWidth := 0
	share, limited := s.progress()
	if limited {
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
	at = left.Text(at, 0, left.Fit(s.header.Topic, room-at), theme.Style{FG: theme.Text, Bold: true}) + 2
	if room-at >= leastTags {
		left.Text(at, 0, left.Fit(strings.Join(s.header.Tags, " "+string(g.Separator)+" "), room-at), theme.Style{FG: theme.Muted})
	}

	s.figureLine(c, w-2).draw(c, 1, 1)
}

// figureLine is as many figures as fit. Once there are errors they go to the
// front, to be seen at any width, and say of what kind most are if that costs no
// other figure.
func (s *scene) figureLine(c chart.Canvas, w int) line {
	const gap = "   "
	figures := s.figures(c)
	if s.failed == 0 {
		return fit(figures, gap, w)
	}
	failed := figures[errorIndex]
	figures = slices.Insert(slices.Delete(figures, errorIndex, errorIndex+1), 1, failed)
	named := slices.Clone(figures)
	named[1] = append(slices.Clone(failed), colored(theme.Bad, " "+s.worstError()))
	if fit(named[:errorIndex+1], gap, math.MaxInt).width() <= w {
		figures = named
	}
	return fit(figures, gap, w)
}

// drawBanner says that there is no Kafka here.
func drawBanner(c chart.Canvas) {
	w, _ := c.Size()
	ground := theme.Style{FG: theme.Ground, BG: theme.Warn, Bold: true}
	c.Row(0, 0, w, ' ', ground)
	c.Text(1, 0, c.Fit(string(c.Theme().Glyphs.Alert)+" embedded broker: these figures are kt's, not Kafka's", w-2), ground)
}

// badge is the state of the run.
func (s *scene) badge(c chart.Canvas) line {
	dot := string(c.Theme().Glyphs.Dot) + " "
	state := s.state
	if s.stopping && state < Draining {
		state = Draining
	}
	color := theme.Warn
	if state == Running || state == Done {
		color = theme.Good
	}
	if s.frozen {
		return line{emphasis(theme.Info, dot+"FROZEN")}
	}
	return line{emphasis(color, dot), emphasis(color, state.String())}
}

// progress is how much of the run is over; limited tells that it has an end.
func (s *scene) progress() (share float64, limited bool) {
	if d := s.header.Duration; d > 0 {
		share, limited = float64(s.clock)/float64(d), true
	}
	if n := s.header.Records; n > 0 {
		share, limited = max(share, float64(s.acked)/float64(n)), true
	}
	return min(share, 1), limited
}

// errorIndex is where the errors are among the figures.
const errorIndex = 5

// figures are the numbers of the second line, the most important first.
func (s *scene) figures(c chart.Canvas) []line {
	n := s.shown()
	missing := string(c.Theme().Glyphs.Missing)
	rate, bytes := missing, missing
	if len(s.points) > 0 {
		rate, bytes = theme.Rate(n.rate), s.unit.write(n.bytes)
	}
	lines := []line{
		figure("rec/s", theme.Flow, rate),
		figure(s.unit.name(), theme.Flow, bytes),
		figure("p50", theme.Good, n.latency(p50, missing)),
		figure("p99", theme.Hot, n.latency(p99, missing)),
		figure("p99.9", theme.Bad, n.latency(p999, missing)),
		s.errorFigure(),
	}
	if m := s.header.MaxInFlight; m > 0 {
		lines = append(lines, figure("in-flight", theme.Warn, fmt.Sprintf("%d/%d", s.inFlight, m)))
	} else {
		lines = append(lines, figure("in-flight", theme.Warn, fmt.Sprint(s.inFlight)))
	}
	if n.batch > 0 {
		lines = append(lines, figure("batch", theme.Info, theme.Rate(n.batch)))
	}
	if n.ratio > 0 {
		lines = append(lines, figure("ratio", theme.Info, theme.Ratio(n.ratio)))
	}
	return lines
}

func figure(name string, color theme.Color, value string) line {
	return line{muted(name + " "), emphasis(color, value)}
}

// errorFigure is the number of records that failed.
func (s *scene) errorFigure() line {
	if s.failed == 0 {
		return figure("err", theme.Good, "0")
	}
	return figure("err", theme.Bad, theme.Rate(float64(s.failed)))
}

// latency is one of the quantiles as text.
func (n *numbers) latency(quantile int, missing string) string {
	if !n.measured {
		return missing
	}
	return theme.Duration(n.quantiles[quantile])
}
