package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Times of a session.
const (
	offerTimeout = 15 * time.Second
	// Clients give up silent brokers by themselves, after about a minute.
	openTimeout = 3 * time.Minute
	// The start is at least startAhead and startTrips round trips of the slowest agent ahead,
	// so that every process knows it in time.
	startAhead = 2 * time.Second
	startTrips = 10
)

// prepare brings all hosts to the agreed start. Any problem of a host is an error. The first
// process makes the topic, so it opens its clients before the others do.
func (s *session) prepare(ctx context.Context) error {
	if err := s.each(ctx, peerTimeout, "", s.hosts, (*remote).meet); err != nil {
		return err
	}
	s.connect(ctx)
	err := s.each(ctx, offerTimeout, "answer the offer", s.hosts, (*remote).propose)
	for _, r := range s.hosts {
		if r.accepted() {
			s.apply(r, notice{Status: &runStatus{Stage: stageOffered}})
		}
	}
	if err != nil {
		return err
	}
	s.stage = stepPreparing
	if err := s.open(ctx, s.hosts[:1], openOrder{Processes: []int{1}}); err != nil {
		return err
	}
	if err := s.ready(ctx, s.hosts[:1], func(r *remote) bool { return r.state.Parts[0].State == partReady }); err != nil {
		return err
	}
	if err := s.open(ctx, s.hosts, openOrder{}); err != nil {
		return err
	}
	if err := s.ready(ctx, s.hosts, func(r *remote) bool { return r.state.ready() }); err != nil {
		return err
	}
	s.warnReaders(ctx)
	s.stage = stepSyncing
	if err := s.sync(ctx); err != nil {
		return err
	}
	s.stage = stepStarting
	if err := s.start(ctx); err != nil {
		return err
	}
	s.stage = stepRunning
	for _, r := range s.hosts {
		close(r.begun)
	}
	return nil
}

// each asks some hosts for something, all at the same time, and handles news meanwhile. An error names the hosts that
// failed. what is for those that did not answer in time: "" stands for their not answering at all.
func (s *session) each(ctx context.Context, timeout time.Duration, what string, hosts []*remote, do func(*remote, context.Context) error) error {
	errs := make([]error, len(hosts))
	all, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var asking sync.WaitGroup
	for i, r := range hosts {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(all, timeout)
			defer cancel()
			errs[i] = do(r, ctx)
		})
	}
	tell := s.tell(all)
	go func() {
		asking.Wait()
		close(done)
		tell(hostNews{}) // wakes until, which would notice at its next tick only
	}()
	err := s.until(ctx, timeout+time.Second, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	cancel()
	<-done
	if err != nil {
		return err
	}
	return failures(hosts, errs, timeout, what)
}

// failures returns the errors of hosts as one. If all hosts that failed have refused, it is a refusedError.
func failures(hosts []*remote, errs []error, timeout time.Duration, what string) error {
	var slow []string
	var refused, failed []error
	for i, r := range hosts {
		var no *refusedError
		switch err := errs[i]; {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded) && what != "":
			slow = append(slow, r.peer.Name)
		case errors.As(err, &no):
			refused = append(refused, fmt.Errorf("%s refuses: %w", r.peer.Name, err))
		default:
			failed = append(failed, fmt.Errorf("%s%w", r.peer.Name, unanswered(err, timeout)))
		}
	}
	if len(slow) > 0 {
		failed = append(failed, fmt.Errorf("%s did not %s in time", strings.Join(slow, ", "), what))
	}
	switch {
	case len(failed) > 0:
		return errors.Join(append(failed, refused...)...)
	case len(refused) > 0:
		return &refusedError{errors.Join(refused...)}
	}
	return nil
}

// meet asks the agent for its name.
func (r *remote) meet(ctx context.Context) error {
	who, err := r.c.identify(ctx, r.peer.Addr)
	switch {
	case err != nil:
		return fmt.Errorf(" (%s): %w", r.peer.Addr, err)
	case who.Name != r.peer.Name:
		return fmt.Errorf(": the agent at %s is called %s", r.peer.Addr, who.Name)
	}
	return nil
}

// propose makes the agent an offer.
func (r *remote) propose(ctx context.Context) error {
	err := r.c.call(ctx, http.MethodPut, r.peer.Addr, runPath(r.offer.Part.Epoch), &r.offer, new(nothing))
	var said *agentError
	switch {
	case errors.As(err, &said):
		return &refusedError{err} // prepare reports the refusals of all hosts together
	case err != nil:
		return fmt.Errorf(": %w", err)
	}
	close(r.taken)
	return nil
}

// accepted reports whether the agent has accepted the offer.
func (r *remote) accepted() bool {
	select {
	case <-r.taken:
		return true
	default:
		return false
	}
}

// connect begins to follow the hosts. That outlives ctx, because after it ends the agents are told
// to end the run.
func (s *session) connect(ctx context.Context) {
	keeping, cut := context.WithCancel(context.WithoutCancel(ctx))
	s.wires.cut = cut
	tell := s.tell(keeping)
	for _, r := range s.hosts {
		following, stop := context.WithCancel(keeping)
		r.following.stop = stop
		r.following.start = func(f *copyFile) {
			r.following.live.Go(func() { r.follow(following, f, tell) })
		}
		s.wires.live.Go(func() { r.run(keeping, tell) })
	}
}

// open tells hosts to open processes.
func (s *session) open(ctx context.Context, hosts []*remote, o openOrder) error {
	return s.each(ctx, openTimeout, "get ready", hosts, func(r *remote, ctx context.Context) error { return r.prepare(ctx, verbOpen, o) })
}

// prepare gives an order of the preparation.
func (r *remote) prepare(ctx context.Context, verb string, body any) error {
	err := r.post(ctx, verb, body, offerTimeout)
	var said *agentError
	switch {
	case errors.As(err, &said):
		return fmt.Errorf(" refuses: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		return fmt.Errorf(": %w", err)
	}
	return nil
}

// ready waits until all of some hosts are ready.
func (s *session) ready(ctx context.Context, hosts []*remote, is func(*remote) bool) error {
	var slow []string
	err := s.until(ctx, openTimeout, func() bool {
		slow = slow[:0]
		for _, r := range hosts {
			if !is(r) {
				slow = append(slow, r.peer.Name)
			}
		}
		return len(slow) == 0
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("%s did not get ready in time", strings.Join(slow, ", "))
	}
	return err
}

// headerTimeout is the longest wait for the header of the first process, which is ready.
const headerTimeout = 2 * time.Second

// warnReaders warns of consumers that will read nothing. Each partition is read by one consumer of a group, or by
// one of all consumers if there is no group.
func (s *session) warnReaders(ctx context.Context) {
	p := &s.order.Plan
	if !p.Reads() {
		return
	}
	_ = s.until(ctx, headerTimeout, func() bool { return s.live.made() != nil }) // without it, nothing is said
	made := s.live.made()
	if made == nil {
		return
	}
	who := "consumers"
	if p.Read.Groups > 1 {
		who = "consumers of each group"
	}
	partitions := made.Partitions()
	if idle := p.Read.Consumers - partitions; partitions > 0 && idle > 0 {
		s.c.Log(fmt.Sprintf("%d %s share %s: nothing to read for %d of them", p.Read.Consumers, who, theme.Plural(partitions, "partition", "partitions"), idle))
	}
}

// sync compares the clocks of all agents with this one.
func (s *session) sync(ctx context.Context) error {
	best := make([]clock, len(s.hosts))
	at := make(map[*remote]int)
	for i, r := range s.hosts {
		at[r] = i
	}
	err := s.each(ctx, echoes*echoTimeout, "", s.hosts, func(r *remote, ctx context.Context) error {
		c, err := r.c.compareClocks(ctx, r.peer.Addr)
		if err != nil {
			return fmt.Errorf(": %w", err)
		}
		best[at[r]] = c
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range s.hosts {
		r.clocks.best, r.clocks.agreed = best[i], best[i]
	}
	return nil
}

// start sets the start, and gives it to every agent by that agent's clock.
func (s *session) start(ctx context.Context) error {
	ahead := startAhead
	for _, r := range s.hosts {
		ahead = max(ahead, startTrips*r.clocks.agreed.rtt)
	}
	s.agreed = s.c.Now().Add(ahead)
	agreed := s.agreed
	// The last quarter is for undoing the run in time if an agent does not confirm.
	err := s.each(ctx, ahead*3/4, "confirm the start", s.hosts, func(r *remote, ctx context.Context) error {
		c := r.clocks.agreed
		return r.prepare(ctx, verbStart, StartOrder{
			At:     agreed.Add(c.offset).UTC(),
			Agreed: result.Agreed{At: agreed.UTC(), Offset: c.offset, Bound: c.bound()},
		})
	})
	if errors.Is(err, errTimeout) {
		err = errors.New("the hosts did not confirm the start in time")
	}
	return err
}

// run follows the load until every process has finished or is given up.
func (s *session) run(ctx context.Context) error {
	lasts, more := s.order.Plan.Load.Duration.Std(), drain(&s.order.Plan, s.order.Producer)
	if lasts > 0 && more > 0 {
		s.within(lasts - s.elapsed() + more + drainGrace - drainWithin)
	}
	return s.until(ctx, maxRunTime, s.all(s.unawaited))
}

// all returns a condition for until: that is holds for every host.
func (s *session) all(is func(*remote) bool) func() bool {
	return func() bool {
		for _, r := range s.hosts {
			if !is(r) {
				return false
			}
		}
		return true
	}
}
