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
	}
	inner := b.draw(c)
	w, h := inner.Size()
	list := inner.Sub(1, 0, w-2, h)
	w, _ = list.Size()
	const summary = 8 // rows that leave room for more than events
	y := 0
	if text := s.goingOn(); text != "" {
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
		list.Text(0, y, "nothing has happened yet", theme.Style{FG: theme.Muted})
		return
	}
	rows := h - y
	if len(events) > rows && h >= summary {
		rows--
		list.Text(0, h-1, fmt.Sprintf("%d earlier", len(events)-rows), theme.Style{FG: theme.Muted})
	}
	for i := len(events) - 1; i >= 0 && rows > 0; i-- {
		s.drawEvent(list, y, &events[i])
		y++
		rows--
	}
}

// drawEvent is one event on a row: when to the tenth of a second, what, and where there is
// room how long ago.
func (s *scene) drawEvent(c chart.Canvas, y int, e *stats.Event) {
	const ageWidth, text = 11, 50 // "59m59s ago", and most texts
	w, _ := c.Size()
	l := s.eventParts(c, e)
	at := l[0].draw(c, 0, y)
	tenth := e.At / (100 * time.Millisecond) % 10
	at = c.Text(at, y, fmt.Sprintf("%s.%d  ", theme.Clock(e.At), tenth), l[1].style)
	if w-at >= text+ageWidth {
		c.TextRight(w, y, s.age(e), theme.Style{FG: theme.Muted})
		w -= ageWidth
	}
	c.Text(at, y, c.Fit(l[2].text, w-at), l[2].style)
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
			value = where + gapText(g)
		}
		out = append(out, line{muted(fmt.Sprintf("%-*s  ", outageWidth, what)), colored(color, value)})
	}
	if s.writes {
		add("longest without an acknowledgement", "", s.Unanswered.Longest)
		if worst := &s.WorstGap; worst.Length > 0 {
			add("in one partition, of one producer", fmt.Sprintf("p%d: ", worst.ID), worst.Gap)
		}
	}
	if s.reads {
		add("longest without a record read", "", s.Unread.Longest)
	}
	return out
}

// outageWidth holds what the outages are of.
const outageWidth = 34
