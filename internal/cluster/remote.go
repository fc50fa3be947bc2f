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
	// Clocks are compared often until the load begins, because the start depends on them.
	echoEvery  = time.Second
	echoSeldom = 5 * time.Second
	// An attempt that began while the network was cut must not outlast the cut by much.
	pollTimeout  = heldFor + 3*time.Second
	orderTimeout = 3 * time.Second
	// hangAfter is the silence before the start after which a host has failed.
	hangAfter = 10 * time.Second
)

// remote is a coordinator's connection to one agent. What follows mu belongs to the session.
type remote struct {
	peer  Peer
	offer offer
	c     *Client
	out   chan posting  // orders, which are tried until the agent has them
	taken chan struct{} // closed when the agent has accepted the offer
	begun chan struct{} // closed when the start is agreed on all hosts

	mu     sync.Mutex    // guards broken
	broken chan struct{} // closed when the connection proves broken

	state     hostState
	clocks    clocks
	told      map[string]bool // verbs that were put out
	following followers
}

// posting is an order to an agent.
type posting struct {
	verb string
	body any
}

// followers read the files of a host.
type followers struct {
	ids   map[string]bool // of the run files
	live  sync.WaitGroup
	start func(*copyFile) // follows a file
	stop  context.CancelFunc
}

func newRemote(c *Client, p Peer, o offer) *remote {
	return &remote{
		peer: p, offer: o, c: c, broken: make(chan struct{}), taken: make(chan struct{}), begun: make(chan struct{}), out: make(chan posting, 8), // each verb once
		state: newHostState(len(o.Shares), time.Now()), told: make(map[string]bool), following: followers{ids: make(map[string]bool)},
	}
}

// hostNews is what a goroutine of a remote tells the session: exactly one of the fields beside from is set. One
// without a remote only wakes the session.
type hostNews struct {
	from   *remote
	status *runStatus
	clock  *clock
	err    error  // why there is no status
	text   string // for the user
}

// run asks the agent about the run, and gives it orders, until ctx ends.
func (r *remote) run(ctx context.Context, tell func(hostNews)) {
	var asking sync.WaitGroup
	asking.Go(func() { r.poll(ctx, tell) })
	asking.Go(func() { r.echo(ctx, tell) })
	asking.Go(func() { r.deliver(ctx) })
	asking.Wait()
}

// poll asks for the state of the run: the agent answers when it changes, and every second.
func (r *remote) poll(ctx context.Context, tell func(hostNews)) {
	select {
	case <-r.taken:
	case <-ctx.Done():
	}
	version, wait := 0, time.Duration(0)
	for ctx.Err() == nil {
		var s runStatus
		asking, cancel := context.WithTimeout(ctx, pollTimeout)
		err := r.c.call(asking, http.MethodGet, r.peer.Addr, runPath(r.offer.Part.Epoch)+"?after="+strconv.Itoa(version), nil, &s)
		cancel()
		if err == nil {
			version, wait = s.Version, 0
			tell(hostNews{from: r, status: &s})
			continue
		}
		if ctx.Err() != nil {
			return
		}
		tell(hostNews{from: r, err: err})
		if _, ok := isUnknown(err); ok {
			wait = heldFor
		} else {
			r.renew()
			wait = min(max(2*wait, 100*time.Millisecond), retryMost)
		}
		pause(ctx, wait)
	}
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

// echo compares the clocks.
func (r *remote) echo(ctx context.Context, tell func(hostNews)) {
	every := echoEvery
	for pause(ctx, every); ctx.Err() == nil; pause(ctx, every) {
		select {
		case <-r.begun:
			every = echoSeldom
		default:
		}
		if now, err := r.c.echo(ctx, r.peer.Addr); err == nil { // poll reports errors
			tell(hostNews{from: r, clock: &now})
		}
	}
}

// deliver gives the agent orders, each until it has it or does not know the run.
func (r *remote) deliver(ctx context.Context) {
	for {
		var p posting
		select {
		case <-ctx.Done():
			return
		case p = <-r.out:
		}
		for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, retryMost) {
			err := r.post(ctx, p.verb, p.body, orderTimeout)
			var said *agentError
			if err == nil || errors.As(err, &said) {
				break
			}
			pause(ctx, wait)
		}
	}
}

// post gives an order once.
func (r *remote) post(ctx context.Context, verb string, body any, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return r.c.call(ctx, http.MethodPost, r.peer.Addr, runPath(r.offer.Part.Epoch, verb), body, new(nothing))
}

// tell puts an order out, unless it was put out before.
func (r *remote) tell(verb string, body any) {
	if !r.told[verb] {
		r.told[verb] = true
		r.out <- posting{verb, body}
	}
}

// renew makes the followers of files try again: a connection that is broken may tell nobody.
func (r *remote) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.broken)
	r.broken = make(chan struct{})
}

// attempt returns a context for one attempt to follow a file.
func (r *remote) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	broken := r.broken
	r.mu.Unlock()
	go func() { // it ends with the attempt
		select {
		case <-broken:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// follow keeps a copy of a run file growing until the file is complete.
func (r *remote) follow(ctx context.Context, f *copyFile, tell func(hostNews)) {
	release, err := f.take(ctx)
	if err != nil {
		return
	}
	defer release()
	if err := f.create(); err != nil {
		tell(noCopy(r, f, err))
	}
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, retryMost) {
		trying, cancel := r.attempt(ctx)
		before := f.size
		err := r.c.pull(trying, r.peer.Addr, f, 0, true)
		cancel()
		var here *agentError
		switch {
		case err == nil || errors.Is(err, errForeign):
			return
		case errors.As(err, &here) && here.code == 0 && f.file != nil: // this machine's disk; the screen needs no file
			tell(noCopy(r, f, errors.Join(err, f.discard())))
		case errors.As(err, &here) && here.code == 0:
			return // the host sends too much
		case f.size > before:
			wait = 100 * time.Millisecond
		}
		pause(ctx, wait)
	}
}

// noCopy tells that no copy of a run file is kept.
func noCopy(r *remote, f *copyFile, err error) hostNews {
	if f.want.Process == 0 {
		return hostNews{} // fetching it will say so
	}
	return hostNews{from: r, text: fmt.Sprintf("%s, process %d: no copy is kept in %s: %v", r.peer.Name, f.want.Process, f.of.dir, err)}
}
