package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

// loadOrder is a load that several hosts make together.
type loadOrder struct {
	Hosts
	OneLoad
	Run    string    // its name: --run
	Epoch  string    // random, unique to this start of the run
	others []OneLoad // that are made with it
}

// loads returns what is made. On each host the first processes are those of the first load.
func (o *loadOrder) loads() []OneLoad { return append([]OneLoad{o.OneLoad}, o.others...) }

// runOptions connect a run to the command that asked for it.
type runOptions struct {
	Stop    <-chan struct{}              // closed: drain and finish
	Abort   <-chan struct{}              // closed: end at once, with the run files that arrive within leaveGrace
	Observe func(load int, s run.Second) // called about once a second from one goroutine, must not block; may be nil
	Dir     string                       // an existing folder for the run files
}

// step is the progress of a coordinator's run.
type step int

// The steps, in order. Undoing takes the place of all that follow.
const (
	stepOffering   step = iota // agents get their offers
	stepPreparing              // processes open their clients, and clocks are compared
	stepStarting               // hosts wait for the agreed start
	stepRunning                // until every process has drained
	stepCollecting             // run files are fetched
	stepUndoing                // the preparation is undone
	stepFinished
)

// outcome is the end of a run on many hosts.
type outcome struct {
	Files []string // sorted paths of run files, and of incomplete copies in place of lost ones
	Lost  []string // a sentence for each host, process or file that is missing
	// Ended has the end of each process by host, in their order. One that died has code 1 and the reason.
	Ended map[string][]Ended
}

// refusedError holds the reasons of agents that refused an offer. No load was made.
type refusedError struct{ reasons error }

func (e *refusedError) Error() string { return e.reasons.Error() }

func (e *refusedError) Unwrap() error { return e.reasons }

var (
	errStopped = errors.New("stopped before the start")     // by the user
	errAborted = errors.New("the hosts were asked to stop") // the context of the run ended after its start
	errTimeout = errors.New("it took too long")
)

// run makes a load on many hosts and fetches the run files. After an error before the start
// no load was made, and no host keeps anything of it. After a later error the agents keep the
// run files, and Results fetches them. In every case run stops all agents that it can reach.
func (c *Client) run(ctx context.Context, o loadOrder, opts runOptions) (outcome, error) {
	s, err := newSession(c, o, opts)
	if err != nil {
		return outcome{}, err
	}
	defer s.close()
	err = s.prepare(ctx)
	if err == nil {
		if most := s.hosts[0].offer.most(0); most > 0 {
			s.within(most - s.elapsed() + drainGrace - drainWithin)
		}
		err = s.until(ctx, maxRunTime, s.all(s.unawaited)) // until every process has finished or is given up
	}
	if err != nil && (errors.Is(err, errStopped) || s.canUndo()) {
		s.undo()
		return outcome{}, err
	}
	if err != nil { // the load must not go on without a coordinator
		deaf := s.leave()
		if ctx.Err() != nil {
			err = s.aborted(deaf)
		}
		return outcome{}, err
	}
	out, err := s.collect(ctx)
	if err != nil && ctx.Err() != nil {
		return outcome{}, s.aborted(s.leave())
	}
	return out, err
}

// check reports what is wrong with an order, without asking any agent.
func (o *loadOrder) check() error {
	hosts := slices.Concat(o.Load, o.Watch)
	badRun, badEpoch := checkName(o.Run), checkName(o.Epoch)
	switch {
	case len(o.Load) == 0:
		return errors.New("--on: no agent makes the load")
	case badRun != nil:
		return fmt.Errorf("--run %w", badRun)
	case badEpoch != nil:
		return fmt.Errorf("epoch %w", badEpoch)
	case o.Processes < 1 || o.Processes*len(o.loads()) > maxProcesses:
		return fmt.Errorf("--processes %d: it must be from 1 to %d", o.Processes, maxProcesses/len(o.loads()))
	case len(hosts) > maxHosts:
		return fmt.Errorf("%d hosts: %d are the most", len(hosts), maxHosts)
	}
	seen := make(map[string]string)
	for _, p := range hosts {
		if other, ok := seen[p.Name]; ok {
			return fmt.Errorf("two agents are called %s, at %s and %s: give each a --name of its own, or name it once if it is one", p.Name, other, p.Addr)
		}
		seen[p.Name] = p.Addr
	}
	return nil
}

// remotes divides the load among the hosts that make it, sorted by name. Watched ones follow.
func (o *loadOrder) remotes(c *Client) ([]*remote, error) {
	byName := func(a, b Peer) int { return cmp.Compare(a.Name, b.Name) }
	peers := slices.Concat(slices.SortedFunc(slices.Values(o.Load), byName), slices.SortedFunc(slices.Values(o.Watch), byName))
	var jobs []Job
	var parts [][]plan.Plan
	var times []time.Duration
	for k, l := range o.loads() {
		shares, err := l.Plan.Divide(len(o.Load) * o.Processes)
		if err != nil {
			return nil, err
		}
		var roster []result.Member
		for i, p := range peers {
			m := result.Member{Host: p.Name, Role: p.Role}
			if i < len(o.Load) {
				m.Processes, m.Before = o.Processes, k*o.Processes
			}
			roster = append(roster, m)
		}
		slices.SortFunc(roster, func(a, b result.Member) int { return cmp.Compare(a.Host, b.Host) })
		jobs = append(jobs, Job{
			Part: result.Part{Load: l.Name, Roster: roster, Limits: l.Limits, Asked: l.asked()},
			Plan: l.Plan, Producer: l.Producer, Consumer: l.Consumer, Args: o.Args, Tags: l.Tags, Accepted: l.Accepted,
		})
		parts, times = append(parts, shares), append(times, lasts(&l.Plan))
	}
	var hosts []*remote
	for i, p := range peers {
		f := offer{Job: jobs[0], Lasts: longest(times)}
		if f.Part.Load != "" {
			f.Loads, f.Part = jobs, result.Part{}
		}
		f.Part.Run, f.Part.Epoch, f.Part.Host, f.Part.Role, f.Part.Tags = o.Run, o.Epoch, p.Name, p.Role, p.Tags
		for k := range parts {
			if i >= len(o.Load) {
				break // it is only watched
			}
			for n, part := range parts[k][i*o.Processes : (i+1)*o.Processes] {
				f.Shares = append(f.Shares, jobShare{part.Producers, part.Read.Consumers, part.Share, i == 0 && n == 0, k})
			}
		}
		b, err := json.Marshal(&f)
		if err == nil && len(b) > maxOffer {
			err = fmt.Errorf("its order takes %d KiB, at most %d KiB are allowed: give fewer or shorter properties", (len(b)+1023)>>10, maxOffer>>10)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		hosts = append(hosts, newRemote(c, p, f))
	}
	return hosts, nil
}

// session is a coordinator's state of one run. All fields belong to the goroutine that called run.
type session struct {
	c      *Client
	order  loadOrder
	opts   runOptions
	stage  step
	hosts  []*remote
	wires  wires
	end    ending
	agreed time.Time // the start, by this clock; zero: none yet
	overAt time.Time // when all reachable hosts had finished; zero: they have not
	copies *copies
	lives  []*live // of the loads
}

// wires are what connects a session with the goroutines of its hosts.
type wires struct {
	news   chan hostNews
	ticker *time.Ticker
	live   sync.WaitGroup     // of the hosts
	cut    context.CancelFunc // ends them; nil: there are none yet
}

// ending is how a run is ended before its load is over.
type ending struct {
	stopped   bool      // by the user, or by a condition
	broken    string    // the condition; "": none did
	leaving   bool      // the run ends at once
	finishing bool      // the agents were told to end the run, or end it by themselves
	deadline  time.Time // for the hosts that the step waits for; zero: none
	giveUp    func()    // ends the fetching of files; nil: no fetch is going on
}

func newSession(c *Client, o loadOrder, opts runOptions) (*session, error) {
	hosts, err := o.remotes(c)
	if err != nil {
		return nil, err
	}
	copies, err := newCopies(opts.Dir, c.free)
	if err != nil {
		return nil, err
	}
	s := &session{
		c: c, order: o, opts: opts, hosts: hosts, copies: copies, wires: wires{news: make(chan hostNews, 256), ticker: time.NewTicker(sessionTick)},
	}
	for k, l := range o.loads() {
		s.lives = append(s.lives, &live{merge: merge.NewLive(o.header(&l), l.AbortOn), maker: fileName(hosts[0].peer.Name, k*o.Processes+1)})
	}
	return s, nil
}

func (s *session) close() {
	s.wires.ticker.Stop()
	if s.wires.cut != nil {
		s.wires.cut() // nobody waits to deliver news any more
		s.wires.live.Wait()
		for _, r := range s.hosts {
			r.following.live.Wait()
		}
	}
	undone := s.stage < stepRunning || s.stage == stepUndoing
	s.stage = stepFinished
	s.show(true)
	s.copies.close(!undone)
}

// deliver passes news on to the session, until ctx ends.
func (s *session) deliver(ctx context.Context) func(hostNews) {
	return func(n hostNews) {
		select {
		case s.wires.news <- n:
		case <-ctx.Done():
		}
	}
}

// until handles news until done reports true; after the timeout it returns errTimeout.
func (s *session) until(ctx context.Context, timeout time.Duration, done func() bool) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	stop, abort := s.opts.Stop, s.opts.Abort
	if s.end.stopped {
		stop = nil
	}
	if s.end.leaving {
		abort = nil
	}
	for !done() {
		select {
		case n := <-s.wires.news:
			if err := s.handle(n); err != nil {
				return err
			}
		case <-s.wires.ticker.C:
			s.tick()
		case <-timer.C:
			return errTimeout
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			stop, s.end.stopped = nil, true
			if s.canUndo() {
				return errStopped
			}
			s.stopLoad()
		case <-abort:
			abort, stop, s.end.stopped, s.end.leaving = nil, nil, true, true
			if s.stage == stepUndoing || s.canUndo() {
				return errStopped
			}
			s.within(leaveGrace)
			s.orderAll(order{Abort: true})
			s.loseAway()
		}
	}
	return nil
}

// await does something that ends soon after its context, and handles news meanwhile.
func (s *session) await(ctx context.Context, timeout time.Duration, do func(context.Context)) error {
	working, giveUp := context.WithCancel(context.WithoutCancel(ctx)) // the wait ends with ctx
	s.end.giveUp = giveUp
	over, end := context.WithCancel(context.Background())
	wake := s.deliver(working)
	go func() {
		do(working)
		end()
		wake(hostNews{}) // until would notice at its next tick only
	}()
	err := s.until(ctx, timeout, func() bool { return over.Err() != nil })
	giveUp()
	<-over.Done()
	return err
}

// stopLoad ends the load on all hosts.
func (s *session) stopLoad() {
	s.end.stopped = true
	s.within(drainGrace)
	s.orderAll(order{Stop: true, Why: s.end.broken})
	if !s.overAt.IsZero() {
		s.loseAway() // there is nothing else to stop
	}
}

// canUndo reports whether the run can still be undone on all hosts: an order must reach them before the start.
func (s *session) canUndo() bool {
	return s.stage != stepUndoing && (s.stage < stepRunning || s.elapsed() < -undoAhead)
}

// orderAll gives an order to every host.
func (s *session) orderAll(o order) {
	for _, r := range s.hosts {
		r.order(o)
	}
}

// elapsed returns the time since the agreed start, below 0 before it.
func (s *session) elapsed() time.Duration {
	if s.agreed.IsZero() {
		return 0
	}
	return s.c.Now().Sub(s.agreed)
}
