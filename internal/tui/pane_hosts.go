package tui

import (
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// subject returns the scene as the charts see it: of all hosts, or of the selected one.
func (s *scene) subject() *scene {
	if !s.many() {
		return s
	}
	sub := *s
	sub.of = "all hosts"
	if s.one {
		h := s.hosts[s.selected]
		sub.data, sub.of, sub.until = h.own, h.short, s.end()
	}
	return &sub
}

// drawSubject says why there is nothing to see of a host that makes no load.
func drawSubject(c chart.Canvas, s *scene) {
	if !s.many() || !s.one || s.hosts[s.selected].Processes > 0 {
		return
	}
	const text = " watched only: it makes no load "
	w, h := c.Size()
	c.Text((w-len(text))/2, h/2, text, theme.Style{FG: theme.Muted})
}

// hostFigures returns how many hosts are there, and how far apart their clocks are.
func (s *scene) hostFigures() []line {
	n, all := s.present(), len(s.hosts)
	color := theme.Good
	if n < all {
		color = theme.Warn
	}
	out := []line{figure("hosts", color, fmt.Sprintf("%d/%d", n, all))}
	if spread, ok := s.clockSpread(); ok {
		out = append(out, figure("clock spread", theme.Info, theme.Duration(spread)))
	}
	return out
}

// drawHosts is a row for each host, around the selected one where not all have room,
// and below what must be known of them.
func drawHosts(c chart.Canvas, s *scene) {
	w, h := c.Size()
	rows := max(h-3, 0) // within the border and below the head
	if s.flat {
		rows = max(h-2, 0)
	}
	warning := s.hostWarning()
	if warning.long == "" && len(s.hosts) > rows { // the table does not show all
		warning = s.waitingWarning()
	}
	if warning.long != "" {
		rows = max(rows-1, 0)
	}
	first := 0
	last := len(s.hosts)
	if rows < last {
		first = min(max(s.selected-rows/2, 0), last-rows)
		last = first + rows
	}
	b := s.box(paneHosts, "Hosts")
	b.table = true
	switch {
	case s.gathering() && s.startsIn > 0:
		b.name = "All hosts start together"
	case s.gathering():
		b.name = fmt.Sprintf("Waiting for hosts %d/%d…", s.present(), len(s.hosts))
	case !s.untimed():
		of := "latency of the last 5 to 10 s"
		if s.Stage == result.Finished {
			of = "latency of the run"
		}
		b.right = []line{{muted(of)}, {muted("merged from HDR histograms, not averaged")}}
	}
	if last-first < len(s.hosts) {
		b.bottom = append(b.bottom, line{muted(fmt.Sprintf("%d to %d of %d", first+1, last, len(s.hosts)))})
	}
	switch limit := s.bounded().Limit; {
	case limit == "":
	case s.flat: // there is no edge below
		b.right = slices.Insert(b.right, 0, s.bound())
	case limit == verdict.None:
		b.bottom = append(b.bottom, s.bound())
	default:
		const around = 30 // the edge, and which hosts are shown
		b.bottom = append(b.bottom, s.limitLine(c, w-around))
	}
	inner := b.draw(c)
	table := newHostTable(inner.Sub(1, 0, w-4, h), s)
	table.head(-1)
	for i, host := range s.hosts[first:last] {
		if first+i == s.selected {
			inner.Set(0, 1+i, c.Theme().Glyphs.Arrow, theme.Style{FG: theme.Brand})
		}
		table.row(1+i, host)
	}
	if warning.long != "" {
		at := inner.Text(1, 1+last-first, string(c.Theme().Glyphs.Alert)+" ", theme.Style{FG: warning.color})
		inner.Text(at, 1+last-first, warning.fit(c, w-2-at), theme.Style{FG: warning.color})
	}
}
