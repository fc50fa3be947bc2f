package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// advance moves the run on by one stage at most, and reports whether it did.
func (m *change) advance() bool {
	before := m.Stage
	switch before {
	case stageOffered, stageOpening:
		switch {
		case m.now.Sub(m.Heard) > prepareGrace:
			m.undo(": the coordinator was gone before the start")
		case m.now.Sub(m.Born) > prepareTimeout:
			m.undo(fmt.Sprintf(": it was not started within %v", prepareTimeout))
		case m.Quit:
			m.undo(": the agent ends")
		}
	case stageStarting:
		silent := slices.ContainsFunc(m.Parts, func(p process) bool { return p.State == partReady })
		switch due := !m.now.Before(m.Start); {
		case m.Quit && !due:
			m.undo(": the agent ends")
		case due && (!silent || !m.now.Before(m.Start.Add(beginWithin))):
			m.Stage = stageRunning
		}
	case stageRunning, stageSettled, stageWritten, stageEnding:
		m.inRun()
	case stageUndoing:
		m.orderAll(orderStop, stopGrace)
		if m.Asked.Abort {
			m.orderAll(orderAbort, abortGrace)
		}
		if m.gone() {
			m.Stage = stageOver
			m.do(action{Do: doCloseWatch, Text: result.Interrupted})
			m.do(action{Do: doRemove})
			m.do(action{Do: doEnd})
		}
	}
	return m.Stage != before
}

// inRun handles the stages after the start.
func (m *change) inRun() {
	watched := len(m.Parts) == 0
	if late := m.Limit > 0 && m.now.Sub(m.Start) > m.Limit+overtime; late && !m.Asked.stops() && m.Stage <= stageSettled && (watched || !m.settled()) {
		m.end(order{Stop: true, Drained: watched})
		m.do(action{Do: doLog, Text: fmt.Sprintf("stopped, for it is longer than --max-duration %v", m.Limit)})
	}
	if m.Asked.Abort {
		m.orderAll(orderAbort, abortGrace)
	}
	left := m.Quit || m.absent()
	switch m.Stage {
	case stageRunning:
		if m.Asked.stops() {
			m.orderAll(orderStop, drainWithin)
		}
		if m.Quit {
			m.orderAll(orderStop, stopGrace)
			for i := range m.Parts { // an earlier stop order allowed more time, to drain
				if !m.Parts[i].State.settled() {
					m.due(i, m.now.Add(stopGrace))
				}
			}
		}
		if m.settled() {
			m.Stage = stageSettled
		}
	case stageSettled:
		if m.Asked.Drained || m.Asked.Finish || m.Asked.Abort || left {
			m.Stage = stageWritten
			ended := result.Completed
			if m.Asked.stops() || m.Quit {
				ended = result.Interrupted
			}
			m.do(action{Do: doCloseWatch, Text: ended})
		}
	case stageWritten:
		switch {
		case m.Asked.Finish:
			m.Stage = stageEnding
			m.orderAll(orderFinish, finishGrace)
		case left: // a finish deletes the topic, to which other hosts may still write
			m.Stage = stageEnding
			m.orderAll(hungUp, finishGrace)
		}
	case stageEnding:
		if m.gone() {
			m.Stage = stageOver
			m.do(action{Do: doEnd})
		}
	}
}

// orderAll gives an order to each live process that has not got it, and kills those that outlive the grace.
func (m *change) orderAll(order orders, grace time.Duration) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Live && p.Orders&(order|hungUp) == 0 {
			m.due(i, m.now.Add(grace))
			m.order(i, order)
		}
	}
}

func (m *change) order(i int, order orders) {
	m.Parts[i].Orders |= order
	m.do(action{Do: doOrder, Process: i + 1, Order: order})
}

// due sets the time at which a process is killed, unless it is sooner already.
func (m *change) due(i int, at time.Time) {
	if p := &m.Parts[i]; p.KillAt.IsZero() || at.Before(p.KillAt) {
		p.KillAt = at
	}
}

// settled reports whether all processes have ended their load.
func (s *runState) settled() bool {
	return !slices.ContainsFunc(s.Parts, func(p process) bool { return !p.State.settled() })
}

// gone reports whether no process is left.
func (s *runState) gone() bool {
	return !slices.ContainsFunc(s.Parts, func(p process) bool { return p.Live })
}

// loadEnd returns the end of the load on all hosts: of the order to end it, or else as planned.
func (m *change) loadEnd() time.Time {
	if !m.Halted.IsZero() {
		return m.Halted
	}
	return m.Start.Add(m.Lasts)
}

// absent reports whether the coordinator has been away so long that a run with no process at work ends without it.
func (m *change) absent() bool {
	away := m.now.Sub(m.Heard)
	if m.Halted.IsZero() && m.Lasts == 0 && len(m.Parts) == 0 {
		return away > absentWatch
	}
	return away > absentGrace && m.now.Sub(m.loadEnd()) > absentGrace
}

// busy reports whether the host is at work on the run, and does not only wait for its coordinator to come back.
func (s runState) busy(t terms, now time.Time) bool {
	switch {
	case s.Stage == stageOver:
		return false
	case s.Start.IsZero() || !s.settled() || now.Sub(s.Heard) <= awayAfter:
		return true
	}
	m := change{runState: s, terms: t, now: now}
	return len(s.Parts) == 0 && !now.After(m.loadEnd()) // a host that is only watched goes by the stated length
}
