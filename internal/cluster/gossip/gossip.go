package gossip

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/kt-bench/kt/internal/cluster/port"
)

// Options configure the gossip of an agent.
type Options struct {
	Port      *port.Listener // of this agent; it stays open after Close
	Key       *port.Key      // that of the port
	Advertise string         // host:port for the other agents; "": found automatically
	Join      []string       // host:port of any agents of the network, which may include this one
	Info      Info           // of this agent

	// Log gets lines for the operator, from any goroutine, and must not block. It may be nil.
	Log func(text string)

	tune func(*memberlist.Config) // changes the settings in tests; may be nil
}

// Gossip is the membership of an agent in a network.
type Gossip struct {
	name    string
	start   string         // random, of this start of the agent
	addr    netip.AddrPort // advertised
	bound   netip.AddrPort // of the port
	open    bool           // there is no key
	tick    time.Duration  // one second, shorter in tests
	table   *table         // of this agent, too
	log     func(text string)
	often   port.Journal // of what may happen often: a scanner or a broken network would cause thousands of equal lines
	list    *memberlist.Memberlist
	net     *transport
	stop    context.CancelFunc // of keep and mend
	loops   sync.WaitGroup
	closing sync.Once

	info Info
	meta []byte // info, encoded
}

// Start joins the network. It does not wait for the other agents: addresses that do not answer are tried until Close. A
// port.OptionError names the flag to change.
func Start(o Options) (*Gossip, error) {
	start := rand.Text()[:startLimit]
	meta, err := o.Info.encode(start)
	if err != nil {
		return nil, &port.OptionError{Err: err}
	}
	for _, j := range o.Join {
		if _, _, err := port.Split(j); err != nil {
			return nil, &port.OptionError{Err: fmt.Errorf("--join: %w", err)}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	g := &Gossip{
		name: o.Info.Name, start: start, open: o.Key == nil, table: newTable(),
		stop: stop, info: o.Info, meta: meta, bound: o.Port.Addr().(*net.TCPAddr).AddrPort(),
	}
	if g.log = o.Log; o.Log == nil {
		g.log = func(string) {}
	}
	g.often.Log = g.log
	if err := g.listen(ctx, o); err != nil {
		stop()
		return nil, err
	}
	for _, j := range slices.Compact(slices.Sorted(slices.Values(o.Join))) {
		g.loops.Go(func() { g.keep(ctx, j) })
	}
	g.loops.Go(func() { g.mend(ctx) })
	return g, nil
}

// listen starts memberlist on the port.
func (g *Gossip) listen(ctx context.Context, o Options) (err error) {
	own, at, err := advertised(ctx, o.Advertise, g.bound.Addr().Unmap(), o.Join)
	if err == nil && g.open && !own.IsLoopback() {
		err = fmt.Errorf("--advertise: %s is not on this machine alone, and there is no key: give --key-file", own)
	}
	if err != nil {
		return &port.OptionError{Err: err}
	}
	g.addr = netip.AddrPortFrom(own, uint16(cmp.Or(at, int(g.bound.Port()))))
	g.table.here(g.info, g.start, g.addr.String(), time.Now())
	c := settings(o.Key)
	if o.tune != nil {
		o.tune(c)
	}
	g.tick = 2 * c.GossipInterval
	c.Name, c.Logger = g.name, log.New(delegate{g}, "", 0)
	c.BindAddr, c.BindPort = g.bound.Addr().String(), int(g.bound.Port())
	c.AdvertiseAddr, c.AdvertisePort = g.addr.Addr().String(), int(g.addr.Port())
	c.Delegate, c.Events, c.Alive, c.Conflict = delegate{g}, delegate{g}, delegate{g}, delegate{g}
	g.net = newTransport(o.Port, o.Key)
	c.Transport = g.net
	if g.list, err = memberlist.Create(c); err != nil {
		return errors.Join(fmt.Errorf("start gossip on %s: %w", g.bound, err), g.net.Shutdown())
	}
	return nil
}

// settings returns memberlist's settings for a local network, with less traffic than by default.
func settings(key *port.Key) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.EnableCompression = false               // LZW takes CPU and makes random data longer
	c.GossipInterval = 500 * time.Millisecond // the default of 200 ms is for thousands of nodes
	c.PushPullInterval = 60 * time.Second     // repairs lost gossip by sending the whole table
	c.DeadNodeReclaimTime = time.Millisecond  // an agent that is gone may come back at another address at once
	c.QueueCheckInterval = time.Minute        // only for a metric that kt does not read
	c.Label = "kt"
	if key != nil {
		secret := key.Derive("gossip")
		c.SecretKey = secret[:]
		// The plain text that begins every packet keeps apart networks of other keys. It is no protection.
		label := key.Derive("gossip label")
		c.Label = "kt-" + hex.EncodeToString(label[:8])
	}
	return c
}

// Members returns all members sorted by name, including this agent and those that went away in the last ten minutes.
func (g *Gossip) Members() []Member {
	return g.table.list(time.Now())
}

// Close tells the others that this agent leaves, and ends all gossip connections. Close the port afterwards.
func (g *Gossip) Close() error { return g.end(true) }

// end closes, with or without a goodbye.
func (g *Gossip) end(goodbye bool) (err error) {
	g.closing.Do(func() {
		g.stop()
		g.net.hangUp() // ends dials, so that the loops end
		g.loops.Wait()
		if goodbye { // to the others a leave of memberlist looks like a failure, and a packet may be lost
			g.goodbye()
			_ = g.list.Leave(leaveTimeout) // the only error is the timeout
			g.goodbye()
		}
		err = g.list.Shutdown()
	})
	return err
}

// goodbye tells every member that this agent leaves. To those without the goodbye it is gone.
func (g *Gossip) goodbye() {
	for _, n := range g.list.Members() {
		_ = g.list.SendBestEffort(n, []byte(goodbyePrefix+g.name+" "+g.start))
	}
}

// advertised returns the address of this agent for others: --advertise, or else the bound address. If that is every
// interface, it is the source address of packets to the agents to join. Port 0 stands for the bound port.
func advertised(ctx context.Context, advertise string, bound netip.Addr, join []string) (netip.Addr, int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if advertise != "" {
		host, p, err := port.Split(advertise)
		if err != nil {
			return netip.Addr{}, 0, fmt.Errorf("--advertise: %w", err)
		}
		ips, err := port.Lookup(ctx, host)
		if err != nil {
			return netip.Addr{}, 0, fmt.Errorf("--advertise %s: %w", advertise, err)
		}
		if ips[0].IsUnspecified() {
			return netip.Addr{}, 0, fmt.Errorf("--advertise: %s is not where others find this agent: name one address", advertise)
		}
		return ips[0], p, nil
	}
	if !bound.IsUnspecified() {
		return bound, 0, nil
	}
	// The last one stands for the default route. No packet is sent.
	for _, j := range append(slices.Clone(join), "192.0.2.1") {
		host, p, err := port.Split(j)
		if err != nil {
			continue // keep reports it
		}
		if ips, err := port.Lookup(ctx, host); err == nil {
			c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(ips[0], uint16(p))))
			if err != nil {
				continue
			}
			own := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
			if _ = c.Close(); !own.IsLoopback() && !own.IsUnspecified() {
				return own, 0, nil
			}
		}
	}
	addrs, _ := net.InterfaceAddrs() // without any, the error says what to do
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			return p.Addr(), 0, nil
		}
	}
	return netip.Addr{}, 0, errors.New("no address of this machine can be reached from elsewhere: give --advertise, or --bind 127.0.0.1")
}
