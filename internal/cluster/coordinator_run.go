package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// The wait for hosts that are away, after the load of all others has ended.
	comebackGrace = 30 * time.Second
	// Draining may take the delivery timeout of two minutes; the rest is slack.
	drainGrace = 3 * time.Minute
	// Agents kill processes abortGrace after the order to leave. The rest is for their files.
	leaveGrace = abortGrace + 3*time.Second
)

// prepare brings all hosts to the agreed start. Any problem of a host is an error. The first
// process makes the topic, so it opens its clients before the others do.
func (s *session) prepare(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	for _, l := range s.links {
		l.tell(toAgent{Offer: &l.offer})
	}
	answered := s.all(func(l *link) bool { return l.state >= linkAccepted || l.trouble != "" })
	if err := s.until(ctx, offerTimeout, answered); err != nil {
		return s.nameSlow(err, "answer the offer", func(l *link) bool { return l.state < linkAccepted })
	}
	if err := s.refusals(); err != nil {
		return err
	}
	s.stage = stagePreparing
	first := s.links[0]
	first.tell(toAgent{Open: &open{Epoch: s.order.Epoch, Processes: []int{1}}})
	if err := s.until(ctx, openTimeout, func() bool { return first.parts[0].state == partReady }); err != nil {
		return s.nameSlow(err, "get ready", func(l *link) bool { return l == first })
	}
	for _, l := range s.links {
		l.state = linkOpening
		l.tell(toAgent{Open: &open{Epoch: s.order.Epoch}})
	}
	if err := s.until(ctx, openTimeout, s.all((*link).isReady)); err != nil {
		return s.nameSlow(err, "get ready", func(l *link) bool { return !l.isReady() })
	}
	if h := s.links[0].parts[0].header; h != nil {
		s.view.learn(h)
	}
	s.warnReaders()
	s.stage = stageSyncing
	if err := s.sync(ctx); err != nil {
		return err
	}
	s.stage = stageStarting
	ahead := s.giveStart()
	// The last quarter is for undoing the run in time if an agent does not confirm.
	if err := s.until(ctx, ahead*3/4, s.all(func(l *link) bool { return l.state == linkStarting })); err != nil {
		return s.nameSlow(err, "confirm the start", func(l *link) bool { return l.state != linkStarting })
	}
	s.started = true
	return nil
}

// warnReaders warns of consumers that will read nothing. Each partition is read by one consumer
// of a group, or by one of all consumers if there is no group.
func (s *session) warnReaders() {
	p := &s.order.Plan
	h := s.links[0].parts[0].header
	if !p.Reads() || h == nil {
		return
	}
	who := "consumers"
	if p.Read.Groups > 1 {
		who = "consumers of each group"
	}
	partitions := h.Environment.Partitions()
	if idle := p.Read.Consumers - partitions; partitions > 0 && idle > 0 {
		s.c.Log(fmt.Sprintf("%d %s share %s: nothing to read for %d of them", p.Read.Consumers, who, theme.Plural(partitions, "partition", "partitions"), idle))
	}
}

// isReady reports whether all processes of the host are ready.
func (l *link) isReady() bool {
	for i := range l.parts {
		if l.parts[i].state != partReady {
			return false
		}
	}
	return true
}

// all returns a condition for until: that is holds for every link.
func (s *session) all(is func(*link) bool) func() bool {
	return func() bool { return !slices.ContainsFunc(s.links, func(l *link) bool { return !is(l) }) }
}

// nameSlow turns a timeout into an error that names the slow hosts.
func (s *session) nameSlow(err error, what string, slow func(*link) bool) error {
	if !errors.Is(err, errTimeout) {
		return err
	}
	var names []string
	for _, l := range s.links {
		if slow(l) {
			names = append(names, l.peer.Name)
		}
	}
	return fmt.Errorf("%s did not %s in time", strings.Join(names, ", "), what)
}

// refusals returns the refusals of all hosts in one error, so that a user can fix all at once.
func (s *session) refusals() error {
	var errs []error
	for _, l := range s.links {
		if l.trouble != "" {
			errs = append(errs, fmt.Errorf("%s %s", l.peer.Name, l.trouble))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &refusedError{errors.Join(errs...)}
}

// connect opens a stream to every agent and starts the links.
func (s *session) connect(ctx context.Context) error {
	streams, errs := make([]stream, len(s.links)), make([]error, len(s.links))
	err := s.await(ctx, 2*peerTimeout, func(ctx context.Context, i int, l *link) {
		ctx, cancel := context.WithTimeout(ctx, peerTimeout)
		defer cancel()
		var h hello
		if streams[i], h, errs[i] = s.c.connect(ctx, l.peer.Addr); errs[i] != nil {
			errs[i] = fmt.Errorf("%s (%s): %w", l.peer.Name, l.peer.Addr, unanswered(errs[i], peerTimeout))
		} else if h.Name != l.peer.Name {
			errs[i] = fmt.Errorf("%s: the agent at %s is called %s", l.peer.Name, l.peer.Addr, h.Name)
		}
	})
	if err == nil {
		err = errors.Join(errs...)
	}
	if err != nil {
		for _, st := range streams {
			if st != nil {
				_ = st.Close() // nothing was sent
			}
		}
		return err
	}
	// The links outlive ctx, because after it ends the agents are told to end the run.
	keeping, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	s.hangUp = hangUp
	for i, l := range s.links {
		l.up, l.heard = true, time.Now()
		s.keep.Go(func() { l.run(keeping, s.c, streams[i], s.events) })
	}
	return nil
}

// sync compares the clocks of all agents with this one. No other messages are sent meanwhile:
// they would delay the pings.
func (s *session) sync(ctx context.Context) error {
	clocks, errs := make([]clock, len(s.links)), make([]error, len(s.links))
	err := s.await(ctx, pings*pingTimeout, func(ctx context.Context, i int, l *link) {
		st, err := l.current()
		if err == nil {
			clocks[i], err = l.pinger.best(ctx, st, pings)
		}
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w", l.peer.Name, err)
		}
	})
	if err != nil {
		return err
	}
	for i, l := range s.links {
		l.clock, l.agreed = clocks[i], clocks[i]
	}
	return errors.Join(errs...)
}

// giveStart sets the start, sends it to every agent by that agent's clock, and returns the time
// until then.
func (s *session) giveStart() time.Duration {
	ahead := startAhead
	for _, l := range s.links {
		ahead = max(ahead, startTrips*l.agreed.rtt)
	}
	s.agreed = s.c.Now().Add(ahead)
	for _, l := range s.links {
		l.tell(toAgent{Start: &startRun{Epoch: s.order.Epoch, Order: StartOrder{
			At:     s.agreed.Add(l.agreed.offset).UTC(),
			Agreed: result.Agreed{At: s.agreed.UTC(), Offset: l.agreed.offset, Bound: l.agreed.bound()},
		}}})
	}
	return ahead
}

// run follows the load until every process has finished or is given up.
func (s *session) run(ctx context.Context) error {
	s.stage = stageRunning
	lasts, more := s.order.Plan.Load.Duration.Std(), drain(&s.order.Plan, s.order.Producer)
	if lasts > 0 && more > 0 {
		s.within(lasts - s.elapsed() + more + drainGrace - drainWithin)
	}
	return s.until(ctx, maxRunTime, s.all(s.unawaited))
}

// await calls do for every link, each on a goroutine of its own, and handles events meanwhile.
// All calls have ended when it returns.
func (s *session) await(ctx context.Context, timeout time.Duration, do func(ctx context.Context, i int, l *link)) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var doing sync.WaitGroup
	for i, l := range s.links {
		doing.Go(func() { do(ctx, i, l) })
	}
	go func() {
		doing.Wait()
		close(done)
		select {
		case s.events <- event{}: // wakes until, which would notice at its next tick only
		case <-ctx.Done():
		}
	}()
	err := s.until(ctx, timeout, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	cancel()
	<-done
	return err
}

// elapsed returns the time since the agreed start, below 0 before it.
func (s *session) elapsed() time.Duration {
	if s.agreed.IsZero() {
		return 0
	}
	return s.c.Now().Sub(s.agreed)
}
