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
	// If undoing takes longer, the user hears about it.
	sayAfter = time.Second
	// An order reaches every reachable agent within this time.
	leaveTimeout = 2 * time.Second
)

// within sets the deadline for the hosts that the stage waits for, unless it is sooner already.
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

// loseLate gives up the hosts that the stage still waits for after its deadline.
func (s *session) loseLate() {
	for _, l := range s.links {
		switch now := time.Now(); {
		case !s.awaits(l):
		case l.isAway(now):
			s.lose(l, l.awayReason(now))
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

// undo undoes the preparation on all hosts. An agent without a coordinator undoes it by itself,
// so undo does not wait for unreachable agents. After the start was sent it does, because such
// an agent might make the load.
func (s *session) undo() {
	if s.hangUp == nil {
		return // nobody was asked
	}
	s.undoing, s.stopped, s.started = true, true, true // so that until returns no problem of a host
	s.tellAll(doCancel)
	undone := s.all(func(l *link) bool { // slower agents finish by themselves
		return !l.up && s.agreed.IsZero() || l.state < linkAccepted || l.ended
	})
	if !s.leaving {
		err := s.until(context.Background(), sayAfter, undone)
		if errors.Is(err, errTimeout) {
			s.c.Log("undoing the preparation on the hosts")
			_ = s.until(context.Background(), undoTimeout-sayAfter, undone) // an abort sets s.leaving
		}
	}
	if s.leaving {
		s.leave()
	}
}

// finish tells the agents to end the run, and reports whether it did. It does not if the plan
// deletes the topic and a host may still write to it. Then each agent ends the run by itself,
// and the topic stays.
func (s *session) finish() bool {
	if s.finishing {
		return true
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

// leave tells all agents to end the run at once, and returns the names of hosts that may not
// have got the order.
func (s *session) leave() (deaf []string) {
	s.stopped, s.leaving, s.started = true, true, true
	s.tellAll(doAbort)
	s.tellAll(doDrained)
	s.finish()
	_ = s.until(context.Background(), leaveTimeout, s.all(func(l *link) bool { // agents that take longer have the order
		return !l.canOrder() || l.state < linkAccepted || l.ended
	}))
	for _, l := range s.links {
		if !l.ended && len(l.parts) > 0 && !l.settled() && (!l.up || l.isAway(time.Now())) {
			deaf = append(deaf, l.peer.Name)
		}
	}
	return deaf
}

// aborted returns the error of a run that leave has ended. deaf are the hosts that leave
// returned.
func (s *session) aborted(deaf []string) error {
	but := ""
	if len(deaf) > 0 {
		but = ", but for " + strings.Join(deaf, ", ") + ", where the load may go on"
	}
	return fmt.Errorf("%w%s; their agents have the results: kt collect --run %s", errAborted, but, s.order.Run)
}
