package cluster

import (
	"context"
	"net/http"
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

// compare returns the estimate of one request. sent and back are by this clock, received and
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

const (
	echoes      = 32              // requests of one comparison
	echoTimeout = 2 * time.Second // of one request
	// clockWindow is the age at which a comparison of clocks is replaced by a newer one: clocks
	// drift by up to 50 µs a second.
	clockWindow = 10 * time.Second
)

// echo compares the clock of an agent once.
func (c *Client) echo(ctx context.Context, addr string) (clock, error) {
	ctx, cancel := context.WithTimeout(ctx, echoTimeout)
	defer cancel()
	var e clockEcho
	sent := c.Now()
	if err := c.call(ctx, http.MethodGet, addr, "/v1/clock", nil, &e); err != nil {
		return clock{}, unanswered(err, echoTimeout)
	}
	return compare(sent, e.Received, e.Sent, c.Now()), nil
}

// compareClocks returns the best estimate of several requests, one after the other.
func (c *Client) compareClocks(ctx context.Context, addr string) (clock, error) {
	var best clock
	for range echoes {
		one, err := c.echo(ctx, addr)
		if err != nil {
			return clock{}, err
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

// add takes in a comparison. The estimate is the one with the shortest round trip of the last
// whole window.
func (c *clocks) add(now clock) {
	if !c.recent.taken.IsZero() && now.taken.Sub(c.recent.taken) > clockWindow {
		c.best, c.recent = c.recent, clock{}
	}
	c.recent = better(c.recent, now)
	if c.best.taken.IsZero() {
		c.best = now
	}
}

// moved returns the difference of a clock's offset to the one that the start was agreed by; 0 if
// the bounds explain it.
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
