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

	"github.com/kt-bench/kt/internal/cluster/port"
)

const (
	// retryFirst and retryLast are the shortest and the longest wait for an address that did not
	// answer. The first is short because agents are often started together.
	retryFirst = time.Second
	retryLast  = 30 * time.Second

	// lookAfter is the interval of checks, in the table only, for a live member at an address to
	// join.
	lookAfter = 5 * time.Second

	// mendAfter is the interval of attempts to reach a member that is gone. Memberlist forgets
	// them, so two halves of a network would never find each other again.
	mendAfter = 5 * time.Second

	// lookupTimeout bounds the lookup of a name.
	lookupTimeout = 10 * time.Second
)

// keep joins an address, and again whenever no live member is there, until ctx ends.
func (g *Gossip) keep(ctx context.Context, target string) {
	var addrs []string // the addresses of the last lookup
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

// mend does, until ctx ends, what memberlist does not: it tries members that are gone, one at a
// time, and exchanges tables a few times soon after the start.
func (g *Gossip) mend(ctx context.Context) {
	for round := 1; ctx.Err() == nil; round++ {
		g.pause(ctx, mendAfter)
		all := g.table.list(time.Now())
		g.exchange(ctx, all, Gone)
		// When many agents join at once, some news get lost, and the next exchange of tables may
		// be a minute away. Rounds 1, 2, 4 and 8 end 40 s after the start.
		if round <= 8 && round&(round-1) == 0 {
			g.exchange(ctx, all, Alive)
		}
	}
}

// exchange exchanges tables with a random member in the given state.
func (g *Gossip) exchange(ctx context.Context, all []Member, state string) {
	all = slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return m.State != state })
	if len(all) > 0 && ctx.Err() == nil {
		// An error is no news: the member is gone already, or a probe will find out.
		_, _ = g.list.Join([]string{all[rand.IntN(len(all))].Addr})
	}
}

// reached reports whether there is no need to join any of the addresses. One of them is this
// agent's own, or that of a live member while this agent's name is not contested.
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

// isOwn reports whether an address is this agent's. That includes loopback, for which a host's
// name may stand on that host.
func (g *Gossip) isOwn(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return false
	}
	return a == g.addr || a.Port() == g.bound.Port() && (a == g.bound || g.bound.Addr().IsUnspecified() && a.Addr().IsLoopback())
}

// join exchanges tables with the agent at an address, and returns the addresses of its name.
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

// resolve returns the addresses of a host:port.
func (g *Gossip) resolve(ctx context.Context, target string) ([]string, error) {
	host, at, err := port.Split(target)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := port.Lookup(ctx, host)
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
		addrs[i] = join(ip.String(), at)
	}
	return addrs, nil
}

// reason turns an error of memberlist into one for users. That error is a list of texts, and
// reason takes the last one.
func reason(err error) error {
	if err == nil {
		return errors.New("no answer")
	}
	text := strings.TrimSpace(err.Error())
	if i := strings.LastIndex(text, joinFailed); i >= 0 {
		// The addresses have no space, and a sentence of package port has.
		if _, sentence, ok := strings.Cut(text[i+len(joinFailed):], ": "); ok && strings.HasPrefix(sentence, "it ") {
			return errors.New(sentence)
		}
	}
	for _, closed := range []string{"EOF", "connection reset", "broken pipe"} {
		if strings.Contains(text, closed) {
			return errors.New("it closed the connection: it has too many, or is overloaded")
		}
	}
	return fmt.Errorf("no answer (%s)", ending(text))
}

// joinFailed begins a text of memberlist, before the address and the reason.
const joinFailed = "failed to join "

// ending returns the cause at the end of an error's text.
func ending(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+len(": "):]
	}
	return text
}

// contestedFor is the time for which an agent keeps announcing itself after a conflict about its
// name. The other agent may be its own earlier process, which members list for half a minute.
const contestedFor = time.Minute

// contest notes a conflict about this agent's name.
func (g *Gossip) contest(now time.Time) { g.contested.Store(now.Add(contestedFor).UnixNano()) }

// isContested reports whether there was such a conflict within contestedFor.
func (g *Gossip) isContested() bool { return time.Now().UnixNano() < g.contested.Load() }

// scaled returns a duration, which is shorter in tests.
func (g *Gossip) scaled(d time.Duration) time.Duration {
	return time.Duration(d.Seconds() * float64(g.tick))
}

// pause waits for a duration, a quarter more or less, so that agents that were started together
// do not dial at the same time.
func (g *Gossip) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(time.Duration(float64(g.scaled(d)) * (0.75 + rand.Float64()/2)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
