package tui

import (
	"cmp"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// timeline is what has happened, and for how long nothing did.
type timeline struct {
	events    []stats.Event // the latest
	acks      silence       // of the brokers
	reads     silence       // of the readers
	partition int32         // with the longest outage
	worst     stats.Gap     // its
}

// maxEvents bounds the events kept: more than anyone reads.
const maxEvents = 1000

// add takes in the events of a window, and the outages that it tells of.
func (t *timeline) add(w *stats.Window) {
	t.acks.note(w.Outage)
	for _, id := range w.PartitionIDs() {
		if gap := w.Partitions[id].Outage; gap.Length > t.worst.Length {
			t.partition, t.worst = id, gap
		}
	}
	t.tell(w.Events...)
}

// tell adds events.
func (t *timeline) tell(events ...stats.Event) {
	t.events = append(t.events, events...)
	// Who saw an event may have told of it a second later than another did.
	slices.SortStableFunc(t.events, func(a, b stats.Event) int { return cmp.Compare(a.At, b.At) })
	if n := len(t.events) - maxEvents; n > 0 {
		t.events = slices.Delete(t.events, 0, n)
	}
}

// listen takes in whether anything was heard in a window, after d has counted it.
func (t *timeline) listen(w *stats.Window, d *data) {
	t.acks.add(w, d.outstanding > 0 && w.Acknowledged == 0)
	t.reads.add(w, d.waiting.level() > 0 && w.Consumed == 0 && w.ReadTime > 0 && w.ReadHeld == 0)
	t.reads.note(t.reads.now)
}

// silence is a time in which something was waited for and nothing came.
type silence struct {
	now     stats.Gap // that goes on, to the second
	longest stats.Gap // of those noted
}

// add takes in whether a window was silent.
func (s *silence) add(w *stats.Window, silent bool) {
	if !silent {
		s.now = stats.Gap{}
		return
	}
	if s.now.Length == 0 {
		s.now.From = w.Start
	}
	s.now.Length = w.End - s.now.From
}

// note takes in how long a silence was, or is so far.
func (s *silence) note(g stats.Gap) {
	if g.Length > s.longest.Length {
		s.longest = g
	}
}

// silenceShows is the silence that is worth a line: in a shorter one it may be that
// nothing was due.
const silenceShows = 2 * time.Second

// goingOn is the silence of now in words; empty when there is none.
func (s *scene) goingOn() string {
	t := &s.timeline
	switch {
	case s.state == Done:
		return ""
	case s.stalled():
		return s.stallText()
	case t.acks.now.Length >= silenceShows: // records fail, and none is old
		return "no acknowledgement for " + seconds(t.acks.now.Length)
	case t.reads.now.Length >= silenceShows && !s.joining():
		return "nothing read for " + seconds(t.reads.now.Length) + ", and " + theme.Rate(s.waiting.level()) + " wait"
	}
	return ""
}

// eventful tells that there is something to say beside the figures.
func (s *scene) eventful() bool {
	t := &s.timeline
	return len(t.events) > 0 || t.acks.longest.Length >= silenceShows || s.goingOn() != ""
}

// badness is how bad an event is, the worst last.
type badness int

const (
	notBad badness = iota // the user's own doing
	better
	worse
	worst
)

func (b badness) color() theme.Color {
	return [...]theme.Color{theme.Brand, theme.Good, theme.Warn, theme.Bad}[b]
}

func badnessOf(k stats.EventKind) badness {
	switch k {
	case stats.Exec, stats.ExecEnded:
		return notBad
	case stats.BrokerBack, stats.ISRGrew, stats.InSync, stats.FirstSuccess, kindBack, kindResumed:
		return better
	case stats.BrokerGone, stats.LeaderLost, stats.FirstError, kindLost, kindStalled:
		return worst
	case stats.LeaderMoved, stats.ISRShrank, stats.CatchingUp, stats.ControllerMoved, stats.Rebalance, kindAway:
		return worse
	}
	return worse
}

// marks are the moments to show on a time axis, what must not be hidden last:
// throttled seconds, failed ones, and the events, the worst last. How a catch-up
// goes is no moment: it would mark one every few seconds.
func (s *scene) marks(x chart.TimeAxis) []chart.Event {
	var throttled, failed, events []chart.Event
	for _, p := range since(s.points, x.From) {
		at := (p.start + p.end).Seconds() / 2
		switch {
		case p.failed:
			failed = append(failed, chart.Event{At: at, Style: theme.Style{FG: theme.Bad}})
		case p.throttled:
			throttled = append(throttled, chart.Event{At: at, Style: theme.Style{FG: theme.Warn}})
		}
	}
	for bad := notBad; bad <= worst; bad++ {
		for i := range s.timeline.events {
			if e := &s.timeline.events[i]; badnessOf(e.Kind) == bad && e.Kind != stats.CatchingUp {
				events = append(events, chart.Event{At: e.At.Seconds(), Style: theme.Style{FG: bad.color()}})
			}
		}
	}
	return slices.Concat(throttled, failed, events)
}

// drawEventLine is the latest event and, where there is room, those before. A
// silence goes first for as long as it lasts.
func drawEventLine(c chart.Canvas, s *scene) {
	s.eventLine(c).draw(c, 1, 0)
}

func (s *scene) eventLine(c chart.Canvas) line {
	w, _ := c.Size()
	const gap = "   "
	w -= 2
	alert := string(c.Theme().Glyphs.Alert) + " "
	var groups []line
	if text := s.goingOn(); text != "" {
		groups = append(groups, line{emphasis(theme.Bad, alert+text)})
	}
	events := s.timeline.events
	if len(events) == 0 {
		if longest := s.timeline.acks.longest; longest.Length >= silenceShows && len(groups) == 0 {
			groups = append(groups, line{muted("longest time without an acknowledgement: " + gapText(longest))})
		}
		return fit(groups, gap, w)
	}
	for i := len(events) - 1; i >= 0; i-- {
		l := s.eventParts(c, &events[i])
		if i == len(events)-1 {
			l = s.latest(c, l, &events[i], w-fit(groups, gap, w).width()-chart.Width(gap))
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

// eventParts are the mark, the time and the text of an event.
func (s *scene) eventParts(c chart.Canvas, e *stats.Event) line {
	color := badnessOf(e.Kind).color()
	text := plain(cmp.Or(e.Text, string(e.Kind)))
	if badnessOf(e.Kind) == worst {
		text.style.FG = theme.Bad
	}
	return line{
		colored(color, string(c.Theme().Glyphs.Event)+" "),
		muted(theme.Clock(e.At) + " "),
		text,
	}
}

// gapText is how long and from when.
func gapText(g stats.Gap) string { return theme.Duration(g.Length) + " from " + theme.Clock(g.From) }
