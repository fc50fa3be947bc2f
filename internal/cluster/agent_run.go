package cluster

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// hostRun is one run on this host: its state, and what carries out the actions that follow from it.
type hostRun struct {
	name  string
	epoch string
	group string // the prefix of its files' names
	a     *agent
	sum   [sha256.Size]byte // of the offer, so that the same one is accepted again
	terms terms

	mu       sync.Mutex // guards what follows, and the fields of children
	state    runState
	offer    *offer // empty when the run is over
	children []*child
	start    StartOrder // At by the system's clock; zero: not started
	watch    watch
	version  int           // of the state
	changed  chan struct{} // closed at the next change
}

func newRun(a *agent, o *offer, sum [sha256.Size]byte) *hostRun {
	r := &hostRun{
		a: a, sum: sum, name: o.Part.Run, epoch: o.Part.Epoch, group: a.store.group(o.Part.Epoch), offer: o,
		state: newRunState(len(o.Shares), time.Now()), version: 1, changed: make(chan struct{}),
		terms: terms{Lasts: o.Lasts, Limit: a.o.Limits.Duration, Most: o.most(a.o.Limits.Duration)},
	}
	for _, j := range o.jobs() {
		job := ProcessJob{Job: j, RunFile: filepath.Join(a.store.dir, ownFile(r.group, j.Part.Process)), Most: r.terms.Most}
		r.children = append(r.children, &child{run: r, job: job, orders: make(chan ToProcess, orderKinds)})
	}
	a.store.hold(r.group)
	return r
}

// drain returns the longest time from the end of a load's duration until all records have an outcome; 0: unknown.
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
func (o *offer) most(limit time.Duration) time.Duration {
	var all []time.Duration
	for _, l := range o.loads() {
		// Only a duration bounds the load: a number of records may take longer than planned.
		if d, more := l.Plan.Load.Duration.Std(), drain(&l.Plan, l.Producer); d > 0 && more > 0 {
			all = append(all, d+more)
		} else {
			all = append(all, 0)
		}
	}
	most := longest(all)
	if allowed := limit + overtime + drainWithin; limit > 0 && (most == 0 || allowed < most) {
		most = allowed
	}
	return most
}

// longest returns the longest of some times; 0: one of them is 0, which is not known.
func longest(of []time.Duration) time.Duration {
	if slices.Contains(of, 0) {
		return 0
	}
	return slices.Max(of)
}

// live takes the run from its offer to its end.
func (r *hostRun) live() {
	ticker := time.NewTicker(runTick)
	defer ticker.Stop()
	quit := r.a.ctx.Done()
	for {
		s, changed := r.status()
		if s.Stage == stageOver {
			return
		}
		select {
		case <-ticker.C:
			_ = r.handle(event{Kind: evTick}) // no error of an order
		case <-changed:
		case <-quit:
			quit = nil
			_ = r.handle(event{Kind: evQuit}) // likewise
		}
	}
}

// handle handles an event. An error refuses it.
func (r *hostRun) handle(e event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apply(e)
}

// apply is handle for a caller that holds mu.
func (r *hostRun) apply(e event) error {
	e.Now = time.Now()
	before := r.state
	after, actions, err := next(r.terms, before, e)
	if err != nil {
		return err
	}
	r.state = after
	for _, a := range actions {
		r.act(a)
	}
	same := func(a, b process) bool { return a.State == b.State }
	if before.Stage != after.Stage || !slices.EqualFunc(before.Parts, after.Parts, same) { // the coordinator has to hear of it
		r.version++
		close(r.changed)
		r.changed = make(chan struct{})
	}
	return nil
}

// act carries out an action. None of them waits for a process or a peer. The caller holds mu.
func (r *hostRun) act(a action) {
	var c *child
	if a.Process > 0 {
		c = r.children[a.Process-1]
	}
	switch a.Do {
	case doSpawn:
		c.orders <- ToProcess{Job: &c.job}
		r.a.live.Go(c.live)
	case doOrder:
		switch a.Order {
		case hungUp:
			close(c.orders)
		case orderStart:
			c.orders <- ToProcess{Start: &r.start}
		case orderStop:
			c.orders <- ToProcess{Stop: true, Why: r.state.Asked.Why}
		default:
			c.orders <- ToProcess{Abort: a.Order == orderAbort, Finish: a.Order == orderFinish}
		}
	case doKill:
		if c.kill != nil {
			c.kill()
		}
	case doBeginWatch:
		r.watch.begin(r, r.start)
	case doCloseWatch:
		if err := r.watch.close(a.Text); err != nil && r.state.Stage != stageOver {
			r.watch.problem = clean(err.Error(), maxText)
			r.log(": " + err.Error())
		}
	case doLog:
		r.log(": " + a.Text)
	case doRemove:
		if err := r.a.store.remove(r.group); err != nil {
			r.log(fmt.Sprintf(": remove its files: %v", err))
		}
	case doEnd:
		r.offer = &offer{} // the agent remembers the run for long
		for _, c := range r.children {
			c.job, c.kill = ProcessJob{}, nil
		}
		r.a.store.release(r.group)
		r.log(": over" + r.state.Undone)
	}
}

func (r *hostRun) log(text string) { r.a.o.Log("run " + r.name + text) }

// obey carries out an order. An error refuses it.
func (r *hostRun) obey(o *order) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Open > 0 {
		if r.state.Stage == stageOffered {
			if err := r.watch.open(r); err != nil {
				return err
			}
		}
		if err := r.apply(event{Kind: evOpen, Open: o.Open}); err != nil {
			return err
		}
	}
	if o.Start != nil {
		if err := r.begin(*o.Start); err != nil {
			return err
		}
	}
	if !o.stops() && !o.Drained && !o.Finish {
		return nil
	}
	return r.apply(event{Kind: evEnd, Order: *o})
}

// begin gives the processes the start. s.At is by the agent's clock. The caller holds mu.
func (r *hostRun) begin(s StartOrder) error {
	if r.start.Agreed == s.Agreed && !r.start.At.IsZero() {
		return nil // it was said before
	}
	before := r.start
	in := s.At.Sub(r.a.o.Now())
	r.start = s
	r.start.At = time.Now().Add(in) // by the system's clock, as processes have no other
	if err := r.apply(event{Kind: evStart, Start: r.start.At}); err != nil {
		r.start = before
		return err
	}
	r.a.live.Go(func() { // only now, so that a run that never starts removes no files; the start waits for no disk
		if err := r.a.store.prune(0); err != nil {
			r.a.o.Log(err.Error()) // the run goes on
		}
	})
	return nil
}

// status returns the state of the run, and a channel that is closed when it changes.
func (r *hostRun) status() (runStatus, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := runStatus{Version: r.version, Stage: r.state.Stage, Vitals: r.watch.id, Problem: r.watch.problem}
	for i := range r.state.Parts {
		s.Parts = append(s.Parts, r.state.Parts[i].partStatus)
	}
	return s, r.changed
}

// isOver reports whether only the files of the run are left.
func (r *hostRun) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Stage == stageOver
}
