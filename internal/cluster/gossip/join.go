package gossip

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	// retryFirst and retryLast are how long an address that did not answer is left alone:
	// short, since agents of one network are often started together, then longer.
	retryFirst = time.Second
	retryLast  = 30 * time.Second

	// lookAfter is how often it is checked that somebody alive is at an address to join.
	// That costs no packet.
	lookAfter = 5 * time.Second

	// mendAfter is how often one of those who are gone is tried. Memberlist itself forgets
	// them, and two halves of a network would never find each other again.
	mendAfter = 5 * time.Second

	// lookupTimeout is how long a name server may take.
	lookupTimeout = 10 * time.Second
)

// keep joins an address, and again whenever nobody alive is there, until ctx ends.
func (g *Gossip) keep(ctx context.Context, target string) {
	var addrs []string // that it stood for when it was last joined
	wait, told := retryFirst, false
	for ctx.Err() == nil {
		if g.reached(addrs) {
			wait = retryFirst
			g.pause(ctx, lookAfter)
			continue
		}
		var err error
		addrs, err = g.join(ctx, target)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !told:
			told = true
			g.speak.say("join %s: %s; it is tried until somebody answers", clean(target), clean(err.Error()))
		case err == nil && told:
			told = false
			g.speak.say("join %s: joined", clean(target))
		}
		g.pause(ctx, wait)
		wait = min(2*wait, retryLast)
		if g.isContested() {
			wait = min(wait, mendAfter)
		}
	}
}

// mend makes up for what memberlist leaves out, until ctx ends: it tries those who are
// gone, one at a time, and looks a few times, soon after the start, who else is there.
func (g *Gossip) mend(ctx context.Context) {
	for round := 1; ctx.Err() == nil; round++ {
		g.pause(ctx, mendAfter)
		all := g.table.list(time.Now())
		g.exchange(ctx, all, Gone)
		// When many join at once, some of the news get lost, and the next exchange of
		// tables would be minutes away. Rounds 1, 2, 4 and 8: until 40 s after the start.
		if round <= 8 && round&(round-1) == 0 {
			g.exchange(ctx, all, Alive)
		}
	}
}

// exchange tells one of the members in a state who is there, and is told.
func (g *Gossip) exchange(ctx context.Context, all []Member, state string) {
	all = slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return m.State != state })
	if len(all) > 0 && ctx.Err() == nil {
		// That somebody does not answer is known, or is found out by a probe.
		_, _ = g.list.Join([]string{all[rand.IntN(len(all))].Addr})
	}
}

// reached reports whether nothing is to be done for addresses: one is this agent's own, or
// that of one that is alive, and nobody else goes by this agent's name.
func (g *Gossip) reached(addrs []string) bool {
	if slices.ContainsFunc(addrs, g.isOwn) {
		return true
	}
	if g.isContested() {
		return false
	}
	return slices.ContainsFunc(g.table.list(time.Now()), func(m Member) bool {
		return !m.isAway() && slices.Contains(addrs, m.Addr)
	})
}

// isOwn reports whether an address is this agent's. A host's name may stand for loopback on
// that host.
func (g *Gossip) isOwn(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return false
	}
	return addr == g.addr || a.Port() == g.bound.Port() && (a == g.bound || g.bound.Addr().IsUnspecified() && a.Addr().IsLoopback())
}

// join exchanges with the agent at an address who is there, and returns what the address
// stands for.
func (g *Gossip) join(ctx context.Context, target string) ([]string, error) {
	addrs, err := g.resolve(ctx, target)
	if err != nil || g.reached(addrs) {
		return addrs, err
	}
	n, err := g.list.Join(addrs)
	if n > 0 {
		return addrs, nil
	}
	return addrs, reason(err)
}

// resolve returns the addresses that a host:port stands for.
func (g *Gossip) resolve(ctx context.Context, target string) ([]string, error) {
	host, port, err := split(target)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if g.open {
		ips = slices.DeleteFunc(ips, func(ip netip.Addr) bool { return !ip.IsLoopback() })
		if len(ips) == 0 {
			return nil, errors.New("it is not on this machine, and there is no key: give --key-file")
		}
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = join(ip.String(), port)
	}
	return addrs, nil
}

// reason makes memberlist's error one that a user understands. It is a list of texts, of
// which the last is as good as any.
func reason(err error) error {
	if err == nil {
		return errors.New("no answer")
	}
	text := strings.TrimSpace(err.Error())
	for _, closed := range []string{"EOF", "connection reset", "broken pipe"} {
		if strings.Contains(text, closed) {
			return errors.New("it closed the connection: it has another key, or is no kt agent")
		}
	}
	return fmt.Errorf("no answer (%s)", ending(text))
}

// ending returns what an error's text comes to, without who tried what and where.
func ending(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+len(": "):]
	}
	return text
}

// contestedFor is for how long an agent keeps announcing itself after it was told that
// another has its name: that may be its own former self, which takes the others half a
// minute to give up.
const contestedFor = time.Minute

// contest notes that somebody else goes by this agent's name.
func (g *Gossip) contest(now time.Time) { g.contested.Store(now.Add(contestedFor).UnixNano()) }

// isContested reports whether somebody else did of late.
func (g *Gossip) isContested() bool { return time.Now().UnixNano() < g.contested.Load() }

// scaled returns a time of an agent whose seconds may be shorter, in tests.
func (g *Gossip) scaled(d time.Duration) time.Duration {
	return time.Duration(d.Seconds() * float64(g.tick))
}

// pause waits as long as said, a quarter more or less: agents that start together must
// not knock together.
func (g *Gossip) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(time.Duration(float64(g.scaled(d)) * (0.75 + rand.Float64()/2)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
