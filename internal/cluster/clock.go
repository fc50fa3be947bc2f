package cluster

import (
	"context"
	"sync"
	"time"
)

// clock is how another clock differs from this one.
type clock struct {
	offset time.Duration // the other one minus this one
	rtt    time.Duration
	taken  time.Time // by this clock
}

// bound returns by how much the offset may be wrong: the way there and the way back are at
// most the whole round trip apart.
func (c clock) bound() time.Duration { return (c.rtt + 1) / 2 }

// compare makes an estimate of one ping: sent and back by this clock, received and
// answered by the other one.
func compare(sent, received, answered, back time.Time) clock {
	there, home := received.Sub(sent), answered.Sub(back)
	rtt := max(0, back.Sub(sent)-answered.Sub(received))
	return clock{offset: home + (there-home)/2, rtt: rtt, taken: back}
}

// better returns the estimate with the shorter round trip: what the network adds to one, it
// can only add.
func better(a, b clock) clock {
	if a.taken.IsZero() || !b.taken.IsZero() && b.rtt < a.rtt {
		return b
	}
	return a
}

// pings is how many pings one comparison of clocks takes.
const pings = 32

// pingTimeout is how long a pong may take.
const pingTimeout = 2 * time.Second

// pinger compares clocks over a stream on which other things are said too.
type pinger struct {
	now func() time.Time
	one sync.Mutex // held for a whole ping: there is one at a time

	mu     sync.Mutex // guards the rest
	number int        // of the ping that is on its way
	sent   time.Time
	answer chan clock
}

// ping asks once. The pong comes by pong, from whoever reads the stream.
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

// pong takes in an answer, and reports whether it is that of the last ping; another is too
// late.
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

// best returns the best of n pings, one after the other.
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
