package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Times of a coordinator's requests to one agent during a run.
const (
	pollTimeout = heldFor + 3*time.Second // an attempt that began while the network was cut must not outlast that by much
	hangAfter   = 10 * time.Second        // the silence before the start after which a host has failed
)

// remote is a coordinator's connection to one agent. What follows again belongs to the session.
type remote struct {
	peer  Peer
	offer offer
	c     *Client

	accepted bool // the agent has accepted the offer

	mu      sync.Mutex      // guards what follows
	orders  order           // all so far
	pending *order          // those that the agent may not have yet; nil: it has all
	again   context.Context // ends when all requests have to be made again
	renew   context.CancelFunc

	state     hostState
	clocks    clocks
	compared  clock // before the start
	following followers
}

// followers read the files of a host.
type followers struct {
	live  sync.WaitGroup
	start func(*copyFile) // follows a file
	stop  context.CancelFunc
}

func newRemote(c *Client, p Peer, o offer) *remote {
	r := &remote{peer: p, offer: o, c: c, state: newHostState(len(o.Shares), time.Now())}
	r.again, r.renew = context.WithCancel(context.Background())
	return r
}

// hostNews is what a goroutine of a remote tells the session: status, err or text. One without a remote only wakes it.
type hostNews struct {
	from   *remote
	status *runStatus
	clock  clock  // with status
	err    error  // why there is no status
	text   string // for the user
}

// order gives the agent an order as soon as it can be reached.
func (r *remote) order(o order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.orders.and(o); all != r.orders {
		r.orders, r.pending = all, &all
		r.startAgain()
	}
}

// startAgain makes all requests begin again: a broken connection may report nothing. The caller holds mu.
func (r *remote) startAgain() {
	r.renew()
	r.again, r.renew = context.WithCancel(context.Background())
}

// attempt returns a context for one attempt of a request, and the orders that the agent may not have yet.
func (r *remote) attempt(ctx context.Context) (trying context.Context, cancel context.CancelFunc, pending *order) {
	trying, end := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	stop := context.AfterFunc(r.again, end)
	return trying, func() { stop(); end() }, r.pending
}

// poll asks for the state of the run until ctx ends, and repeats orders until the agent answers them.
func (r *remote) poll(ctx context.Context, report func(hostNews)) {
	var wait backoff
	for version := 0; ctx.Err() == nil; {
		trying, cancel, pending := r.attempt(ctx)
		s, now, err := r.ask(trying, version, pending)
		renewed := trying.Err() != nil
		cancel()
		var answer *agentError
		refused := errors.As(err, &answer)
		switch {
		case err == nil:
			version, wait = s.Version, 0
			report(hostNews{from: r, status: s, clock: now})
		case renewed:
			continue
		default:
			report(hostNews{from: r, err: err})
		}
		r.mu.Lock()
		switch {
		case err != nil && !refused: // the agent may not have the orders
			r.startAgain()
		case r.pending == pending:
			r.pending = nil
		}
		r.mu.Unlock()
		switch {
		case refused:
			pause(ctx, heldFor)
		case err != nil:
			wait.pause(ctx)
		}
	}
}

// ask asks for the state of the run once: with an order at once, else when it has changed.
func (r *remote) ask(ctx context.Context, version int, pending *order) (*runStatus, clock, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	s := new(runStatus)
	method, path, sent := http.MethodGet, runPath(r.offer.Part.Epoch), r.c.Now()
	var body any
	if pending != nil {
		method, body = http.MethodPost, pending
	} else {
		path += "?after=" + strconv.Itoa(version)
	}
	err := r.c.call(ctx, method, r.peer.Addr, path, body, s)
	return s, compare(sent, s.Clock.Received, s.Clock.Sent, r.c.Now()), err
}

// follow keeps a copy of a run file growing until the file is complete.
func (r *remote) follow(ctx context.Context, f *copyFile, report func(hostNews)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.create(); err != nil {
		report(noCopy(r, f, err))
	}
	for wait := backoff(0); ctx.Err() == nil; wait.pause(ctx) {
		trying, cancel, _ := r.attempt(ctx)
		before := f.size
		err := r.c.pull(trying, r.peer.Addr, f, 0, true)
		cancel()
		var here *agentError
		switch {
		case err == nil || errors.Is(err, errForeign):
			return
		case errors.As(err, &here) && here.code == 0 && f.file == nil:
			return // the host sends too much
		case errors.As(err, &here) && here.code == 0: // this machine's disk; the screen needs no file
			report(noCopy(r, f, errors.Join(err, f.discard())))
		case f.size > before:
			wait = 0
		}
	}
}

// noCopy tells that no copy of a run file is kept.
func noCopy(r *remote, f *copyFile, err error) hostNews {
	if f.want.Process == 0 {
		return hostNews{} // fetching it will say so
	}
	return hostNews{from: r, text: fmt.Sprintf("%s, process %d: no copy is kept in %s: %v", r.peer.Name, f.want.Process, f.of.dir, err)}
}

// backoff is the wait until the next attempt. It doubles up to retryMost; 0: it is the first.
type backoff time.Duration

func (b *backoff) pause(ctx context.Context) {
	wait := max(time.Duration(*b), 100*time.Millisecond)
	*b = backoff(min(2*wait, retryMost))
	pause(ctx, wait)
}

// pause waits, until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// clock is an estimate of the offset of another clock.
type clock struct {
	offset time.Duration // the other one minus this one
	rtt    time.Duration
	taken  time.Time // by this clock
}

// bound returns the largest possible error of the offset: half the round trip, if one way took all of it.
func (c clock) bound() time.Duration { return (c.rtt + 1) / 2 }

// compare returns the estimate of one request. sent and back are by this clock, received and answered by the other one.
func compare(sent, received, answered, back time.Time) clock {
	there, home := received.Sub(sent), answered.Sub(back)
	rtt := max(0, back.Sub(sent)-answered.Sub(received))
	return clock{offset: home + (there-home)/2, rtt: rtt, taken: back}
}

// better returns the estimate with the shorter round trip, whose bound is tighter.
func better(a, b clock) clock {
	if a.taken.IsZero() || !b.taken.IsZero() && b.rtt < a.rtt {
		return b
	}
	return a
}

const (
	echoes      = 32              // requests of one comparison
	echoTimeout = 2 * time.Second // of one request
	// clockWindow is the age at which a comparison of clocks is replaced: clocks drift by up to 50 µs a second.
	clockWindow = 10 * time.Second
)

// compareClocks returns the best estimate of several requests, one after the other.
func (c *Client) compareClocks(ctx context.Context, addr string) (clock, error) {
	var best clock
	for range echoes {
		trying, cancel := context.WithTimeout(ctx, echoTimeout)
		var e clockEcho
		sent := c.Now()
		err := c.call(trying, http.MethodGet, addr, "/v1/clock", nil, &e)
		one := compare(sent, e.Received, e.Sent, c.Now())
		if cancel(); err != nil {
			return clock{}, unanswered(err, echoTimeout)
		}
		best = better(best, one)
	}
	return best, nil
}

// clocks are the comparisons with one host during a run.
type clocks struct {
	best   clock // of the last whole window
	recent clock // of the current window
	agreed clock // by which the start was agreed
}

// add takes in a comparison. The estimate is the one with the shortest round trip of the last whole window.
func (c *clocks) add(now clock) {
	if !c.recent.taken.IsZero() && now.taken.Sub(c.recent.taken) > clockWindow {
		c.best, c.recent = c.recent, clock{}
	}
	c.recent = better(c.recent, now)
	if c.best.taken.IsZero() {
		c.best = now
	}
}

// moved returns the difference of a clock's offset to the one that the start was agreed by; 0 if the bounds explain it.
func (c *clocks) moved(now clock) time.Duration {
	if c.agreed.taken.IsZero() {
		return 0
	}
	moved := now.offset - c.agreed.offset
	if moved.Abs() <= now.bound()+c.agreed.bound() {
		return 0
	}
	return moved
}
