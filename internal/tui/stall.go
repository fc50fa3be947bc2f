package tui

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

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

// usualP99 returns the median p99 of the last seconds with acknowledgements; ok is false
// before the first.
func (d *data) usualP99() (p99 time.Duration, ok bool) {
	var last []time.Duration
	for i := len(d.Recent) - 1; i >= 0 && len(last) < recentTicks; i-- {
		if us := d.Recent[i].P99; us > 0 && us != result.Failed {
			last = append(last, us.Duration())
		}
	}
	return upperMedian(last), len(last) > 0
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
	usual, known := d.usualP99()
	if e, happened := d.stall.observe(min(since, at), at, usual, known); happened {
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

// stallText returns what a stall is called; empty while there is none.
func (d *data) stallText() string {
	switch {
	case !d.stalled():
		return ""
	case d.Unanswered.Now.Length > 0:
		return "no acknowledgement for " + theme.Duration(d.oldestAge())
	}
	return "oldest record unanswered for " + theme.Duration(d.oldestAge())
}

// stallVerdict returns what a run is bound by that stalls: what was measured before tells
// nothing of now.
func (s *scene) stallVerdict() (v verdict.Verdict, stalled bool) {
	text := s.goingOn()
	if text == "" {
		return v, false
	}
	if s.stalled() {
		waiting := s.All.Offered - s.All.Acknowledged - s.All.Failed - s.All.Unknown
		text = fmt.Sprintf("%s, and %s records wait", text, theme.Rate(float64(waiting)))
	}
	return verdict.Verdict{Limit: verdict.Stalled, Evidence: text}, true
}
