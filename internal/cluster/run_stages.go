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
	switch m.Stage {
	case stageOffered, stageOpening:
		m.inLobby()
	case stageStarting:
		switch {
		case m.Quit && m.now.Before(m.Start):
			m.undo(": the agent ends")
		case m.begun():
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
			m.do(action{Do: doCloseWatch, Text: result.Interrupted})
			m.do(action{Do: doRemove})
			m.over()
		}
	case stageNone, stageOver:
	}
	return m.Stage != before
}

func (m *change) over() {
	m.Stage = stageOver
	m.do(action{Do: doEnd})
}

func (m *change) inLobby() {
	switch {
	case m.now.Sub(m.Heard) > lobbyGrace:
		m.undo(": the coordinator was gone before the start")
	case m.now.Sub(m.Born) > lobbyTimeout:
		m.undo(fmt.Sprintf(": it was not started within %v", lobbyTimeout))
	case m.Quit:
		m.undo(": the agent ends")
	}
}

// begun reports whether all processes have begun, or beginWithin has passed since the start.
func (m *change) begun() bool {
	for i := range m.Parts {
		if m.Parts[i].State == partReady && m.now.Before(m.Start.Add(beginWithin)) {
			return false
		}
	}
	return !m.now.Before(m.Start)
}

// inRun handles the stages after the start.
func (m *change) inRun() {
	m.keepLimit()
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
			m.dueAll(stopGrace) // an earlier stop order allowed more time, to drain
		}
		if m.settled() {
			m.Stage = stageSettled
		}
	case stageSettled:
		if m.Asked.Drained || m.Asked.Finish || m.Asked.Abort || left {
			m.Stage = stageWritten
			m.do(action{Do: doCloseWatch, Text: m.howEnded()})
		}
	case stageWritten:
		switch {
		case m.Asked.Finish:
			m.Stage = stageEnding
			m.orderAll(orderFinish, finishGrace)
		case left:
			// A finish deletes the topic, and other hosts may still write to it. So the agent only
			// closes the input of the processes. They then end by themselves.
			m.Stage = stageEnding
			m.orderAll(hungUp, finishGrace)
		}
	case stageEnding:
		if m.gone() {
			m.over()
		}
	case stageNone, stageOffered, stageOpening, stageStarting, stageUndoing, stageOver:
	}
}

// keepLimit stops a load that is longer than the agent's limit.
func (m *change) keepLimit() {
	watched := len(m.Parts) == 0
	if m.Limit <= 0 || m.now.Sub(m.Start) <= m.Limit+overtime || m.Asked.stops() || m.Stage > stageSettled || m.settled() && !watched {
		return
	}
	m.end(order{Stop: true, Drained: watched})
	m.do(action{Do: doLog, Text: fmt.Sprintf("stopped, for it is longer than --max-duration %v", m.Limit)})
}

func (m *change) howEnded() string {
	if m.Asked.stops() || m.Quit {
		return result.Interrupted
	}
	return result.Completed
}

// orderAll gives an order to each live process that has not got it. A process that outlives the
// grace is killed.
func (m *change) orderAll(order orders, grace time.Duration) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Live && p.Orders&(order|hungUp) == 0 {
			m.due(i, m.now.Add(grace))
			m.order(i, order)
		}
	}
}

func (m *change) order(i int, order orders) {
	p := &m.Parts[i]
	p.Orders |= order
	if order == hungUp {
		m.do(action{Do: doHangUp, Process: i + 1})
		return
	}
	m.do(action{Do: doTell, Process: i + 1, Order: order})
}

// due sets the time at which a process is killed, unless it is sooner already.
func (m *change) due(i int, at time.Time) {
	if p := &m.Parts[i]; p.KillAt.IsZero() || at.Before(p.KillAt) {
		p.KillAt = at
	}
}

func (m *change) dueAll(grace time.Duration) {
	for i := range m.Parts {
		if !m.Parts[i].State.settled() {
			m.due(i, m.now.Add(grace))
		}
	}
}

// killLate kills the processes past their time, and tries again after abortGrace.
func (m *change) killLate() {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Live && !p.KillAt.IsZero() && m.now.After(p.KillAt) {
			p.KillAt = m.now.Add(abortGrace)
			m.do(action{Do: doKill, Process: i + 1})
		}
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

// absent reports whether the coordinator has been away so long that a run with no process at work
// ends without it.
func (m *change) absent() bool {
	away := m.now.Sub(m.Heard)
	if m.Halted.IsZero() && m.Lasts == 0 && len(m.Parts) == 0 {
		return away > absentWatch
	}
	return away > absentGrace && m.now.Sub(m.loadEnd()) > absentGrace
}

// busy reports whether the host is at work on the run: not when it is over, or only waits for its
// coordinator to come back.
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
