package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Times of a run on an agent.
const (
	// A run without a start is undone lobbyGrace after its coordinator is gone, and after
	// lobbyTimeout in any case.
	lobbyGrace   = 15 * time.Second
	lobbyTimeout = 10 * time.Minute
	// A finished run waits this long for its coordinator, which dials for 30 s.
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
	// The interval between two steps.
	runTick = 250 * time.Millisecond
)

// hostRun is one run on this host: its processes, and the watching of the machine. Other
// goroutines set its fields and call notify. Only live acts on them.
type hostRun struct {
	a     *agent
	name  string // of the run
	epoch string
	group string // the prefix of its files' names
	out   *outbox
	wake  chan struct{} // of capacity 1: a field has changed
	born  time.Time

	mu       sync.Mutex // guards what follows, and the fields of children
	offer    *offer     // empty when the run is over
	children []*child
	watch    *watch
	opened   bool        // openWatch was called
	start    *StartOrder // At by the system's clock; nil: not started
	ordered  map[string]bool
	halted   time.Time // of the first order that ends the load or says that it is over; zero: none
	quit     bool      // the agent is ending
	talk     *talk     // the coordinator's stream; nil: it is away
	leave    func()    // ends the delivery to talk
	seen     time.Time // when the coordinator left
	aborted  string    // the condition that ended the load; "": none did
	undo     bool      // the run is undone, and its files are removed
	why      string    // the reason for undoing it, for the log
	written  bool      // the run files are complete
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
	default: // a wake-up is pending
	}
}

// over reports whether the run has ended: only its files are left.
func (r *hostRun) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// asked returns the offer of the run, or an empty one when the run is over.
func (r *hostRun) asked() *offer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offer
}

// drain returns the longest time from the end of a load's duration until all records have an
// outcome; 0: unknown. A round trip is unknown because it goes on until it has read all records
// that it wrote.
func drain(p *plan.Plan, producer map[string]plan.Given) time.Duration {
	if p.Writes() && p.Reads() {
		return 0
	}
	const more = 30 * time.Second // for the process to report its end
	d := drainWithin
	if ms, err := strconv.ParseInt(producer["delivery.timeout.ms"].Value, 10, 32); err == nil {
		d = max(d, time.Duration(ms)*time.Millisecond+more)
	}
	return d
}

// most returns the longest time from the start of a process to the end of its drain; 0: unknown.
// limit is the agent's limit of a load's duration.
func (o *offer) most(limit time.Duration) time.Duration {
	var most time.Duration
	// Only a duration bounds the load: a number of records may take longer than planned.
	if d, more := o.Plan.Load.Duration.Std(), drain(&o.Plan, o.Producer); d > 0 && more > 0 {
		most = d + more
	}
	if allowed := limit + overtime + drainWithin; limit > 0 && (most == 0 || allowed < most) {
		most = allowed
	}
	return most
}

// abandoned reports whether the load is over and the coordinator is away.
func (r *hostRun) abandoned() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start == nil || r.talk != nil || !r.settled() {
		return false
	}
	// A host that is only watched goes by the stated length of the load.
	return len(r.children) > 0 || time.Since(r.loadEnd()) > 0
}

// loadEnd returns the end of the load on all hosts: of the order to end it, or else as planned.
// The caller holds mu.
func (r *hostRun) loadEnd() time.Time {
	if !r.halted.IsZero() {
		return r.halted
	}
	return r.start.At.Add(r.offer.Lasts)
}

// attach makes t the stream of the run's messages, in place of any earlier one.
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

// detach ends the delivery to t, unless another stream has taken over.
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

// open starts the given processes, or all that are not started yet if processes is empty. It
// also makes the file for the machine's vitals.
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

// begin gives the processes the start. s.At is by the agent's clock.
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
	s.At = time.Now().Add(in) // by the system's clock, as processes have no other
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
	if err := r.a.store.prune(0); err != nil { // only now, so that a run that never starts removes no files
		r.a.o.Log(err.Error()) // the run goes on
	}
	return nil
}

// obey notes an order, which step carries out:
//   - before a start is agreed, every order to end the load undoes the run;
//   - after that a stop or an abort waits for the start, and a cancel still undoes the run. The
//     coordinator gives the former when a cancel may not reach all hosts in time, so all hosts
//     begin and then end;
//   - after the start a cancel ends the run.
func (r *hostRun) obey(do, why string) {
	r.mu.Lock()
	r.aborted = cmp.Or(r.aborted, why)
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

// order records an order and the end of the load. The caller holds mu.
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
	// The agent remembers the run for long, and frees its memory.
	r.offer, r.children, r.watch = &offer{}, nil, nil
	why, undo, heard := r.why, r.undo, r.talk != nil
	r.mu.Unlock()
	if undo {
		if err := r.a.store.remove(r.group); err != nil {
			r.a.o.Log(fmt.Sprintf("run %s: remove its files: %v", r.name, err))
		}
	}
	r.out.flag(fromAgent{Ended: &inRun{r.epoch}})
	if !heard {
		r.out.shrink()
	}
	r.a.o.Log(fmt.Sprintf("run %s: over%s", r.name, why))
}

// logFailure logs the failure of a process.
func (a *agent) logFailure(r *hostRun, s partStatus) {
	switch s.State {
	case partFailed, partGone:
		a.o.Log(fmt.Sprintf("run %s, process %d: %s", r.name, s.Process, s.Text))
	case partWaiting, partOpening, partReady, partRunning, partDone:
	}
}

// path returns the path of a process's run file.
func (r *hostRun) path(process int) string {
	return filepath.Join(r.a.store.dir, ownFile(r.group, process))
}
