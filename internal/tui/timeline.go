package tui

import (
	"cmp"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// silenceShows is the silence that is worth a line: in a shorter one it may be that
// nothing was due.
const silenceShows = 2 * time.Second

// goingOn returns the silence of now in words; empty when there is none.
func (s *scene) goingOn() string {
	switch {
	case s.Stage == result.Finished:
		return ""
	case s.stalled():
		return s.stallText()
	case s.Unanswered.Now.Length >= silenceShows: // records fail, and none is old
		return "no acknowledgement for " + seconds(s.Unanswered.Now.Length)
	case s.Unread.Now.Length >= silenceShows && !s.joining():
		return "nothing read for " + seconds(s.Unread.Now.Length) + ", and " + theme.Rate(float64(s.ConsumerLag.Records)) + " wait"
	}
	return ""
}

// newsFor is the time for which an event stays news.
const newsFor = time.Minute

// news reports whether events take the place of a quiet pane: during a stall, and for some
// time after the latest event.
func (s *scene) news() bool {
	n := len(s.events)
	return s.stalled() || n > 0 && s.clock-s.events[n-1].At < newsFor
}

// colorOf returns the colour of a gravity.
func colorOf(g stats.Gravity) theme.Color {
	return [...]theme.Color{theme.Brand, theme.Good, theme.Warn, theme.Bad}[g]
}

// gravityOf returns how bad an event is, also of the screen's own.
func gravityOf(k stats.EventKind) stats.Gravity {
	switch k {
	case kindBack, kindResumed:
		return stats.Better
	case kindLost, kindStalled:
		return stats.Worst
	}
	return k.Gravity()
}

// marks returns the moments to show on a time axis, what must not be hidden last:
// throttled seconds, failed ones, and the events, the worst last. How a catch-up
// goes is no moment: it would mark one every few seconds.
func (s *scene) marks(x chart.TimeAxis) []chart.Event {
	var throttled, failed, events []chart.Event
	for _, p := range s.since(x.From) {
		at := (p.StartSeconds + p.End()) / 2
		switch {
		case p.Failed+p.Refused > 0:
			failed = append(failed, chart.Event{At: at, Style: theme.Style{FG: theme.Bad}})
		case p.Throttled:
			throttled = append(throttled, chart.Event{At: at, Style: theme.Style{FG: theme.Warn}})
		}
	}
	for bad := stats.Neutral; bad <= stats.Worst; bad++ {
		for i := range s.events {
			if e := &s.events[i]; gravityOf(e.Kind) == bad && e.Kind != stats.CatchingUp {
				events = append(events, chart.Event{At: e.At.Seconds(), Style: theme.Style{FG: colorOf(bad)}})
			}
		}
	}
	return slices.Concat(throttled, failed, events)
}

// eventLine returns the latest event and, where there is room, those before. Over many hosts
// a silence goes first for as long as it lasts.
func (s *scene) eventLine(c chart.Canvas) line {
	w, _ := c.Size()
	const gap = "   "
	w -= 2
	var groups []line
	if text := s.goingOn(); text != "" && s.many() {
		groups = append(groups, line{emphasis(theme.Bad, string(c.Theme().Glyphs.Alert)+" "+text)})
	}
	for i := len(s.events) - 1; i >= 0; i-- {
		l := s.eventParts(c, &s.events[i])
		if i == len(s.events)-1 {
			l = s.latest(c, l, &s.events[i], w-fit(groups, gap, w).width()-chart.Width(gap))
		}
		groups = append(groups, l)
	}
	return fit(groups, gap, w)
}

// latest adds to the newest event how long ago it was, and shortens its text to the
// room that is left, if that says anything.
func (s *scene) latest(c chart.Canvas, l line, e *stats.Event, room int) line {
	const least = 16
	age := muted(" (" + s.age(e) + ")")
	if left := room - l[:2].width() - chart.Width(age.text); left >= least {
		l[2].text = c.Fit(l[2].text, left)
	}
	return append(l, age)
}

// eventParts returns the mark, the time and the text of an event.
func (s *scene) eventParts(c chart.Canvas, e *stats.Event) line {
	color := colorOf(gravityOf(e.Kind))
	text := plain(cmp.Or(e.Text, string(e.Kind)))
	if gravityOf(e.Kind) == stats.Worst {
		text.style.FG = theme.Bad
	}
	return line{
		colored(color, string(c.Theme().Glyphs.Event)+" "),
		muted(theme.Clock(e.At) + " "),
		text,
	}
}
