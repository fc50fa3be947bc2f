package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// Times of a run on an agent.
const (
	// A run without a start is undone lobbyGrace after its coordinator was heard last, and after
	// lobbyTimeout in any case.
	lobbyGrace   = 15 * time.Second
	lobbyTimeout = 10 * time.Minute
	// A finished run waits this long for its coordinator, which tries for 30 s.
	absentGrace = 60 * time.Second
	// The same for a watched host that does not know the length of the load.
	absentWatch = 10 * time.Minute
	// The longest times of a process to drain when the agent ends, to leave when told to, and to
	// delete the topic that it made.
	stopGrace   = 20 * time.Second
	abortGrace  = 5 * time.Second
	finishGrace = 30 * time.Second
	// The longest drain. The delivery timeout of a record is 120 s by default.
	drainWithin = 150 * time.Second
	// The slack beyond --max-duration, after which a load is stopped. An offer states its own
	// duration, which may be wrong.
	overtime = 10 * time.Second
	// The longest time from the start to a process's report that it has begun. A process that is
	// stopped before it begins makes no load.
	beginWithin = 2 * time.Second
)

// runState is the state of a run on its host. It is a value: next returns the state after an
// event, and what the agent has to do.
//
//	          open        start         At, begun      all settled     drained        finish
//	offered ──────► opening ──► starting ──────► running ──────► settled ──────► written ──────► ending ──► over
//	   │               │            │ cancel                        │ abort, or its coordinator     │
//	   └── cancel, stop, abort, ────┴────► undoing ── all gone ─►   │ or the agent is gone          └ all processes
//	       timeouts, quit                                  over     └──────► written                  are gone
//
// Stages only grow, so a load ends exactly once, and nothing starts after a stop.
type runState struct {
	Stage  stage
	Order  loadOrderKind // the strongest order to end the load
	Goal   goal          // what all hosts have reached together
	Parts  []process     // by their numbers - 1
	Born   time.Time
	Heard  time.Time // the last request about the run
	Start  time.Time // by the system's clock; zero: none is agreed
	Halted time.Time // of the first order that ends the load or says that it is over; zero: none
	Quit   bool      // the agent is ending

	Condition string // of --abort-on, which ended the load; "": none did
	Undone    string // why the run was undone, for the log
}

// process is the state of one process of a run.
type process struct {
	State  partState
	Live   bool      // it was started and has not exited
	Told   told      // orders so far
	KillAt time.Time // zero: no deadline
}

// loadOrderKind is an order to end the load; a greater one is stronger.
type loadOrderKind int

const (
	orderNone loadOrderKind = iota
	orderStop
	orderAbort
)

// goal is what all hosts of a run have reached together.
type goal int

const (
	goalLoad     goal = iota
	goalDrained       // the load is over on all hosts
	goalFinished      // all files are collected
)

// told is a set of orders to a process.
type told uint8

const (
	toldStart told = 1 << iota
	toldStop
	toldAbort
	toldFinish
	hungUp // its input is closed, and no order can follow
)

// terms are the limits of a run on this host.
type terms struct {
	Lasts time.Duration // of the load; 0: unknown
	Limit time.Duration // of the agent; 0: none
	Most  time.Duration // from the start to the end of the drain; 0: unknown
}

// happening is a kind of event.
type happening int

const (
	evTick  happening = iota // time has passed
	evHeard                  // the coordinator asked about the run
	evQuit                   // the agent ends
	evOpen
	evStart
	evStop
	evAbort
	evCancel
	evDrained
	evFinish
	evReady // of a process, like the rest
	evBegan
	evDraining
	evEnded
	evFailed
	evExited
)

// event is something that happens to a run on this host.
type event struct {
	Kind    happening
	Now     time.Time
	Process int       // of the events of a process
	Only    []int     // of evOpen: the processes; empty: all
	Start   time.Time // of evStart, by the system's clock
	Why     string    // of evStop: the condition that came true
}

// moves has the state that an event of a process leads to. Other events change nothing.
var moves = map[partState]map[happening]partState{
	partOpening:  {evReady: partReady, evEnded: partDone, evFailed: partFailed, evExited: partGone},
	partReady:    {evBegan: partRunning, evEnded: partDone, evFailed: partFailed, evExited: partGone},
	partRunning:  {evDraining: partDraining, evEnded: partDone, evFailed: partFailed, evExited: partGone},
	partDraining: {evEnded: partDone, evFailed: partFailed, evExited: partGone},
}

// doing is a kind of action.
type doing int

const (
	doSpawn doing = iota
	doTell
	doHangUp
	doKill
	doBeginWatch
	doCloseWatch
	doLog
	doRemove // the files of the run
	doEnd    // the run is over: free its memory
)

// action is something that the agent has to do.
type action struct {
	Do      doing
	Process int
	Order   told   // of doTell
	Text    string // of doLog; of doCloseWatch, how the load ended
}

// errNotPrepared refuses an order that prepares a run which has gone on since.
var errNotPrepared = errors.New("the run is not being prepared any more")

// newRunState returns the state of a run of some processes that was just accepted.
func newRunState(processes int, now time.Time) runState {
	s := runState{Stage: stageOffered, Born: now, Heard: now, Parts: make([]process, processes)}
	for i := range s.Parts {
		s.Parts[i].State = partWaiting
	}
	return s
}

// next returns the state after an event, and what to do. A refused event changes nothing.
func next(t terms, s runState, e event) (runState, []action, error) {
	m := change{runState: s, terms: t, now: e.Now}
	m.Parts = slices.Clone(s.Parts)
	if err := m.take(e); err != nil {
		return s, nil, err
	}
	m.killLate()
	for m.advance() {
	}
	return m.runState, m.actions, nil
}

// change is a runState while an event is handled.
type change struct {
	runState
	terms
	now     time.Time
	actions []action
}

func (m *change) take(e event) error {
	switch e.Kind {
	case evTick:
	case evHeard:
		m.Heard = m.now
	case evQuit:
		m.Quit = true
	case evOpen:
		return m.open(e.Only)
	case evStart:
		return m.begin(e.Start)
	case evStop, evAbort, evCancel:
		m.endLoad(e)
	case evDrained:
		m.reach(goalDrained)
	case evFinish:
		m.reach(goalFinished)
	case evReady, evBegan, evDraining, evEnded, evFailed, evExited:
		m.move(&m.Parts[e.Process-1], e.Kind)
	}
	return nil
}

func (m *change) do(a action) { m.actions = append(m.actions, a) }

// open starts processes.
func (m *change) open(only []int) error {
	if m.Stage > stageOpening || m.Quit {
		return errNotPrepared
	}
	m.Stage = stageOpening
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.State != partWaiting || len(only) > 0 && !slices.Contains(only, i+1) {
			continue
		}
		p.State, p.Live = partOpening, true
		m.do(action{Do: doSpawn, Process: i + 1})
	}
	return nil
}

// begin agrees on the start.
func (m *change) begin(at time.Time) error {
	if m.Stage != stageOpening || m.Quit {
		return errNotPrepared
	}
	for i := range m.Parts {
		if s := m.Parts[i].State; s != partReady {
			return fmt.Errorf("process %d is %s", i+1, s)
		}
	}
	if in := at.Sub(m.now); in < -lobbyGrace || in > lobbyTimeout {
		return fmt.Errorf("the start is %v away", in.Round(time.Millisecond))
	}
	m.Start, m.Stage = at, stageStarting
	for i := range m.Parts {
		m.tell(i, toldStart)
		if m.Most > 0 {
			m.due(i, at.Add(m.Most))
		}
	}
	m.do(action{Do: doBeginWatch})
	return nil
}

// endLoad notes an order to end the load:
//   - before a start is agreed, every such order undoes the run;
//   - after that a stop or an abort waits for the start, and a cancel still undoes the run. The
//     coordinator gives the former when a cancel may not reach all hosts in time, so all hosts
//     begin and then end;
//   - after the start a cancel ends the run.
func (m *change) endLoad(e event) {
	m.Condition = cmp.Or(m.Condition, e.Why)
	m.halt()
	begun := m.Stage >= stageRunning || m.Stage == stageStarting && !m.now.Before(m.Start)
	order := orderStop
	if e.Kind == evAbort {
		order = orderAbort
	}
	m.Order = max(m.Order, order)
	switch {
	case m.Stage < stageStarting || e.Kind == evCancel && !begun:
		m.undo("")
	case e.Kind == evCancel:
		m.Goal = goalFinished
	}
}

func (m *change) reach(g goal) {
	m.Goal = max(m.Goal, g)
	m.halt()
}

func (m *change) halt() {
	if m.Halted.IsZero() {
		m.Halted = m.now
	}
}

func (m *change) undo(why string) {
	if m.Stage < stageUndoing {
		m.Stage, m.Undone = stageUndoing, why
	}
}

// move takes over an event of a process.
func (m *change) move(p *process, kind happening) {
	if kind == evExited {
		p.Live = false
	}
	to, ok := moves[p.State][kind]
	if !ok || kind == evBegan && m.Start.IsZero() {
		return
	}
	p.State = to
	if kind == evEnded && m.Stage != stageUndoing {
		p.KillAt = time.Time{} // it has ended in time, and may have to wait for other hosts
	}
}

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
		m.tellAll(toldStop, stopGrace)
		if m.Order == orderAbort {
			m.tellAll(toldAbort, abortGrace)
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
	if m.Order == orderAbort {
		m.tellAll(toldAbort, abortGrace)
	}
	left := m.Quit || m.absent()
	switch m.Stage {
	case stageRunning:
		if m.Order >= orderStop {
			m.tellAll(toldStop, drainWithin)
		}
		if m.Quit {
			m.tellAll(toldStop, stopGrace)
			m.dueAll(stopGrace) // an earlier stop order allowed more time, to drain
		}
		if m.settled() {
			m.Stage = stageSettled
		}
	case stageSettled:
		if m.Goal >= goalDrained || m.Order == orderAbort || left {
			m.Stage = stageWritten
			m.do(action{Do: doCloseWatch, Text: m.howEnded()})
		}
	case stageWritten:
		switch {
		case m.Goal == goalFinished:
			m.Stage = stageEnding
			m.tellAll(toldFinish, finishGrace)
		case left:
			// A finish deletes the topic, and other hosts may still write to it. So the agent only
			// closes the input of the processes. They then end by themselves.
			m.Stage = stageEnding
			m.tellAll(hungUp, finishGrace)
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
	if m.Limit <= 0 || m.now.Sub(m.Start) <= m.Limit+overtime || m.Order != orderNone || m.Stage > stageSettled || m.settled() && !watched {
		return
	}
	m.Order = orderStop
	m.halt()
	if watched {
		m.reach(goalDrained)
	}
	m.do(action{Do: doLog, Text: fmt.Sprintf("stopped, for it is longer than --max-duration %v", m.Limit)})
}

func (m *change) howEnded() string {
	if m.Order != orderNone || m.Quit {
		return result.Interrupted
	}
	return result.Completed
}

// tellAll gives an order to each live process that has not got it. A process that outlives the
// grace is killed.
func (m *change) tellAll(order told, grace time.Duration) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Live && p.Told&(order|hungUp) == 0 {
			m.due(i, m.now.Add(grace))
			m.tell(i, order)
		}
	}
}

func (m *change) tell(i int, order told) {
	p := &m.Parts[i]
	p.Told |= order
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
