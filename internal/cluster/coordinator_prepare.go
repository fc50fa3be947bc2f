package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// Times of a session.
const (
	offerTimeout  = 15 * time.Second
	openTimeout   = 3 * time.Minute        // clients give up silent brokers by themselves, after about a minute
	headerTimeout = 2 * time.Second        // the longest wait for the header of the first process, which is ready
	startAhead    = 2 * time.Second        // the start is so far ahead that every process knows it
	startTrips    = 10                     // and so many round trips of the slowest agent
	sessionTick   = 250 * time.Millisecond // the interval of what depends on the time alone
	undoAhead     = 500 * time.Millisecond // in which an order reaches every agent
	clockStep     = 20 * time.Millisecond  // the least change of a clock that was set: none drifts that much in a few seconds
)

// prepare brings all hosts to the agreed start. The first process of a load makes its topic, so it opens its clients first.
func (s *session) prepare(ctx context.Context) error {
	if err := s.each(ctx, peerTimeout, "", (*remote).meet); err != nil {
		return err
	}
	err := s.each(ctx, offerTimeout, "answer the offer", (*remote).propose)
	for _, r := range s.hosts {
		if r.accepted {
			s.apply(r, notice{Status: &runStatus{Stage: stageOffered}})
		}
	}
	s.connect(ctx)
	if err != nil {
		return err
	}
	s.stage = stepPreparing
	first := s.hosts[0]
	for n := 0; n < len(first.state.Parts) && err == nil; n += s.order.Processes {
		first.order(order{Open: n + 1})
		err = s.ready(ctx, openTimeout, "get ready", func(r *remote) bool { return r != first || r.state.Parts[n].State == partReady })
	}
	if err == nil {
		for _, r := range s.hosts {
			r.order(order{Open: max(1, len(r.state.Parts))})
		}
		err = s.ready(ctx, openTimeout, "get ready", func(r *remote) bool {
			waits := slices.ContainsFunc(r.state.Parts, func(p partView) bool { return p.State != partReady })
			return r.state.Stage >= stageOpening && !waits
		})
	}
	for k, l := range s.order.loads() {
		if err == nil {
			err = s.warnReaders(ctx, &l, s.lives[k])
		}
	}
	if err == nil {
		err = s.each(ctx, echoes*echoTimeout, "", func(r *remote, ctx context.Context) (err error) {
			if r.compared, err = r.c.compareClocks(ctx, r.peer.Addr); err != nil {
				return fmt.Errorf(": %w", err)
			}
			return nil
		})
		for _, r := range s.hosts {
			r.clocks.best, r.clocks.agreed = r.compared, r.compared
		}
	}
	if err == nil {
		s.stage = stepStarting
		err = s.start(ctx)
	}
	if err == nil {
		s.stage = stepRunning
	}
	return err
}

// each asks all hosts for something at the same time. what is what slow ones did not do in time.
func (s *session) each(ctx context.Context, timeout time.Duration, what string, do func(*remote, context.Context) error) error {
	errs := make([]error, len(s.hosts))
	err := s.await(ctx, timeout+time.Second, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var asking sync.WaitGroup
		for i, r := range s.hosts {
			asking.Go(func() { errs[i] = do(r, ctx) })
		}
		asking.Wait()
	})
	if err != nil {
		return err
	}
	var slow []string
	var refused, failed []error
	for i, r := range s.hosts {
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
		failed = append(failed, late(slow, what))
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
	var answer *agentError
	switch {
	case errors.As(err, &answer):
		return &refusedError{err} // prepare reports the refusals of all hosts together
	case err != nil:
		return fmt.Errorf(": %w", err)
	}
	r.accepted = true
	return nil
}

// connect begins to follow the hosts. That outlives ctx, because after it ends the agents are told to end the run.
func (s *session) connect(ctx context.Context) {
	keeping, cut := context.WithCancel(context.WithoutCancel(ctx))
	s.wires.cut = cut
	report := s.deliver(keeping)
	for _, r := range s.hosts {
		following, stop := context.WithCancel(keeping)
		r.following.stop = stop
		r.following.start = func(f *copyFile) {
			r.following.live.Go(func() { r.follow(following, f, s.deliver(following)) }) // who waits for it may take no news
		}
		s.wires.live.Go(func() { r.poll(keeping, report) })
	}
}

// ready waits until all hosts are as they should be. what is for those that are not in time.
func (s *session) ready(ctx context.Context, timeout time.Duration, what string, is func(*remote) bool) error {
	var slow []string
	err := s.until(ctx, timeout, func() bool {
		slow = slow[:0]
		for _, r := range s.hosts {
			if !is(r) {
				slow = append(slow, r.peer.Name)
			}
		}
		return len(slow) == 0
	})
	if errors.Is(err, errTimeout) {
		return late(slow, what)
	}
	return err
}

// late returns the error of hosts that are too slow.
func late(hosts []string, what string) error {
	return fmt.Errorf("%s did not %s in time", strings.Join(hosts, ", "), what)
}

// warnReaders warns of consumers that will read nothing, where one consumer of a group reads each partition.
func (s *session) warnReaders(ctx context.Context, l *OneLoad, shown *live) error {
	p := &l.Plan
	if by, ok := l.System.(run.Partitioned); !p.Reads() || !ok || !by.ReadsByPartition() {
		return nil
	}
	err := s.until(ctx, headerTimeout, func() bool { return shown.made() != nil })
	switch {
	case errors.Is(err, errTimeout):
		return nil
	case err != nil:
		return err
	}
	who := "consumers"
	if p.Read.Groups > 1 {
		who = "consumers of each group"
	}
	partitions := shown.made().Partitions()
	if idle := p.Read.Consumers - partitions; partitions > 0 && idle > 0 {
		s.c.Log(fmt.Sprintf("%d %s share %s: nothing to read for %d of them", p.Read.Consumers, who, theme.Plural(partitions, "partition", "partitions"), idle))
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
	for _, r := range s.hosts {
		c := r.clocks.agreed
		r.order(order{Start: &StartOrder{
			At:     s.agreed.Add(c.offset).UTC(),
			Agreed: result.Agreed{At: s.agreed.UTC(), Offset: c.offset, Bound: c.bound()},
		}})
	}
	// The last quarter is for undoing the run in time if an agent does not confirm.
	return s.ready(ctx, ahead*3/4, "confirm the start", func(r *remote) bool { return r.state.Stage >= stageStarting })
}

// all returns a condition for until: that is holds for every host.
func (s *session) all(is func(*remote) bool) func() bool {
	return func() bool { return !slices.ContainsFunc(s.hosts, func(r *remote) bool { return !is(r) }) }
}
