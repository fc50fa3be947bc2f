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
	// Clients give up brokers that do not answer by themselves, after a minute or so.
	openTimeout = 3 * time.Minute
	// The start is so far ahead that every agent and process has it in time.
	startAhead = 2 * time.Second
	startTrips = 10 // and so many round trips, of the slowest agent
	// Hosts that went away are waited for so long after the end of the load.
	comebackGrace = 30 * time.Second
	// A process has its delivery timeout to drain, two minutes, and some.
	drainGrace = 3 * time.Minute
	// Agents kill what does not leave when it is told to after abortGrace; its files come
	// within the rest.
	leaveGrace = abortGrace + 3*time.Second
)

// prepare brings all hosts to the agreed start. Any trouble is an error.
func (s *session) prepare(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	for _, l := range s.links {
		l.tell(toAgent{Offer: &l.offer})
	}
	answered := s.all(func(l *link) bool { return l.state >= linkAccepted || l.trouble != "" })
	if err := s.until(ctx, offerTimeout, answered); err != nil {
		return s.because(err, "answer the offer", func(l *link) bool { return l.state < linkAccepted })
	}
	if err := s.refusals(); err != nil {
		return err
	}
	s.stage = stagePreparing
	first := s.links[0]
	first.tell(toAgent{Open: &open{Epoch: s.order.Epoch, Processes: []int{1}}})
	if err := s.until(ctx, openTimeout, func() bool { return first.parts[0].state == partReady }); err != nil {
		return s.because(err, "get ready", func(l *link) bool { return l == first })
	}
	for _, l := range s.links {
		l.state = linkOpening
		l.tell(toAgent{Open: &open{Epoch: s.order.Epoch}})
	}
	if err := s.until(ctx, openTimeout, s.all((*link).ready)); err != nil {
		return s.because(err, "get ready", func(l *link) bool { return !l.ready() })
	}
	s.warnReaders()
	s.stage = stageSyncing
	if err := s.sync(ctx); err != nil {
		return err
	}
	s.stage = stageStarting
	ahead := s.giveStart()
	// Who has not confirmed by then may not begin with the others.
	if err := s.until(ctx, ahead*3/4, s.all(func(l *link) bool { return l.state == linkStarting })); err != nil {
		return s.because(err, "confirm the start", func(l *link) bool { return l.state != linkStarting })
	}
	s.started = true
	return nil
}

// warnReaders tells of consumers that will read nothing: a partition is read by one
// consumer of a group, or of those that share the partitions without one.
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

func (l *link) ready() bool {
	for i := range l.parts {
		if l.parts[i].state != partReady {
			return false
		}
	}
	return true
}

// all tells of every link whether it is so.
func (s *session) all(is func(*link) bool) func() bool {
	return func() bool { return !slices.ContainsFunc(s.links, func(l *link) bool { return !is(l) }) }
}

// because names the hosts that let a stage take too long.
func (s *session) because(err error, what string, slow func(*link) bool) error {
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

// refusals are those of all hosts, so that they can be seen to all at once.
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

// connect opens a stream to every agent, and begins to listen.
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
				_ = st.Close() // nothing was said on it
			}
		}
		return err
	}
	// They outlive ctx: what is cancelled has to be told so.
	keeping, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	s.hangUp = hangUp
	for i, l := range s.links {
		l.up, l.heard = true, time.Now()
		s.keep.Go(func() { l.run(keeping, s.c, streams[i], s.events) })
	}
	return nil
}

// sync compares the clocks of all agents with this one. Nothing else is said meanwhile.
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

// giveStart agrees on the start, and returns how far ahead it is.
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

// await does something for every link, each on a goroutine of its own, while the session
// takes in what happens. All have ended when it returns.
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
		case s.events <- event{}: // rather than at its next look at the time
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
