package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// This file is about hosts that are away: unreachable ones, and those whose processes go on
// although their agent was started anew and does not know them (orphans).

// canOrder reports whether the agent can give orders to the processes of its host.
func (l *link) canOrder() bool { return l.up && l.orphaned.IsZero() }

// silence returns the time since the last news of the host's load.
func (l *link) silence(now time.Time) time.Duration {
	if !l.orphaned.IsZero() {
		return now.Sub(l.orphaned)
	}
	return now.Sub(l.heard)
}

// isAtWork reports whether the agent confirmed within awayAfter that orphans still run.
func (l *link) isAtWork(now time.Time) bool {
	return !l.orphaned.IsZero() && now.Sub(l.atWork) <= awayAfter
}

// isAway reports whether the host is silent for longer than awayAfter, or its load is orphaned.
func (l *link) isAway(now time.Time) bool {
	return !l.orphaned.IsZero() || l.silence(now) > awayAfter
}

// hear notes a sign of life of an agent.
func (s *session) hear(l *link) {
	l.heard = time.Now()
	if !l.orphaned.IsZero() {
		return // the agent is there, but the host counts as away while its load is orphaned
	}
	if l.silent && l.lost == "" {
		s.c.Log(l.peer.Name + " is back")
	}
	l.silent, l.until = false, time.Time{}
}

// renewed is the reason why an agent does not know the run.
const renewed = "its agent was started anew"

// orphan marks a host whose agent was killed and started anew while its processes go on. The
// new agent cannot give them orders. So the host counts as away until no process writes to
// its run file any more.
func (s *session) orphan(l *link) {
	l.atWork = time.Now()
	if !l.orphaned.IsZero() {
		return
	}
	l.orphaned, l.silent = l.atWork, true
	l.trouble = renewed + "; its load may go on"
	s.c.Log(l.peer.Name + ": " + l.trouble)
}

// askOrphaned asks the agent of a host with orphans whether they still run.
func (s *session) askOrphaned(l *link, now time.Time) {
	if !l.up || l.ended || l.lost != "" || l.orphaned.IsZero() || now.Sub(l.asked) < pingEvery {
		return
	}
	l.asked = now
	l.tell(toAgent{Resume: &inRun{s.order.Epoch}})
}

// forgotten marks a host whose agent was started anew, and whose processes have all ended.
// Their run files tell how.
func (s *session) forgotten(l *link, why string) {
	l.ended, l.trouble = true, ""
	for i := range l.parts {
		if p := &l.parts[i]; !p.settled() {
			p.state, p.text, p.unheard, p.stopped = partGone, renewed+", and its processes are gone", true, s.stopped
			l.trouble = p.text
		}
	}
	if len(l.parts) == 0 && !l.written {
		l.unwatched = "watching is incomplete: its agent has no data of the run any more: " + why
		l.trouble = l.unwatched
	}
	switch {
	case !l.orphaned.IsZero(): // their run files may well be complete
		l.orphaned, l.until, l.silent, l.trouble, l.unsure = time.Time{}, time.Time{}, false, "", true
		s.c.Log(l.peer.Name + ": its load is over")
	case l.trouble != "":
		s.c.Log(l.peer.Name + ": " + l.trouble)
	}
}

// settle reads from the run files how processes ended that no agent reported about. A process
// is done if its run file is complete. A file that was stopped too soon counts as complete
// only if the user had stopped the load.
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

// stateOf returns the state of the part in a fetched run file.
func (s *session) stateOf(name string) result.PartState {
	f, err := s.copies.root.Open(name)
	if err != nil {
		return result.PartLost // merging it reports why
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

// lose gives a host up and reports it.
func (s *session) lose(l *link, why string) {
	l.lost, l.until = why, time.Time{}
	s.c.Log(l.peer.Name + ": " + s.missing(l))
}

// missing returns the reason why a host was given up, and what to do about it.
func (s *session) missing(l *link) string {
	when := "is back"
	if !l.orphaned.IsZero() {
		when = "is done"
	}
	return fmt.Sprintf("%s; its agent has the rest: kt collect --run %s when it %s", l.lost, s.order.Run, when)
}

// awayReason returns the reason for giving up a host that is away.
func (l *link) awayReason(now time.Time) string {
	if !l.orphaned.IsZero() {
		return renewed + ", and its load may go on"
	}
	return fmt.Sprintf("it was not heard for %v", l.silence(now).Round(time.Second))
}

// loseAway gives up the hosts that the stage waits for and that are away.
func (s *session) loseAway() {
	now := time.Now()
	for _, l := range s.links {
		if s.awaits(l) && l.isAway(now) {
			s.lose(l, l.awayReason(now))
		}
	}
}

// tick does everything that depends on the time: deadlines, hosts that fall silent or come
// back, and the observer.
func (s *session) tick() {
	now := time.Now()
	if !s.deadline.IsZero() && now.After(s.deadline) {
		s.loseLate()
	}
	over := true
	for _, l := range s.links {
		s.reportSilence(l, now)
		if l.up && now.Sub(l.heard) > hangAfter {
			l.drop() // a new connection may get through
		}
		s.askOrphaned(l, now)
		known := l.canOrder() || l.ended || !s.stopped && l.isAtWork(now) // orphans cannot be stopped, so a stopped run does not wait for them
		if known && l.lost == "" && !l.settled() {
			over = false
		}
	}
	if lasts := s.links[0].offer.Lasts; !s.stopped && lasts > 0 && s.elapsed() < lasts {
		over = false // hosts that are away are still making their load
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

// waitFor waits up to comebackGrace for a host that is away, once no other host is at work.
func (s *session) waitFor(l *link, now time.Time) {
	if l.canOrder() || l.ended || l.lost != "" || l.written {
		return
	}
	left := comebackGrace - min(l.silence(now), now.Sub(s.overAt))
	if left < 0 {
		s.lose(l, l.awayReason(now))
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

// silentAfter is the silence after which the user hears that a host is away.
const silentAfter = 5 * time.Second

// reportSilence reports, once, a host that has fallen silent during the run.
func (s *session) reportSilence(l *link, now time.Time) {
	if l.silent || s.stage < stageRunning || s.undoing || l.ended || l.lost != "" || now.Sub(l.heard) < silentAfter {
		return
	}
	l.silent = true
	text := fmt.Sprintf("%s has not been heard for %v", l.peer.Name, silentAfter)
	if !l.settled() {
		text += "; its load may go on"
	}
	s.c.Log(text)
}
