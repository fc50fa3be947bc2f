package tui

import (
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

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
	return append(out, line{emphasis(theme.Brand, "kt "+s.header.Command)}, line{plain(s.header.Topic)})
}
