package tui

import (
	"slices"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawTiny is for a terminal that has no room for panes: the state and the
// numbers on two rows; what the run is bound by and a sparkline where there are
// more.
func drawTiny(c chart.Canvas, s *scene) {
	const sparkline = 3 // its row
	w, h := c.Size()
	rows := []line{
		fit(s.tinyState(c), " ", w),
		fit(s.tinyFigures(c), "  ", w),
		fit([]line{s.bound()}, "", w),
	}
	if h == 1 {
		rows = rows[1:2]
	}
	for y, l := range rows {
		l.draw(c, 0, y)
	}
	if h > sparkline && w > 1 {
		end := s.end().Seconds()
		from := end - float64(w)
		values := chart.Resample(samples(since(s.points, from), rate), from, end, w, chart.Mean)
		chart.Sparkline(c, 0, sparkline, values, theme.Style{FG: theme.Flow})
	}
}

func (s *scene) tinyState(c chart.Canvas) []line {
	var out []line
	if s.header.Embedded {
		out = append(out, line{emphasis(theme.Warn, "embedded")})
	}
	out = append(out, s.badge(c), line{plain(theme.Clock(s.clock))})
	if d := s.header.Duration; d > 0 {
		out = append(out, line{muted("of "), plain(theme.Clock(d))})
	}
	return append(out, line{emphasis(theme.Brand, "kt "+s.header.Command)}, line{plain(s.header.Topic)})
}

// tinyFigures are the figures in the order of what is missed most.
func (s *scene) tinyFigures(c chart.Canvas) []line {
	n, missing := s.shown(), string(c.Theme().Glyphs.Missing)
	perSecond := missing
	if len(s.points) > 0 {
		perSecond = theme.Rate(n.rate)
	}
	out := []line{
		{emphasis(theme.Flow, perSecond), muted(" rec/s")},
		figure("p99", theme.Hot, n.latency(p99, missing)),
		figure("p50", theme.Good, n.latency(p50, missing)),
		figure("p99.9", theme.Bad, n.latency(p999, missing)),
	}
	at := 2
	if s.failed > 0 {
		at = 1
	}
	return slices.Insert(out, at, s.errorFigure())
}
