package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
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
	// A load that was stopped, or whose time is up, drains: a record may be on its way
	// for the 120 s of delivery.timeout.ms. What makes it after that obeys nobody.
	drainWithin = 150 * time.Second
	// A load that goes on for longer than --max-duration and this is stopped: it was
	// allowed by what it said of itself.
	overtime = 10 * time.Second
	// How often a run looks at the time.
	runTick = 250 * time.Millisecond
)

// hostRun is one run on this host: its processes, and what is watched. Whoever wants
// something of it sets a field and notifies it; all is done by live.
type hostRun struct {
	a     *agent
	name  string // of the run
	epoch string
	group string // what its files begin with
	out   *outbox
	wake  chan struct{} // holds one: there is something to look at
	born  time.Time

	mu       sync.Mutex // guards what follows, and the fields of children
	offer    *offer     // empty when the run is over
	children []*child
	watch    *watch
	opened   bool        // the watch file was made
	start    *StartOrder // At by the system's clock; nil: not started
	ordered  map[string]bool
	halted   time.Time // when the load was first ordered to end, or told to be over; zero: it was not
	quit     bool      // the agent ends
	talk     *talk
	leave    func()    // ends the delivery to talk
	seen     time.Time // when the coordinator left
	undo     bool      // there is to be no load: nothing of the run may stay
	why      string    // for the log
	written  bool
	ended    bool
}

func newRun(a *agent, o *offer) *hostRun {
	r := &hostRun{
		a: a, name: o.Part.Run, epoch: o.Part.Epoch, offer: o,
		group: a.store.group(o.Part.Epoch), out: newOutbox(), wake: make(chan struct{}, 1),
		born: time.Now(), seen: time.Now(), ordered: make(map[string]bool),
	}
	for _, j := range o.jobs() {
		c := newChild(r, j)
		c.job.RunFile, c.job.Most = r.path(j.Part.Process), o.most(a.o.Limits.Duration)
		r.children = append(r.children, c)
	}
	a.store.hold(r.group)
	return r
}

func (r *hostRun) notify() {
	select {
	case r.wake <- struct{}{}:
	default: // it has been woken and not looked yet
	}
}

// over reports whether nothing of the run is left but its files.
func (r *hostRun) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// asked returns what the host was asked to do; empty when the run is over.
func (r *hostRun) asked() *offer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offer
}

// drain returns how long a load may go on after its duration, until what is on its way has
// arrived or was given up. 0: nobody knows, for a round trip reads on until it has read
// what was written.
func drain(p *plan.Plan, producer map[string]plan.Given) time.Duration {
	if p.Writes() && p.Reads() {
		return 0
	}
	const more = 30 * time.Second // for the process to say so
	d := drainWithin
	if ms, err := strconv.ParseInt(producer["delivery.timeout.ms"].Value, 10, 32); err == nil {
		d = max(d, time.Duration(ms)*time.Millisecond+more)
	}
	return d
}

// most returns how long after its start a process may last at most, with its drain, where a load
// may last so long; 0: nobody knows. A load that is longer than its limit is stopped then, and
// drains.
func (o *offer) most(limit time.Duration) time.Duration {
	var most time.Duration
	// A number of records may take longer than its rate says.
	if d, more := o.Plan.Load.Duration.Std(), drain(&o.Plan, o.Producer); d > 0 && more > 0 {
		most = d + more
	}
	if allowed := limit + overtime + drainWithin; limit > 0 && (most == 0 || allowed < most) {
		most = allowed
	}
	return most
}

// abandoned reports whether the load is over, and nobody is there to ask for its files.
func (r *hostRun) abandoned() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start == nil || r.talk != nil || !r.settled() {
		return false
	}
	// A host that is only watched has no load of its own to tell by.
	return len(r.children) > 0 || time.Since(r.loaded()) > 0
}

// loaded returns when the load of all hosts is over, as far as it is known here: when it said
// that it would be, or was ordered to be. The caller holds mu.
func (r *hostRun) loaded() time.Time {
	if !r.halted.IsZero() {
		return r.halted
	}
	return r.start.At.Add(r.offer.Lasts)
}

// attach makes t the stream that is told of the run, in the place of any other.
func (r *hostRun) attach(ctx context.Context, t *talk) {
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
		r.out.deliver(ctx, t.s, r.epoch)
	}()
}

// detach ends what attach began, unless another stream has taken over.
func (r *hostRun) detach(t *talk) {
	r.mu.Lock()
	var leave func()
	if r.talk == t {
		leave, r.talk, r.leave, r.seen = r.leave, nil, nil, time.Now()
	}
	ended := r.ended
	r.mu.Unlock()
	if leave != nil {
		leave()
	}
	if ended {
		r.out.shrink()
	}
	r.notify()
}

// open starts processes, all that are not open yet when none are named, and makes the
// file of what is watched.
func (r *hostRun) open(processes []int) error {
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
func (r *hostRun) begin(s StartOrder) error {
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
		if c.job.Most > 0 {
			c.due(s.At.Add(c.job.Most))
		}
	}
	if r.watch != nil {
		r.watch.begin(r, s)
	}
	r.out.flag(fromAgent{Starting: &inRun{r.epoch}})
	if err := r.a.store.prune(0); err != nil { // not before: a run that is not made costs no other
		r.a.o.Log(err.Error()) // more is kept than was asked for
	}
	return nil
}

// obey notes an order. One to undo the run that comes too late ends it. Any other that comes
// before the start waits for that once it is agreed: it is given when the coordinator cannot
// tell any more whether all hosts hear of it in time, so all begin, and then end.
func (r *hostRun) obey(do string) {
	r.mu.Lock()
	r.order(do, time.Now())
	begun := r.start != nil && !time.Now().Before(r.start.At)
	switch {
	case do == doDrained || do == doFinish:
	case r.start == nil || do == doCancel && !begun:
		r.undo = true
	case do == doCancel:
		r.ordered[doStop], r.ordered[doDrained], r.ordered[doFinish] = true, true, true
	}
	r.mu.Unlock()
	r.notify()
}

// order notes what is to be done. The caller holds mu.
func (r *hostRun) order(do string, now time.Time) {
	r.ordered[do] = true
	if r.halted.IsZero() {
		r.halted = now
	}
}

// live takes the run from its offer to its end.
func (r *hostRun) live(ctx context.Context) {
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
	// It is remembered for long: what it was made of is not.
	r.offer, r.children, r.watch = &offer{}, nil, nil
	why, undo, heard := r.why, r.undo, r.talk != nil
	r.mu.Unlock()
	if undo {
		if err := r.a.store.remove(r.group); err != nil {
			r.a.o.Log(fmt.Sprintf("run %s: remove what it left: %v", r.name, err))
		}
	}
	r.out.flag(fromAgent{Ended: &inRun{r.epoch}})
	if !heard {
		r.out.shrink()
	}
	r.a.o.Log(fmt.Sprintf("run %s: over%s", r.name, why))
}

// tellOf puts into the log what whoever runs the agent should know.
func (a *agent) tellOf(r *hostRun, s partStatus) {
	switch s.State {
	case partFailed, partGone:
		a.o.Log(fmt.Sprintf("run %s, process %d: %s", r.name, s.Process, s.Text))
	case partWaiting, partOpening, partReady, partRunning, partDone:
	}
}

// path returns where a process writes its run file.
func (r *hostRun) path(process int) string {
	return filepath.Join(r.a.store.dir, ownFile(r.group, process))
}
