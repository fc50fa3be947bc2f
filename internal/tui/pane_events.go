package tui

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawEvents is the outages so far, and what has happened, the newest first.
func drawEvents(c chart.Canvas, s *scene) {
	events := s.events
	b := s.box(paneEvents, "Events")
	if n := len(events); n > 0 {
		b.right = []line{{muted(fmt.Sprintf("%d, newest first", n))}}
		if more := s.LeftOut.List(); more != "" {
			b.right = append(b.right, line{muted(more)})
		}
	}
	inner := b.draw(c)
	w, h := inner.Size()
	list := inner.Sub(1, 0, w-2, h)
	w, _ = list.Size()
	const summary = 8 // rows that leave room for more than events
	y := 0
	if text := s.goingOn(); text != "" && h >= summary { // else a line above says it
		emphasis(theme.Bad, c.Fit(string(c.Theme().Glyphs.Alert)+" "+text, w)).draw(list, 0, y)
		y++
	}
	if h >= summary {
		for _, l := range s.outageLines(c) {
			fit([]line{l}, "", w).draw(list, 0, y)
			y++
		}
		y++
	}
	if len(events) == 0 {
		list.Text(0, y, "no events yet", theme.Style{FG: theme.Muted})
		return
	}
	for i := len(events) - 1; i >= 0 && y < h; i-- {
		if y == h-1 && i > 0 && h >= summary {
			list.Text(0, y, fmt.Sprintf("%d earlier", i+1), theme.Style{FG: theme.Muted})
			return
		}
		y += s.drawEvent(list.Sub(0, y, w, h-y), &events[i])
	}
}

// drawEvent is one event: when to the tenth of a second, what, and where there is room how
// long ago. It returns the number of rows.
func (s *scene) drawEvent(c chart.Canvas, e *stats.Event) int {
	const ageWidth, text, most = 11, 50, 2 // "59m59s ago", most texts, and rows
	w, h := c.Size()
	l := s.eventParts(c, e)
	at := l[0].draw(c, 0, 0)
	tenth := e.At / (100 * time.Millisecond) % 10
	at = c.Text(at, 0, fmt.Sprintf("%s.%d  ", theme.Clock(e.At), tenth), l[1].style)
	if w-at >= text+ageWidth {
		c.TextRight(w, 0, s.age(e), theme.Style{FG: theme.Muted})
		w -= ageWidth
	}
	lines := wrap(c, l[2].text, w-at, min(h, most))
	for y, text := range lines {
		c.Text(at, y, text, l[2].style)
	}
	return max(len(lines), 1)
}

// age returns how long ago an event was.
func (s *scene) age(e *stats.Event) string { return seconds(max(s.clock-e.At, 0)) + " ago" }

// outageLines returns the longest times in which nothing came.
func (s *scene) outageLines(c chart.Canvas) []line {
	var out []line
	add := func(what, where string, g stats.Gap) {
		color := theme.Text
		if g.Length >= silenceShows {
			color = theme.Warn
		}
		value := string(c.Theme().Glyphs.Missing)
		if g.Length > 0 {
			value = where + theme.Duration(g.Length) + " from " + theme.Clock(g.From)
		}
		out = append(out, line{muted(fmt.Sprintf("%-*s  ", outageWidth, what)), colored(color, value)})
	}
	if s.writes {
		add("longest ack gap", "", s.Unanswered.Longest)
		if worst := &s.WorstGap; worst.Length > 0 && worst.Length >= s.Unanswered.Now.Length { // an open gap is of all
			add("of one partition", fmt.Sprintf("p%d: ", worst.ID), worst.Gap)
		}
	}
	if s.reads {
		add("longest read gap", "", s.Unread.Longest)
	}
	return out
}

// outageWidth holds the names of the outages.
const outageWidth = 16
