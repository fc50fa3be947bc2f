package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// This file has what a session does about hosts that are away: those that cannot be
// reached, and those whose load goes on without an agent that knows of it.

// here reports whether the agent can be told what its processes are to do.
func (l *link) here() bool { return l.up && l.orphaned.IsZero() }

// silence returns the time since the last news of the host's load.
func (l *link) silence(now time.Time) time.Duration {
	if !l.orphaned.IsZero() {
		return now.Sub(l.orphaned)
	}
	return now.Sub(l.heard)
}

// goesOn reports whether the agent confirmed within awayAfter that orphaned processes still run.
func (l *link) goesOn(now time.Time) bool {
	return !l.orphaned.IsZero() && now.Sub(l.atWork) <= awayAfter
}

// away reports whether the host is silent for longer than awayAfter, or its load is orphaned.
func (l *link) away(now time.Time) bool {
	return !l.orphaned.IsZero() || l.silence(now) > awayAfter
}

// hear notes that a host is there.
func (s *session) hear(l *link) {
	l.heard = time.Now()
	if !l.orphaned.IsZero() {
		return // its agent is, and not its load
	}
	if l.silent && l.lost == "" {
		s.c.Log(l.peer.Name + " is back")
	}
	l.silent, l.until = false, time.Time{}
}

// renewed is what happened to a host whose agent does not know the run.
const renewed = "its agent was started anew"

// orphan takes a host whose agent was started anew, and whose processes go on: an agent does
// not take them with it when it is killed. The new one cannot tell them anything, so they
// are as those of a host that is away, until their files are at work no longer.
func (s *session) orphan(l *link) {
	l.atWork = time.Now()
	if !l.orphaned.IsZero() {
		return
	}
	l.orphaned, l.silent = l.atWork, true
	l.trouble = renewed + "; its load goes on by itself"
	s.c.Log(l.peer.Name + ": " + l.trouble)
}

// ask asks a host whose load goes on by itself whether it does.
func (s *session) ask(l *link, now time.Time) {
	if !l.up || l.ended || l.lost != "" || l.orphaned.IsZero() || now.Sub(l.asked) < pingEvery {
		return
	}
	l.asked = now
	l.tell(toAgent{Resume: &inRun{s.order.Epoch}})
}

// forgotten takes a host whose agent was started anew, and none of whose processes is left:
// how they ended is in their files.
func (s *session) forgotten(l *link, why string) {
	l.ended, l.trouble = true, ""
	for i := range l.parts {
		if p := &l.parts[i]; !p.settled() {
			p.state, p.text, p.unheard, p.stopped = partGone, renewed+", and its processes are gone", true, s.stopped
			l.trouble = p.text
		}
	}
	if len(l.parts) == 0 && !l.written {
		l.unwatched = "what was watched is not whole: its agent has forgotten the run: " + why
		l.trouble = l.unwatched
	}
	switch {
	case !l.orphaned.IsZero(): // nothing is known to be wrong with their files
		l.orphaned, l.until, l.silent, l.trouble, l.unsure = time.Time{}, time.Time{}, false, "", true
		s.c.Log(l.peer.Name + ": its load is over")
	case l.trouble != "":
		s.c.Log(l.peer.Name + ": " + l.trouble)
	}
}

// settle takes from its run file how a process ended of which no agent has told: one that
// is whole is that of a process that is done, unless its load was ended too soon, and not by
// the user.
func (s *session) settle(l *link, files []gotFile) {
	l.unsure = false
	for _, g := range files {
		if g.entry.Process < 1 || g.entry.Process > len(l.parts) {
			continue
		}
		p := &l.parts[g.entry.Process-1]
		if !p.unheard {
			continue
		}
		state := s.stateOf(g.name)
		if state == result.PartComplete || state == result.PartLate || state == result.PartStopped && p.stopped {
			p.state, p.done, p.unheard = partDone, &Ended{}, false
		}
	}
}

// stateOf returns what became of the part that a run file in the folder is of.
func (s *session) stateOf(name string) result.PartState {
	f, err := s.copies.root.Open(name)
	if err != nil {
		return result.PartLost // whoever merges it says why
	}
	defer func() { _ = f.Close() }() // it was only read from
	info, err := f.Stat()
	if err != nil {
		return result.PartLost
	}
	set := merge.NewSet()
	if err := set.Add(name, f, info.Size()); err != nil {
		return result.PartLost
	}
	return set.RunFiles()[0].State
}

// lose gives a host up.
func (s *session) lose(l *link, why string) {
	l.lost, l.until = why, time.Time{}
	s.c.Log(l.peer.Name + ": " + s.missing(l))
}

// missing is why a host was given up, and what to do about it.
func (s *session) missing(l *link) string {
	when := "is back"
	if !l.orphaned.IsZero() {
		when = "is done"
	}
	return fmt.Sprintf("%s; the rest of what it measured is with its agent: kt collect --run %s when it %s", l.lost, s.order.Run, when)
}

// unheard is why a host is given up that is away.
func (l *link) unheard(now time.Time) string {
	if !l.orphaned.IsZero() {
		return renewed + ", and its load goes on by itself"
	}
	return fmt.Sprintf("it was not heard for %v", l.silence(now).Round(time.Second))
}

// without gives up the hosts that the stage waits for and that are away.
func (s *session) without() {
	now := time.Now()
	for _, l := range s.links {
		if s.awaits(l) && l.away(now) {
			s.lose(l, l.unheard(now))
		}
	}
}

// look does what is due by time.
func (s *session) look() {
	now := time.Now()
	if !s.deadline.IsZero() && now.After(s.deadline) {
		s.late()
	}
	over := true
	for _, l := range s.links {
		s.quiet(l, now)
		if l.up && now.Sub(l.heard) > hangAfter {
			l.drop() // a new connection may get through
		}
		s.ask(l, now)
		known := l.here() || l.ended || !s.stopped && l.goesOn(now) // who cannot be stopped may go on for hours
		if known && l.lost == "" && !l.settled() {
			over = false
		}
	}
	if lasts := s.links[0].offer.Lasts; !s.stopped && lasts > 0 && s.elapsed() < lasts {
		over = false // who is away is making its load
	}
	switch {
	case !s.started || !over:
		s.overAt = time.Time{}
		for _, l := range s.links {
			l.until = time.Time{}
		}
	case s.overAt.IsZero():
		s.overAt = now
	default:
		for _, l := range s.links {
			s.waitFor(l, now)
		}
	}
	s.show(false)
}

// waitFor gives a host time to come back when nobody else is at work.
func (s *session) waitFor(l *link, now time.Time) {
	if l.here() || l.ended || l.lost != "" || l.written {
		return
	}
	left := comebackGrace - min(l.silence(now), now.Sub(s.overAt))
	if left < 0 {
		s.lose(l, l.unheard(now))
		return
	}
	if l.until.IsZero() {
		l.until = s.c.Now().Add(left)
		text := fmt.Sprintf("waiting for %s until %s", l.peer.Name, l.until.Format(time.TimeOnly))
		if slices.ContainsFunc(s.links, func(o *link) bool { return o != l && len(o.parts) > 0 && o.settled() }) {
			text += "; the other hosts have finished"
		}
		s.c.Log(text)
	}
}

// silentAfter is when the user is told that a host is away.
const silentAfter = 5 * time.Second

// quiet tells of a host that has fallen silent in the run.
func (s *session) quiet(l *link, now time.Time) {
	if l.silent || s.stage < stageRunning || s.undoing || l.ended || l.lost != "" || now.Sub(l.heard) < silentAfter {
		return
	}
	l.silent = true
	text := fmt.Sprintf("%s has not been heard for %v", l.peer.Name, silentAfter)
	if !l.settled() {
		text += "; its load goes on by itself"
	}
	s.c.Log(text)
}
