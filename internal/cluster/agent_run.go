package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// Times of a run, as an agent keeps them. Nothing hangs for longer.
const (
	// A coordinator that is gone before the start does not come back to give it: its run
	// is undone after so long, and after the second one at the latest.
	lobbyGrace   = 15 * time.Second
	lobbyTimeout = 10 * time.Minute
	// A coordinator redials for 30 s after the end of a run; so long a run that is over
	// waits for it.
	absentGrace = 60 * time.Second
	// A watched host does not know when a load of unknown length is over.
	absentWatch = 10 * time.Minute
	// A process may take so long to drain after it was stopped for the agent's sake, to
	// leave when told to, and to delete the topic that it made.
	stopGrace   = 20 * time.Second
	abortGrace  = 5 * time.Second
	finishGrace = 30 * time.Second
	// A load that goes on for longer than --max-duration and this is stopped: it was
	// allowed by what it said of itself.
	overtime = 10 * time.Second
	// How often a run looks at the time.
	runTick = 250 * time.Millisecond
)

// run is one run on this host: its processes, and what is watched. Whoever wants
// something of it sets a field and notifies it; all is done by live.
type run struct {
	a     *agent
	offer *offer
	group string // what its files begin with
	out   *outbox
	wake  chan struct{} // holds one: there is something to look at
	born  time.Time

	mu       sync.Mutex // guards what follows, and the fields of children
	children []*child
	watch    *watch
	opened   bool        // the watch file was made
	start    *StartOrder // At by the system's clock; nil: not started
	ordered  map[string]bool
	quit     bool // the agent ends
	talk     *talk
	leave    func()    // ends the delivery to talk
	seen     time.Time // when the coordinator left
	undo     bool      // there is to be no load: nothing of the run may stay
	why      string    // for the log
	written  bool
	ended    bool
}

func newRun(a *agent, o *offer) *run {
	r := &run{
		a: a, offer: o, group: a.store.group(o.Part.Epoch), out: newOutbox(), wake: make(chan struct{}, 1),
		born: time.Now(), seen: time.Now(), ordered: make(map[string]bool),
	}
	for _, j := range o.jobs() {
		c := newChild(r, j)
		c.job.RunFile = r.path(j.Part.Process)
		r.children = append(r.children, c)
	}
	a.store.hold(r.group)
	return r
}

func (r *run) notify() {
	select {
	case r.wake <- struct{}{}:
	default: // it has been woken and not looked yet
	}
}

// over tells whether nothing of the run is left but its files.
func (r *run) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// abandoned tells whether the load is over, and nobody is there to ask for its files.
func (r *run) abandoned() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start == nil || r.talk != nil || !r.settled() {
		return false
	}
	// A host that is only watched has no load of its own to tell by.
	return len(r.children) > 0 || time.Since(r.start.At) > r.offer.Lasts
}

// attach makes t the stream that is told of the run, in the place of any other.
func (r *run) attach(ctx context.Context, t *talk) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	r.mu.Lock()
	before := r.leave
	r.talk = t
	r.leave = func() { cancel(); <-done }
	r.mu.Unlock()
	if before != nil {
		before()
	}
	r.out.retell()
	go func() {
		defer close(done)
		r.out.deliver(ctx, t.s, r.offer.Part.Epoch)
	}()
}

// detach ends what attach began, unless another stream has taken over.
func (r *run) detach(t *talk) {
	r.mu.Lock()
	var leave func()
	if r.talk == t {
		leave, r.talk, r.leave, r.seen = r.leave, nil, nil, time.Now()
	}
	r.mu.Unlock()
	if leave != nil {
		leave()
	}
	r.notify()
}

// open starts processes, all that are not open yet when none are named, and makes the
// file of what is watched.
func (r *run) open(processes []int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start != nil || r.undo || r.quit || r.ended {
		return errors.New("the run is not being prepared any more")
	}
	if !r.opened {
		w, err := r.openWatch()
		if err != nil {
			return err
		}
		r.watch, r.opened = w, true
	}
	named := make(map[int]bool)
	for _, p := range processes {
		named[p] = true
	}
	for _, c := range r.children {
		if c.spawned || len(processes) > 0 && !named[c.job.Part.Process] {
			continue
		}
		c.spawned = true
		c.status.State = partOpening
		c.tell("job", ToProcess{Job: &c.job})
		r.a.live.Go(c.live)
	}
	return nil
}

// begin starts the load at a moment of the agent's clock.
func (r *run) begin(s StartOrder) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start != nil || r.undo || r.quit || r.ended || !r.opened {
		return errors.New("the run is not being prepared any more")
	}
	for _, c := range r.children {
		if c.status.State != partReady {
			return fmt.Errorf("process %d is %s", c.job.Part.Process, c.status.State)
		}
	}
	in := s.At.Sub(r.a.o.Now())
	if in < -lobbyGrace || in > lobbyTimeout {
		return fmt.Errorf("the start is %v away", in.Round(time.Millisecond))
	}
	s.At = time.Now().Add(in) // processes know the system's clock only
	r.start = &s
	for _, c := range r.children {
		c.tell("start", ToProcess{Start: &s})
	}
	if r.watch != nil {
		r.watch.begin(r, s)
	}
	r.out.flag(fromAgent{Starting: &inRun{r.offer.Part.Epoch}})
	return nil
}

// obey notes an order. Before the start all that end a run undo it. One to undo it that
// comes too late ends it.
func (r *run) obey(do string) {
	r.mu.Lock()
	r.ordered[do] = true
	begun := r.start != nil && !time.Now().Before(r.start.At)
	switch {
	case do == doDrained || do == doFinish:
	case !begun:
		r.undo = true
	case do == doCancel:
		r.ordered[doStop], r.ordered[doDrained], r.ordered[doFinish] = true, true, true
	}
	r.mu.Unlock()
	r.notify()
}

// live is the run from its offer to its end.
func (r *run) live(ctx context.Context) {
	ticker := time.NewTicker(runTick)
	defer ticker.Stop()
	quit := ctx.Done()
	for !r.step(time.Now()) {
		select {
		case <-ticker.C:
		case <-r.wake:
		case <-quit:
			quit = nil
			r.mu.Lock()
			r.quit = true
			r.mu.Unlock()
		}
	}
	r.a.store.release(r.group)
	r.mu.Lock()
	r.ended = true
	why, undo := r.why, r.undo
	r.mu.Unlock()
	if undo {
		if err := r.a.store.remove(r.group); err != nil {
			r.a.o.Log(fmt.Sprintf("run %s: remove what it left: %v", r.offer.Part.Run, err))
		}
	}
	r.out.flag(fromAgent{Ended: &inRun{r.offer.Part.Epoch}})
	r.a.o.Log(fmt.Sprintf("run %s: over%s", r.offer.Part.Run, why))
}

// step does what is due, and tells whether the run is over.
func (r *run) step(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decide(now)
	for _, c := range r.children {
		if c.spawned && !c.gone && !c.killAt.IsZero() && now.After(c.killAt) && c.kill != nil {
			c.kill()
			c.killAt = now.Add(abortGrace)
		}
	}
	if r.undo {
		return r.undone(now)
	}
	if r.start == nil {
		return false
	}
	if r.ordered[doAbort] {
		r.tellAll(now, doAbort, ToProcess{Abort: true}, abortGrace)
	}
	if r.ordered[doStop] {
		r.tellAll(now, doStop, ToProcess{Stop: true}, 0)
	}
	if !r.settled() {
		return false
	}
	left := r.quit || r.absent(now)
	if !r.written && (r.ordered[doDrained] || r.ordered[doAbort] || left) {
		r.write()
	}
	if !r.written || !r.ordered[doFinish] && !left {
		return false
	}
	r.tellAll(now, doFinish, ToProcess{Finish: true}, finishGrace)
	return r.gone()
}

// decide notes what the agent orders by itself.
func (r *run) decide(now time.Time) {
	undo := func(why string) { r.undo, r.why = true, why }
	limit := r.a.o.Limits.Duration
	switch {
	case r.undo:
	case r.start == nil && r.talk == nil && now.Sub(r.seen) > lobbyGrace:
		undo(": the coordinator was gone before the start")
	case r.start == nil && now.Sub(r.born) > lobbyTimeout:
		undo(fmt.Sprintf(": it was not started within %v", lobbyTimeout))
	case r.quit && (r.start == nil || now.Before(r.start.At)):
		undo(": the agent ends")
	case r.start == nil:
	case r.quit && !r.settled():
		r.tellAll(now, doStop, ToProcess{Stop: true}, stopGrace)
	case limit > 0 && now.Sub(r.start.At) > limit+overtime && !r.ordered[doStop] && !r.settled():
		r.ordered[doStop] = true
		r.a.o.Log(fmt.Sprintf("run %s: stopped, for it is longer than --max-duration %v", r.offer.Part.Run, limit))
	}
}

// undone brings a run to nothing, and tells whether it is.
func (r *run) undone(now time.Time) bool {
	r.tellAll(now, doStop, ToProcess{Stop: true}, stopGrace)
	if r.ordered[doAbort] {
		r.tellAll(now, doAbort, ToProcess{Abort: true}, abortGrace)
	}
	if !r.gone() {
		return false
	}
	if r.watch != nil {
		_ = r.watch.close(result.Interrupted) // the file goes away
		r.watch = nil
	}
	return true
}

// tellAll gives an order to each process that is there; one that is still there after
// the grace is killed. 0: it is left to itself.
func (r *run) tellAll(now time.Time, kind string, m ToProcess, grace time.Duration) {
	for _, c := range r.children {
		if !c.spawned || c.gone {
			continue
		}
		if !c.given[kind] && grace > 0 {
			c.killAt = now.Add(grace)
		}
		c.tell(kind, m)
	}
}

func (r *run) settled() bool {
	for _, c := range r.children {
		if !c.settled() {
			return false
		}
	}
	return true
}

func (r *run) gone() bool {
	for _, c := range r.children {
		if c.spawned && !c.gone {
			return false
		}
	}
	return true
}

// absent tells whether a run whose processes are done need not wait for its
// coordinator.
func (r *run) absent(now time.Time) bool {
	if r.talk != nil {
		return false
	}
	away, since := now.Sub(r.seen), now.Sub(r.start.At)
	if r.offer.Lasts == 0 && len(r.children) == 0 {
		return away > absentWatch
	}
	return away > absentGrace && since > r.offer.Lasts+absentGrace
}

// write closes the file of what was watched: all run files of this host are whole then.
func (r *run) write() {
	r.written = true
	w := &written{Epoch: r.offer.Part.Epoch}
	if r.watch != nil {
		ended := result.Completed
		if r.ordered[doStop] || r.ordered[doAbort] || r.quit {
			ended = result.Interrupted
		}
		if err := r.watch.close(ended); err != nil {
			w.Text = clean(err.Error(), maxText)
			r.a.o.Log(fmt.Sprintf("run %s: %v", r.offer.Part.Run, err))
		}
	}
	r.out.flag(fromAgent{Written: w})
}

// tellOf puts into the log what whoever runs the agent should know.
func (a *agent) tellOf(r *run, s partStatus) {
	switch s.State {
	case partFailed, partGone:
		a.o.Log(fmt.Sprintf("run %s, process %d: %s", r.offer.Part.Run, s.Process, s.Text))
	case partWaiting, partOpening, partReady, partRunning, partDone:
	}
}

// path is where a process writes its run file.
func (r *run) path(process int) string {
	return filepath.Join(r.a.store.dir, ownFile(r.group, process))
}
