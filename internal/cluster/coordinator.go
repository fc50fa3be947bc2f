package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// loadOrder is a load that many hosts make together.
type loadOrder struct {
	Run   string   // its name: --run
	Epoch string   // drawn at random for this run, and no other
	Args  []string // the command line, to be written down
	Plan  plan.Plan

	// The Java properties of the clients.
	Producer, Consumer map[string]plan.Given

	Load      []Peer // make the load
	Watch     []Peer // are only watched
	Processes int    // of each host that makes the load
}

// runOptions are what a run needs of its command.
type runOptions struct {
	Stop    <-chan struct{}  // closed: drain and finish
	Abort   <-chan struct{}  // closed: leave at once, with what comes within seconds
	Observe func(run.Second) // called about once a second, from one goroutine; it must not wait. nil: nobody looks
	Dir     string           // a folder that is there: the run files go into it
	Header  result.Header    // of the whole run, for its snapshots
}

// stage is how far a run of many hosts is.
type stage int

// The stages of a run of many hosts, in order.
const (
	stageLobby      stage = iota // the agents are asked
	stagePreparing               // clients are opened
	stageSyncing                 // clocks are compared
	stageStarting                // all wait for the agreed moment
	stageRunning                 // until every process has drained
	stageCollecting              // run files are fetched
	stageFinished
)

// outcome is what a run left.
type outcome struct {
	Files []string // paths of the run files, sorted: whole ones, and cut-off copies of what was lost
	Lost  []string // a sentence for everything that is not there
	// Ended is how each process of each host ended, in their order. One that died has
	// code 1 and says why.
	Ended map[string][]Ended
}

// refusedError is what agents answer to the offer of a load that they do not make: nothing
// was done.
type refusedError struct{ reasons error }

func (e *refusedError) Error() string { return e.reasons.Error() }

// Unwrap gives the reasons.
func (e *refusedError) Unwrap() error { return e.reasons }

// errStopped is a run that was stopped before its start.
var errStopped = errors.New("stopped before the start")

// errAborted is a run whose context ended after its start.
var errAborted = errors.New("the hosts were told to stop")

// Run makes a load on many hosts and fetches what they measured. An error before the
// start means that no load was made and nothing was left anywhere. One after it leaves
// the run files with the agents: Results fetches them. However it ends, no agent that can
// be told goes on.
func (c *Client) run(ctx context.Context, o loadOrder, opts runOptions) (outcome, error) {
	s, err := newSession(c, o, opts)
	if err != nil {
		return outcome{}, err
	}
	defer s.close()
	err = s.prepare(ctx)
	if err == nil {
		err = s.run(ctx)
	}
	if err != nil && (errors.Is(err, errStopped) || s.before()) {
		s.undo()
		return outcome{}, err
	}
	if err != nil { // the load goes on, and nobody would follow it
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

// Check tells what is wrong with an order by itself.
func (o *loadOrder) check() error {
	if len(o.Load) == 0 {
		return errors.New("--on: no agent makes the load")
	}
	if err := checkName(o.Run); err != nil {
		return fmt.Errorf("--run %w", err)
	}
	if err := checkName(o.Epoch); err != nil {
		return fmt.Errorf("epoch %w", err)
	}
	if o.Processes < 1 || o.Processes > maxProcesses {
		return fmt.Errorf("--processes %d: it must be from 1 to %d", o.Processes, maxProcesses)
	}
	if n := len(o.Load) + len(o.Watch); n > maxHosts {
		return fmt.Errorf("%d hosts: %d are the most", n, maxHosts)
	}
	seen := make(map[string]string)
	for _, p := range slices.Concat(o.Load, o.Watch) {
		if other, ok := seen[p.Name]; ok {
			return fmt.Errorf("two agents are called %s, at %s and %s: give each a --name of its own, or name it once if it is one", p.Name, other, p.Addr)
		}
		seen[p.Name] = p.Addr
	}
	return nil
}

// offers divides the load. They are in the order of the hosts' names.
func (o *loadOrder) offers() ([]*link, error) {
	byName := func(a, b Peer) int { return cmp.Compare(a.Name, b.Name) }
	load, watched := slices.SortedFunc(slices.Values(o.Load), byName), slices.SortedFunc(slices.Values(o.Watch), byName)
	parts, err := o.Plan.Divide(len(load) * o.Processes)
	if err != nil {
		return nil, err
	}
	var roster []result.Member
	for _, p := range load {
		roster = append(roster, result.Member{Host: p.Name, Role: p.Role, Processes: o.Processes})
	}
	for _, p := range watched {
		roster = append(roster, result.Member{Host: p.Name, Role: p.Role})
	}
	slices.SortFunc(roster, func(a, b result.Member) int { return cmp.Compare(a.Host, b.Host) })
	offerTo := func(p Peer) offer {
		return offer{
			Part: result.Part{Run: o.Run, Epoch: o.Epoch, Host: p.Name, Role: p.Role, Tags: p.Tags, Roster: roster},
			Plan: o.Plan, Producer: o.Producer, Consumer: o.Consumer, Args: o.Args, Lasts: lasts(&o.Plan),
		}
	}
	var links []*link
	for i, p := range load {
		f := offerTo(p)
		for k, part := range parts[i*o.Processes : (i+1)*o.Processes] {
			f.Shares = append(f.Shares, jobShare{
				Producers: part.Producers, Consumers: part.Read.Consumers, Share: part.Share, CreateTopic: i == 0 && k == 0,
			})
		}
		links = append(links, newLink(p, f))
	}
	for _, p := range watched {
		links = append(links, newLink(p, offerTo(p)))
	}
	for _, l := range links {
		if err := l.offer.fits(); err != nil {
			return nil, fmt.Errorf("%s: %w", l.peer.Name, err)
		}
	}
	return links, nil
}

// session is one run of many hosts, as its coordinator has it. All fields belong to the
// goroutine that called Run.
type session struct {
	c      *Client
	order  loadOrder
	opts   runOptions
	stage  stage
	links  []*link
	events chan event
	ticker *time.Ticker
	keep   sync.WaitGroup // of the links
	hangUp context.CancelFunc

	agreed  time.Time // the start, by this clock; zero: none yet
	started bool
	stopped bool      // by runOptions
	leaving bool      // at once, likewise
	undoing bool      // what was prepared
	overAt  time.Time // when all that are there had finished

	finishing bool // the agents were told to end the run, or left to do so

	deadline time.Time          // of the hosts that the stage waits for; zero: nobody knows
	giveUp   context.CancelFunc // ends the fetching of files; nil: there is none

	view   *view
	quota  *quota // of what hosts make this one write
	copies *copies
	sent   time.Time // the last tick
}

func newSession(c *Client, o loadOrder, opts runOptions) (*session, error) {
	links, err := o.offers()
	if err != nil {
		return nil, err
	}
	quota, err := newQuota(opts.Dir, c.free)
	if err != nil {
		return nil, err
	}
	copies, err := newCopies(opts.Dir, quota)
	if err != nil {
		return nil, err
	}
	return &session{
		c: c, order: o, opts: opts, links: links, events: make(chan event, 256), ticker: time.NewTicker(sessionTick),
		view: newView(opts.Header), quota: quota, copies: copies,
	}, nil
}

// sessionTick is how often a session looks at the time.
const sessionTick = 250 * time.Millisecond

func (s *session) close() {
	s.ticker.Stop()
	if s.hangUp != nil {
		s.hangUp()
		s.drain()
	}
	s.stage = stageFinished
	s.show(true)
	s.copies.close()
}

// drain lets the links end, which may be telling something.
func (s *session) drain() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.keep.Wait()
	}()
	for {
		select {
		case <-s.events:
		case <-done:
			return
		}
	}
}

// until takes in what happens until done, and for at most so long. Before the start any
// trouble is its error.
func (s *session) until(ctx context.Context, timeout time.Duration, done func() bool) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	stop, abort := s.opts.Stop, s.opts.Abort
	if s.stopped {
		stop = nil
	}
	if s.leaving {
		abort = nil
	}
	for !done() {
		select {
		case e := <-s.events:
			if err := s.take(e); err != nil {
				return err
			}
		case <-s.ticker.C:
			s.look()
		case <-timer.C:
			return errTimeout
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			stop, s.stopped = nil, true
			if s.before() {
				return errStopped
			}
			s.within(drainGrace)
			s.tellAll(doStop)
			if !s.overAt.IsZero() {
				s.without() // there is nothing else to stop
			}
		case <-abort:
			abort, stop, s.stopped, s.leaving = nil, nil, true, true
			if s.undoing || s.before() {
				return errStopped
			}
			s.within(leaveGrace)
			s.tellAll(doAbort)
			s.without()
		}
	}
	return nil
}

// before reports whether the run can still be undone everywhere: an order takes a moment to
// get to the agents.
func (s *session) before() bool {
	return !s.undoing && (!s.started || s.elapsed() < -undoAhead)
}

const undoAhead = 500 * time.Millisecond

var errTimeout = errors.New("it took too long")

// tellAll gives an order to every host, and again to those that come back.
func (s *session) tellAll(do string) {
	for _, l := range s.links {
		l.ordered[do] = true
		l.tell(toAgent{Order: &order{Epoch: s.order.Epoch, Do: do}})
	}
}
