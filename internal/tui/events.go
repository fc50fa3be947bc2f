package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
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
			add("of one partition", s.Environment.RowName(worst.ID)+": ", worst.Gap)
		}
	}
	if s.reads {
		add("longest read gap", "", s.Unread.Longest)
	}
	return out
}

// outageWidth holds the names of the outages.
const outageWidth = 16

// silenceShows is the silence that is worth a line: in a shorter one it may be that
// nothing was due.
const silenceShows = 2 * time.Second

// goingOn returns the silence of now in words; empty when there is none.
func (s *scene) goingOn() string {
	switch {
	case s.Stage == result.Finished:
		return ""
	case s.stalled() && s.Unanswered.Now.Length > 0:
		return "no acknowledgement for " + theme.Duration(s.oldestAge())
	case s.stalled():
		return "oldest record unanswered for " + theme.Duration(s.oldestAge())
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
		if i == len(s.events)-1 { // the newest says how long ago it was, and its text is cut to the room that is left, if that says anything
			const least = 16
			age := muted(" (" + s.age(&s.events[i]) + ")")
			if left := w - fit(groups, gap, w).width() - chart.Width(gap) - l[:2].width() - chart.Width(age.text); left >= least {
				l[2].text = c.Fit(l[2].text, left)
			}
			l = append(l, age)
		}
		groups = append(groups, l)
	}
	return fit(groups, gap, w)
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

// What the screen finds in the age of the oldest record. They are events of the screen
// alone: the files have the ages.
const (
	kindStalled stats.EventKind = "stalled"
	kindResumed stats.EventKind = "resumed"
)

// An age stands out when it is several times the usual p99, and the oldest record stalls
// when it stays the oldest: in a queue that only is long, another one takes its place.
const (
	ageShows     = 100 * time.Millisecond // shorter ones are a pause of some garbage collector
	agesUsual    = 3                      // times the p99
	stallShows   = 500 * time.Millisecond // shows within a second, looked at four times a second
	stallCertain = 2 * time.Second        // whatever is usual, and where nothing is: connections open at first
	sameRecord   = 100 * time.Millisecond // clocks of hosts and ends of windows differ by less
)

// stall follows the oldest record without an outcome. Times are from the start of the run.
type stall struct {
	on     bool
	age    time.Duration // of the oldest record, if it stands out; 0: none does
	began  time.Duration // when the oldest record was due
	oldest time.Duration // since when it has been the oldest
	looked time.Duration // at the last look
}

// observe takes in that at a time the oldest record had waited since another, and returns
// the event of a stall that has begun or ended. usual is the p99 of before, where it is
// known. A look that comes late is passed over.
func (s *stall) observe(since, at, usual time.Duration, known bool) (event stats.Event, happened bool) {
	if at < s.looked {
		return event, false
	}
	s.looked = at
	needed := stallCertain
	if known {
		needed = min(max(agesUsual*usual, stallShows), stallCertain)
	}
	before := s.age
	if s.age = at - since; s.age < max(ageShows, agesUsual*usual) {
		s.age = 0
	}
	switch {
	case s.age > 0 && before == 0:
		s.began, s.oldest = since, since
	case since-s.began > sameRecord:
		s.began, s.oldest = since, at
	}
	was := s.on
	s.on = s.age > 0 && at-s.oldest >= needed
	switch {
	case s.on && !was:
		return stats.Event{At: s.began, Kind: kindStalled, Broker: -1, To: -1, Text: "stall: a record has no answer"}, true
	case was && !s.on:
		return stats.Event{At: at, Kind: kindResumed, Broker: -1, To: -1, Text: "records are answered again"}, true
	}
	return event, false
}

// lookAtOldest takes in since when the oldest record has waited at a time; a record that
// is not due yet has not.
func (d *data) lookAtOldest(since, at time.Duration) {
	var p99s []time.Duration // of the last seconds with acknowledgements
	for i := len(d.Recent) - 1; i >= 0 && len(p99s) < recentTicks; i-- {
		if us := d.Recent[i].P99; us > 0 && us != result.Failed {
			p99s = append(p99s, us.Duration())
		}
	}
	if e, happened := d.stall.observe(min(since, at), at, upperMedian(p99s), len(p99s) > 0); happened {
		d.addEvents(e)
	}
}

// oldestAge is that of the oldest record without an outcome where it stands out; 0 where it
// does not, or is not known any more.
func (d *data) oldestAge() time.Duration {
	if d.Stage == result.Finished || d.silent >= patience {
		return 0
	}
	return d.stall.age
}

// stalled reports whether the oldest record has been the oldest for too long.
func (d *data) stalled() bool { return d.stall.on && d.oldestAge() > 0 }
