package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/cluster/port"
)

// Client talks to agents.
type Client struct {
	Now func() time.Time
	Log func(text string) // gets lines for the user

	conn *http.Client
	free func(dir string) (int64, error) // free bytes of a disk; nil: as the system tells
}

// NewClient returns a client of agents with a key. Without a key it reaches only agents on this machine.
func NewClient(key *port.Key, now func() time.Time, log func(text string)) *Client {
	return &Client{Now: now, Log: log, conn: port.Client(key)}
}

// Peer is an agent as a client sees it.
type Peer struct {
	Info
	Addr  string
	State string // "alive" if it answered, "unreachable" if it was asked and did not, or gossip.Gone: then it was not asked
	Rival string // address of another agent of this name; "": none is known

	Use
	Run     string // the name of its current run; "": idle
	Results int    // number of runs that it has files of

	// Offset is the peer's clock minus this one, wrong by at most Bound. RTT is the shortest round trip.
	Offset, Bound, RTT time.Duration

	Err error // if not nil, the peer did not answer, and only the gossip's data is known
}

// Use is how busy a host is.
type Use struct {
	CPU    float64 `json:"cpu_cores"` // in use now
	Cores  float64 `json:"cores"`
	Memory int64   `json:"memory_bytes"`
	Free   int64   `json:"available_bytes"`
}

// peerTimeout bounds all questions to one agent: connecting over a slow network, 32 comparisons of clocks, and useInterval.
const peerTimeout = 10 * time.Second

// Peers asks the agents at the given addresses about themselves, all at the same time. With follow it asks all members
// of the network instead: those that the first agent to answer knows from the gossip and that have not left. A peer
// that does not answer is in the list with its error. Peers returns an error only if no agent answers.
func (c *Client) Peers(ctx context.Context, addrs []string, follow bool) ([]Peer, error) {
	if len(addrs) == 0 {
		return nil, errors.New("no agent was named: give --join or --peers")
	}
	var peers []Peer
	var err error
	if follow {
		if peers, err = c.members(ctx, addrs); err != nil {
			return nil, err
		}
		addrs = nil
	}
	for _, a := range slices.Compact(slices.Sorted(slices.Values(addrs))) {
		peers = append(peers, Peer{Addr: a})
	}
	var asking sync.WaitGroup
	for i := range peers {
		if p := &peers[i]; p.Err == nil {
			asking.Go(func() { c.ask(ctx, p) })
		}
	}
	asking.Wait()
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Addr, b.Addr)) })
	pairRivals(peers)
	var errs []error
	for _, p := range peers {
		if p.Err == nil {
			return peers, nil
		}
		errs = append(errs, p.Err)
	}
	return peers, noAnswer(errs)
}

// pairRivals sets the rivals of agents with the same name that both answered. The peers are sorted by name.
func pairRivals(peers []Peer) {
	for i := range peers[min(1, len(peers)):] {
		if a, b := &peers[i], &peers[i+1]; a.Name == b.Name && a.Err == nil && b.Err == nil {
			a.Rival, b.Rival = b.Addr, a.Addr
		}
	}
}

// noAnswer returns the error for agents of which none answers, with advice.
func noAnswer(errs []error) error {
	err := errors.Join(errs...)
	if errors.Is(err, port.ErrAuth) || errors.Is(err, port.ErrNeedsKey) {
		return err
	}
	return fmt.Errorf("no agent answers: %w; start kt agent there, or name one that runs with --join HOST", err)
}

// members asks all given agents for the members of their gossip, and returns the first answer.
func (c *Client) members(ctx context.Context, addrs []string) ([]Peer, error) {
	ctx, cancel := context.WithCancel(ctx)
	var each []string // with those of a name that has several addresses: each may be of another agent
	for _, addr := range addrs {
		host, number, _ := net.SplitHostPort(addr)
		ips, _ := port.Lookup(ctx, host) // connecting tells what is wrong
		each = append(each, spread(addr, number, ips)...)
	}
	addrs = each
	answers := make(chan func() ([]Peer, error), len(addrs))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	for _, addr := range addrs {
		asking.Go(func() {
			p := Peer{Addr: addr}
			known := c.ask(ctx, &p)
			answers <- func() ([]Peer, error) { return fromGossip(p, known), p.Err }
		})
	}
	var errs []error
	for range addrs {
		peers, err := (<-answers)()
		if err == nil {
			return peers, nil
		}
		errs = append(errs, err)
	}
	return nil, noAnswer(errs)
}

// fromGossip returns the members that have not left, as peers. who is the agent that knows them.
func fromGossip(who Peer, known []gossip.Member) []Peer {
	if len(known) == 0 {
		return []Peer{{Addr: who.Addr}}
	}
	var peers []Peer
	for _, m := range known {
		if m.State == gossip.Left {
			continue
		}
		p := Peer{Info: Info{Name: m.Name, Role: m.Role, Tags: m.Tags}, Addr: m.Addr, State: m.State, Rival: m.Rival}
		if m.Name == who.Name {
			p.Addr = who.Addr // it works, and the advertised one may not from here
		}
		if m.State == gossip.Gone {
			p.Err = fmt.Errorf("%s is %s", m.Name, m.State)
		}
		peers = append(peers, p)
	}
	return peers
}

// ask fills p in with the answers of its agent, and returns the members that the agent knows.
func (c *Client) ask(ctx context.Context, p *Peer) []gossip.Member {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	who, err := c.identify(ctx, p.Addr)
	var best clock
	if err == nil {
		p.Info = who
		best, err = c.compareClocks(ctx, p.Addr)
	}
	var l agentState
	if err == nil {
		p.Offset, p.Bound, p.RTT = best.offset, best.bound(), best.rtt
		err = c.call(ctx, http.MethodGet, p.Addr, "/v1/state", nil, &l)
	}
	p.State, p.Use, p.Run, p.Results = gossip.Alive, l.Use, l.Run, l.Results
	if err != nil {
		name := p.Addr
		if p.Name != "" {
			name = p.Name + " (" + p.Addr + ")"
		}
		p.Err = fmt.Errorf("%s: %w", name, unanswered(err, peerTimeout))
		p.Name, p.State = cmp.Or(p.Name, p.Addr), "unreachable"
	}
	return l.Members
}

// identify asks an agent who it is.
func (c *Client) identify(ctx context.Context, addr string) (Info, error) {
	var who identity
	err := c.call(ctx, http.MethodGet, addr, "/v1/", nil, &who)
	return who.Info, err
}

// spread returns one address for each IP address of a name, or the address itself if there is no choice.
func spread(addr, number string, ips []netip.Addr) []string {
	if len(ips) < 2 {
		return []string{addr}
	}
	var all []string
	for _, ip := range ips {
		all = append(all, net.JoinHostPort(ip.Unmap().String(), number))
	}
	return all
}
