package tui

import (
	"slices"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawTiny is for a terminal that has no room for the header: the state and the numbers on
// two rows; the limit, a sparkline and the latest event where there are more. A silence, a
// notice and news go before the limit; never before the figures.
func drawTiny(c chart.Canvas, s *scene) {
	const sparkline, event = 3, 4 // their rows
	w, h := c.Size()
	rows := []line{
		fit(s.tinyState(c), " ", w),
		fit(s.tinyFigures(c), "  ", w),
		s.limitLine(c, w),
	}
	silent := s.goingOn()
	if s.many() { // what limits them is not known before the end
		warning := s.hostWarning()
		rows[2] = line{colored(warning.color, warning.fit(c, w))}
	}
	notice := wrap(c, s.notice, w, event-1)
	switch {
	// It is there as a whole or not at all, for it ends with the key to press.
	case len(notice) > 0 && len(notice) <= min(h, event)-2 && s.Stage != result.Finished:
		rows = rows[:2]
		for _, text := range notice {
			rows = append(rows, line{emphasis(theme.Warn, text)})
		}
	case silent != "":
		rows[2] = line{emphasis(theme.Bad, c.Fit(silent, w))}
	case s.news() && h <= event:
		rows[2] = s.latestEvent(c, w)
	}
	if h == 1 {
		rows = rows[1:2]
	}
	for y, l := range rows {
		l.draw(c, 0, y)
	}
	if h > event && len(s.events) > 0 {
		s.latestEvent(c, w).draw(c, 0, event)
	}
	if h > sparkline && w > 1 && len(rows) <= sparkline {
		x := s.timeAxis(w)
		values := chart.Resample(samples(s.since(x.From), s.main.rate), x.From, x.To, w, chart.Mean)
		chart.Sparkline(c, 0, sparkline, values, theme.Style{FG: theme.Flow})
	}
}

// latestEvent returns the latest event, cut to a width.
func (s *scene) latestEvent(c chart.Canvas, w int) line {
	l := s.eventParts(c, &s.events[len(s.events)-1])
	l[2].text = c.Fit(l[2].text, w-l[:2].width())
	return l
}

func (s *scene) tinyState(c chart.Canvas) []line {
	var out []line
	if s.header.Embedded {
		out = append(out, line{emphasis(theme.Warn, "embedded")})
	}
	out = append(out, s.badge(c), line{plain(s.clockText())})
	if d := s.header.Duration; d > 0 && !s.gathering() {
		out = append(out, line{muted("of "), plain(theme.Clock(d))})
	}
	return append(out, line{emphasis(theme.Brand, "kt "+s.header.Command)}, line{plain(s.header.Topic)})
}

// tinyFigures returns the figures in the order of what is missed most.
func (s *scene) tinyFigures(c chart.Canvas) []line {
	n, missing := s.shown(), string(c.Theme().Glyphs.Missing)
	perSecond := missing
	if s.begun() {
		perSecond = theme.Rate(n.flow[s.main].Records)
	}
	if s.gathering() {
		return []line{{plain(s.gatheringText())}}
	}
	out := []line{{emphasis(theme.Flow, perSecond), muted(" rec/s")}}
	at := 2
	if s.endToEnd() {
		at = 3
	}
	if s.reads {
		text, color := s.lagValue(c.Theme())
		out = append(out, figure("lag", color, text))
	}
	if !s.untimed() {
		out = append(out,
			figure("p99", theme.P99, n.text(p99, missing)),
			figure("p50", theme.P50, n.text(p50, missing)),
			figure("p99.9", theme.P999, n.text(p999, missing)))
	}
	if s.All.Failed+s.All.Refused() > 0 {
		at = 1
	}
	out = slices.Insert(out, at, s.errorFigure())
	if age := s.oldestAge(); age > 0 {
		out = slices.Insert(out, 1, figure("oldest", theme.Bad, theme.Duration(age)))
	}
	switch {
	case !s.many():
	case s.present() < len(s.hosts):
		out = slices.Insert(out, 1, s.hostFigures()[0])
	default:
		out = append(out, s.hostFigures()...)
	}
	return out
}
