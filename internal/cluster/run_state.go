package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Times of a run on an agent.
const (
	prepareGrace   = 15 * time.Second  // a run without a start is undone so long after its coordinator was heard
	prepareTimeout = 10 * time.Minute  // and so long after its offer in any case
	absentGrace    = 60 * time.Second  // a finished run waits this long for its coordinator, which tries for 30 s
	absentWatch    = 10 * time.Minute  // the same for a watched host that does not know the length of the load
	stopGrace      = 20 * time.Second  // for a process to drain when the agent ends
	abortGrace     = 5 * time.Second   // to abort
	finishGrace    = 30 * time.Second  // and to delete the topic that it made
	drainWithin    = 150 * time.Second // the longest drain; the delivery timeout of a record is 120 s by default
	overtime       = 10 * time.Second  // beyond --max-duration, after which a load is stopped whatever its offer states
	beginWithin    = 2 * time.Second   // the longest time from the start to a process's report that it has begun
)

// runState is the state of a run on its host, as ARCHITECTURE.md draws it. It is a value: next returns the state after an event, and
// what the agent has to do. Stages only grow, so a load ends exactly once, and nothing starts after a stop.
type runState struct {
	Stage  stage
	Asked  order     // the orders so far that end the load, or say that it is over
	Parts  []process // by their numbers - 1
	Born   time.Time
	Heard  time.Time // the last request about the run
	Start  time.Time // by the system's clock; zero: none is agreed
	Halted time.Time // of the first order that ends the load or says that it is over; zero: none
	Quit   bool      // the agent is ending

	Undone string // why the run was undone, for the log
}

// process is the state of one process of a run.
type process struct {
	partStatus // as the coordinator gets it

	Live   bool      // it was started and has not exited
	Orders orders    // orders so far
	KillAt time.Time // zero: no deadline
}

// orders is a set of orders to a process.
type orders uint8

const (
	orderStart orders = 1 << iota
	orderStop
	orderAbort
	orderFinish
	hungUp // its input is closed, and no order can follow
)

// terms are the limits of a run on this host.
type terms struct {
	Lasts time.Duration // of the load; 0: unknown
	Limit time.Duration // of the agent; 0: none
	Most  time.Duration // from the start to the end of the drain; 0: unknown
}

// eventKind is a kind of event.
type eventKind int

const (
	evTick  eventKind = iota // time has passed
	evHeard                  // the coordinator asked about the run
	evQuit                   // the agent ends
	evOpen
	evStart
	evEnd   // an order that ends the load, or says that it is over
	evReady // of a process, like the rest
	evBegan
	evDraining
	evEnded
	evFailed
	evExited
)

// event is something that happens to a run on this host.
type event struct {
	Kind    eventKind
	Now     time.Time
	Process int        // of the events of a process
	Report  partStatus // of the events of a process: what they add to its status
	Open    int        // of evOpen: the number of processes, from the first; 0: all
	Start   time.Time  // of evStart, by the system's clock
	Order   order      // of evEnd
}

// moves has the state that an event of a process leads to. Other events change nothing.
var moves = map[partState]map[eventKind]partState{
	partOpening:  {evReady: partReady, evEnded: partDone, evFailed: partFailed, evExited: partGone},
	partReady:    {evBegan: partRunning, evEnded: partDone, evFailed: partFailed, evExited: partGone},
	partRunning:  {evDraining: partDraining, evEnded: partDone, evFailed: partFailed, evExited: partGone},
	partDraining: {evEnded: partDone, evFailed: partFailed, evExited: partGone},
}

// actionKind is a kind of action.
type actionKind int

const (
	doSpawn actionKind = iota
	doOrder            // to a process
	doKill
	doBeginWatch
	doCloseWatch
	doLog
	doRemove // the files of the run
	doEnd    // the run is over: free its memory
)

// action is something that the agent has to do.
type action struct {
	Do      actionKind
	Process int
	Order   orders // of doOrder
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
	if err := m.handle(e); err != nil {
		return s, nil, err
	}
	for i := range m.Parts { // those past their time are killed, again and again
		if p := &m.Parts[i]; p.Live && !p.KillAt.IsZero() && m.now.After(p.KillAt) {
			p.KillAt = m.now.Add(abortGrace)
			m.do(action{Do: doKill, Process: i + 1})
		}
	}
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

func (m *change) handle(e event) error {
	switch e.Kind {
	case evHeard:
		m.Heard = m.now
	case evQuit:
		m.Quit = true
	case evOpen:
		return m.open(e.Open)
	case evStart:
		return m.begin(e.Start)
	case evEnd:
		m.end(e.Order)
	case evReady, evBegan, evDraining, evEnded, evFailed, evExited:
		m.move(&m.Parts[e.Process-1], e)
	}
	return nil
}

func (m *change) do(a action) { m.actions = append(m.actions, a) }

// open starts the first processes, or all.
func (m *change) open(n int) error {
	if m.Stage > stageOpening || m.Quit {
		return errNotPrepared
	}
	m.Stage = stageOpening
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.State != partWaiting || n > 0 && i >= n {
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
	if in := at.Sub(m.now); in < -prepareGrace || in > prepareTimeout {
		return fmt.Errorf("the start is %v away", in.Round(time.Millisecond))
	}
	m.Start, m.Stage = at, stageStarting
	for i := range m.Parts {
		m.order(i, orderStart)
		if m.Most > 0 {
			m.due(i, at.Add(m.Most))
		}
	}
	m.do(action{Do: doBeginWatch})
	return nil
}

// end notes an order that ends the load, or says that it is over:
//   - before a start is agreed, every order to end the load undoes the run;
//   - after that a stop or an abort waits for the start, so that all hosts begin and then end, and a cancel undoes the run;
//   - after the start a cancel ends the run.
func (m *change) end(o order) {
	begun := m.Stage >= stageRunning || m.Stage == stageStarting && !m.now.Before(m.Start)
	o.Open, o.Start = 0, nil
	m.Asked = m.Asked.and(o)
	if m.Halted.IsZero() {
		m.Halted = m.now
	}
	switch {
	case o.stops() && m.Stage < stageStarting || o.Cancel && !begun:
		m.undo("")
	case o.Cancel:
		m.Asked.Finish = true
	}
}

func (m *change) undo(why string) {
	if m.Stage < stageUndoing {
		m.Stage, m.Undone = stageUndoing, why
	}
}

// move takes over an event of a process.
func (m *change) move(p *process, e event) {
	if e.Kind == evExited {
		p.Live = false
	}
	to, ok := moves[p.State][e.Kind]
	if !ok || e.Kind == evBegan && m.Start.IsZero() {
		return
	}
	p.State, p.RunID, p.Ended, p.Text = to, cmp.Or(e.Report.RunID, p.RunID), e.Report.Ended, clean(e.Report.Text, maxText)
	if p.Ended != nil {
		p.Load = Load{}
	}
	if e.Kind == evEnded && m.Stage != stageUndoing {
		p.KillAt = time.Time{} // it has ended in time, and may have to wait for other hosts
	}
}
