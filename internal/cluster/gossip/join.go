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
	retryFirst    = time.Second             // the first wait for an address that did not answer: agents are often started together
	retryLast     = 30 * time.Second        // the longest one
	checkAfter    = 5 * time.Second         // the interval of checks, in the table only, for live members at the addresses to join
	lookupAfter   = 30 * time.Second        // until a name is lookedUp up again: agents that were about to start may be missing
	mendAfter     = 5 * time.Second         // the interval of attempts to reach a member that is gone, which memberlist forgets
	lookupTimeout = 10 * time.Second        // of the lookup of a name
	leaveTimeout  = 1500 * time.Millisecond // a packet to each member and two rounds of gossip
)

// keep joins the agents at the addresses of a name, which change, whenever one of them is no live member, until ctx ends.
func (g *Gossip) keep(ctx context.Context, target string) {
	var addrs []string // the addresses of the last lookup
	var lookedUp time.Time
	wait, reported := retryFirst, false
	for ctx.Err() == nil {
		if len(addrs) > 0 && len(g.missing(addrs)) == 0 && time.Since(lookedUp) < g.scaled(lookupAfter) {
			wait = retryFirst
			g.pause(ctx, checkAfter)
			continue
		}
		found, err := g.join(ctx, target)
		if lookedUp = time.Now(); len(found) > 0 {
			addrs = found
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !reported && len(g.missing(addrs)) == len(addrs):
			reported = true
			g.report("join %s: %s; it is tried until somebody answers", clean(target), clean(err.Error()))
		case err == nil && reported:
			reported = false
			g.report("join %s: joined", clean(target))
		}
		g.pause(ctx, wait)
		wait = min(2*wait, retryLast)
		if g.isContested() {
			wait = min(wait, mendAfter)
		}
	}
}

// mend tries, until ctx ends, members that are gone, and exchanges tables a few times soon after the start.
func (g *Gossip) mend(ctx context.Context) {
	for round := 1; ctx.Err() == nil; round++ {
		g.pause(ctx, mendAfter)
		all := g.table.list(time.Now())
		g.exchange(ctx, all, Gone)
		// When many agents join at once, some news get lost. Rounds 1, 2, 4 and 8 end 40 s after the start.
		if round <= 8 && round&(round-1) == 0 {
			g.exchange(ctx, all, Alive)
		}
	}
}

// exchange exchanges tables with a random member in the given state.
func (g *Gossip) exchange(ctx context.Context, all []Member, state string) {
	all = slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return m.State != state || m.Name == g.name })
	if len(all) > 0 && ctx.Err() == nil {
		// An error is no news: the member is gone already, or a probe will find out.
		_, _ = g.list.Join([]string{all[rand.IntN(len(all))].Addr})
	}
}

// missing returns the addresses that are neither this agent's own nor a live member's. A contested name is joined again.
func (g *Gossip) missing(addrs []string) []string {
	var live []Member
	if !g.isContested() {
		live = slices.DeleteFunc(g.table.list(time.Now()), func(m Member) bool { return m.isAway() })
	}
	return slices.DeleteFunc(slices.Clone(addrs), func(addr string) bool {
		return g.isOwn(addr) || slices.ContainsFunc(live, func(m Member) bool { return m.Addr == addr })
	})
}

// isOwn reports whether an address is this agent's, or loopback, for which a host's name may stand on that host.
func (g *Gossip) isOwn(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return false
	}
	return a == g.addr || a.Port() == g.bound.Port() && (a == g.bound || g.bound.Addr().IsUnspecified() && a.Addr().IsLoopback())
}

// join looks a name up, exchanges tables with one of its agents that are missing, and returns its addresses.
func (g *Gossip) join(ctx context.Context, target string) ([]string, error) {
	host, at, err := port.Split(target)
	if err != nil {
		return nil, err
	}
	looking, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := port.Lookup(looking, host)
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
		addrs[i] = netip.AddrPortFrom(ip, uint16(at)).String()
	}
	missing := g.missing(addrs)
	// In random order, so that agents that were started together do not all ask the same one, or one that is silent.
	rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
	for _, addr := range missing {
		if ctx.Err() != nil {
			return addrs, ctx.Err()
		}
		var n int
		if n, err = g.list.Join([]string{addr}); n > 0 {
			return addrs, nil
		}
	}
	if len(missing) > 0 {
		err = reason(err)
	}
	return addrs, err
}

// reason turns an error of memberlist into one for users. That error is a list of texts, and reason takes the last one.
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
	return fmt.Errorf("no answer (%s)", text[strings.LastIndex(": "+text, ": "):])
}

// joinFailed begins a text of memberlist, before the address and the reason.
const joinFailed = "failed to join "

// isContested reports whether another agent has presented this agent's name of late.
func (g *Gossip) isContested() bool {
	return slices.ContainsFunc(g.table.list(time.Now()), func(m Member) bool { return m.Name == g.name && m.Rival != "" })
}

// scaled returns a duration, which is shorter in tests.
func (g *Gossip) scaled(d time.Duration) time.Duration {
	return time.Duration(d.Seconds() * float64(g.tick))
}

// pause waits for a duration, a quarter more or less, so that agents do not dial at the same time.
func (g *Gossip) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(time.Duration(float64(g.scaled(d)) * (0.75 + rand.Float64()/2)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
