package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Times of a session that ends before its load does.
const (
	undoTimeout = stopGrace + 2*abortGrace
	// The user is told what kt waits for when it takes so long.
	sayAfter = time.Second
	// An order takes that long to get anywhere that can be reached.
	leaveTimeout = 2 * time.Second
)

// within gives the hosts that the session waits for at most so long.
func (s *session) within(d time.Duration) {
	if at := time.Now().Add(d); s.deadline.IsZero() || at.Before(s.deadline) {
		s.deadline = at
	}
}

// awaits reports whether the stage still waits for a host: for its run files while
// collecting, for its processes before.
func (s *session) awaits(l *link) bool {
	switch {
	case l.lost != "" || l.ended:
		return false
	case s.stage == stageCollecting:
		return !l.written
	}
	return !l.settled()
}

func (s *session) unawaited(l *link) bool { return !s.awaits(l) }

// late gives up the hosts that the stage still waits for after its deadline.
func (s *session) late() {
	for _, l := range s.links {
		switch now := time.Now(); {
		case !s.awaits(l):
		case l.away(now):
			s.lose(l, l.unheard(now))
		case s.leaving:
			s.lose(l, fmt.Sprintf("it did not leave within %v", leaveGrace))
		case s.stage == stageCollecting:
			s.lose(l, fmt.Sprintf("it did not write its run files within %v", drainGrace))
		default:
			s.lose(l, fmt.Sprintf("its processes did not finish within %v of the end of the load", drainGrace))
		}
	}
	if s.leaving && s.giveUp != nil {
		s.giveUp()
	}
}

// undo undoes what was prepared: on every agent that can be told. The others do so by
// themselves, unless they have got the start: so they are waited for.
func (s *session) undo() {
	if s.hangUp == nil {
		return // nobody was asked
	}
	s.undoing, s.stopped, s.started = true, true, true // from here on nothing is an error
	s.tellAll(doCancel)
	undone := s.all(func(l *link) bool { // agents that take longer go on alone
		return !l.up && s.agreed.IsZero() || l.state < linkAccepted || l.ended
	})
	if !s.leaving {
		err := s.until(context.Background(), sayAfter, undone)
		if errors.Is(err, errTimeout) {
			s.c.Log("undoing what was prepared on the hosts")
			_ = s.until(context.Background(), undoTimeout-sayAfter, undone) // s.leaving tells when it was cut short
		}
	}
	if s.leaving {
		s.leave()
	}
}

// finish lets the agents end the run, and reports whether it did: not if one of them would
// delete a topic that a host may still write to. Then each ends it by itself, and the topic
// stays.
func (s *session) finish() bool {
	if s.finishing {
		return true // it was said
	}
	s.finishing = true
	t := &s.order.Plan.Topic
	for _, l := range s.links {
		if t.Delete && len(l.parts) > 0 && !l.settled() {
			s.c.Log(fmt.Sprintf("topic %s is not deleted: %s may still write to it", t.Name, l.peer.Name))
			return false
		}
	}
	maker := s.links[0]
	made := maker.parts[0].header == nil || maker.parts[0].header.Environment.Topic.Created
	if t.Delete && made && (maker.parts[0].state != partDone || maker.lost != "" || maker.ended) {
		s.c.Log(fmt.Sprintf("topic %s is not deleted: the process that made it is gone", t.Name))
	}
	s.tellAll(doFinish)
	return true
}

// leave tells all agents to end the run by themselves, and returns those that may not
// have heard of it.
func (s *session) leave() (deaf []string) {
	s.stopped, s.leaving, s.started = true, true, true
	s.tellAll(doAbort)
	s.tellAll(doDrained)
	s.finish()
	_ = s.until(context.Background(), leaveTimeout, s.all(func(l *link) bool { // who takes longer has heard it
		return !l.here() || l.state < linkAccepted || l.ended
	}))
	for _, l := range s.links {
		if !l.ended && len(l.parts) > 0 && !l.settled() && (!l.up || l.away(time.Now())) {
			deaf = append(deaf, l.peer.Name)
		}
	}
	return deaf
}

// aborted tells what became of a run that was left, but for hosts that could not be told.
func (s *session) aborted(deaf []string) error {
	but := ""
	if len(deaf) > 0 {
		but = ", but for " + strings.Join(deaf, ", ") + ", where the load goes on by itself"
	}
	return fmt.Errorf("%w%s; what they measured is with their agents: kt collect --run %s", errAborted, but, s.order.Run)
}
