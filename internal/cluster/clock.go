package cluster

import (
	"context"
	"sync"
	"time"
)

// clock is an estimate of the offset of another clock.
type clock struct {
	offset time.Duration // the other one minus this one
	rtt    time.Duration
	taken  time.Time // by this clock
}

// bound returns the largest possible error of the offset: half the round trip, if one way took
// all of it.
func (c clock) bound() time.Duration { return (c.rtt + 1) / 2 }

// compare returns the estimate of one ping. sent and back are by this clock, received and
// answered by the other one.
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

// pings is the number of pings of one comparison.
const pings = 32

// pingTimeout is the longest wait for a pong.
const pingTimeout = 2 * time.Second

// pinger compares clocks over a stream that carries other messages too.
type pinger struct {
	now func() time.Time
	one sync.Mutex // held until the pong: there is one ping at a time

	mu     sync.Mutex // guards the rest
	number int        // of the last ping
	sent   time.Time
	answer chan clock
}

// ping sends one ping and waits for its answer. The reader of the stream must pass the answer to
// pong.
func (p *pinger) ping(ctx context.Context, s stream) (clock, error) {
	p.one.Lock()
	defer p.one.Unlock()
	answer := make(chan clock, 1)
	p.mu.Lock()
	p.number++
	n := p.number
	p.answer = answer
	p.sent = p.now()
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := send(ctx, s, toAgent{Ping: &ping{Number: n}}); err != nil {
		return clock{}, err
	}
	select {
	case c := <-answer:
		return c, nil
	case <-ctx.Done():
		return clock{}, unanswered(ctx.Err(), pingTimeout)
	}
}

// pong takes an answer. It returns the estimate, and false if the answer is not to the last
// ping.
func (p *pinger) pong(m *pong) (clock, bool) {
	back := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Number != p.number || p.answer == nil {
		return clock{}, false
	}
	c := compare(p.sent, m.Received, m.Sent, back)
	p.answer <- c
	p.answer = nil
	return c, true
}

// best returns the best estimate of n pings, one after the other.
func (p *pinger) best(ctx context.Context, s stream, n int) (clock, error) {
	var best clock
	for range n {
		c, err := p.ping(ctx, s)
		if err != nil {
			return clock{}, err
		}
		best = better(best, c)
	}
	return best, nil
}
