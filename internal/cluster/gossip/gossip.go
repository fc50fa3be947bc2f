package gossip

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/kt-bench/kt/internal/cluster/wire"
)

// Options are what an agent's command line says.
type Options struct {
	Bind      string    // host:port to listen on, of TCP and UDP; no host: all interfaces; port 0: any
	Advertise string    // host:port that others reach this agent at; "": found out
	Join      []string  // host:port of agents to find the others through; this one may be among them
	Key       *[32]byte // of gossip alone; nil: nothing is encrypted, and all are on this machine
	Info      Info      // what this agent tells of itself

	// Streams gets the connections that begin as a stream of package wire, nothing of them
	// read. It must not block. Nil: they are closed.
	Streams func(net.Conn)

	// Log gets what a user should know, a line at a time, from one goroutine, that Close
	// waits for. Nil: nobody is told.
	Log func(text string)

	tune func(*memberlist.Config) // changes the settings, in tests; may be nil
}

// Gossip is an agent's part in finding the others.
type Gossip struct {
	name    string
	start   string         // made anew at each start
	addr    string         // advertised
	bound   netip.AddrPort // where it listens
	open    bool           // no key
	tick    time.Duration  // that it counts in, which is one but in tests
	since   time.Time
	table   *table
	speak   *speaker
	list    *memberlist.Memberlist
	port    *transport
	stop    context.CancelFunc // of keep and mend
	loops   sync.WaitGroup
	closing sync.Once

	contested atomic.Int64 // until when somebody else may go by this agent's name, in ns since 1970

	updating sync.Mutex // one Update at a time
	closed   bool       // guarded by updating
	mu       sync.Mutex
	info     Info   // guarded by mu
	meta     []byte // guarded by mu; info, encoded
}

// leaveTimeout is how long it may take to tell the others: a packet to each, and two
// rounds of gossip.
const leaveTimeout = 1500 * time.Millisecond

// OptionError is an error of what was given: nothing was started, and the same will fail again.
type OptionError struct{ error }

// Unwrap returns the reason.
func (e *OptionError) Unwrap() error { return e.error }

// Start listens and joins. It does not wait for the others: those that are not there yet
// are tried until Close. Errors name the flag that is to be changed, as an OptionError.
func Start(o Options) (*Gossip, error) {
	start := rand.Text()[:startLimit]
	meta, err := o.Info.encode(start)
	if err != nil {
		return nil, &OptionError{err}
	}
	for _, j := range o.Join {
		if _, _, err := split(j); err != nil {
			return nil, &OptionError{fmt.Errorf("--join: %w", err)}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	g := &Gossip{
		name: o.Info.Name, start: start, open: o.Key == nil, since: time.Now(), table: newTable(),
		stop: stop, info: o.Info.clone(), meta: meta,
	}
	g.speak = newSpeaker(o.Log)
	if err := g.listen(ctx, o); err != nil {
		stop()
		g.speak.close()
		return nil, err
	}
	for _, j := range slices.Compact(slices.Sorted(slices.Values(o.Join))) {
		g.loops.Go(func() { g.keep(ctx, j) })
	}
	g.loops.Go(func() { g.mend(ctx) })
	return g, nil
}

// addresses returns where to listen and what to advertise: port 0 is the one where it listens.
func (g *Gossip) addresses(ctx context.Context, o Options) (ip netip.Addr, port int, own netip.Addr, ownPort int, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if ip, port, err = bindAddr(ctx, o.Bind); err != nil {
		return ip, 0, own, 0, err
	}
	if g.open && !ip.IsLoopback() {
		return ip, 0, own, 0, fmt.Errorf("listen on %s: whoever is not on this machine must prove who it is: give --key-file (kt keygen makes one), or --bind 127.0.0.1:%d", o.Bind, port)
	}
	if own, ownPort, err = advertised(ctx, o.Advertise, ip, o.Join); err == nil && g.open && !own.IsLoopback() {
		err = fmt.Errorf("--advertise: %s is not on this machine alone, and there is no key: give --key-file", own)
	}
	return ip, port, own, ownPort, err
}

// listen opens the port and starts memberlist on it.
func (g *Gossip) listen(ctx context.Context, o Options) error {
	// Before the port is open: what arrives there has nobody to take it until the end.
	ip, port, own, ownPort, err := g.addresses(ctx, o)
	if err != nil {
		return &OptionError{err}
	}
	logger := log.New(delegate{g}, "", 0)
	inner, err := openPort(ip, port, logger)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.Bind, unopened(err))
	}
	port = inner.GetAutoBindPort()
	if ownPort == 0 {
		ownPort = port
	}
	g.bound = netip.AddrPortFrom(ip, uint16(port))
	g.addr = netip.AddrPortFrom(own, uint16(ownPort)).String()

	c := settings(o.Key)
	if o.tune != nil {
		o.tune(c)
	}
	g.tick = 2 * c.GossipInterval
	c.Name, c.Logger = g.name, logger
	c.BindAddr, c.BindPort = ip.String(), port
	c.AdvertiseAddr, c.AdvertisePort = own.String(), ownPort
	c.Delegate, c.Events, c.Alive, c.Conflict, c.Ping = delegate{g}, delegate{g}, delegate{g}, delegate{g}, delegate{g}
	g.port = newTransport(inner, c.Label, g.scaled(wire.HandshakeTimeout), o.Streams, func(text string) { g.speak.say("%s", text) })
	c.Transport = g.port
	if g.list, err = memberlist.Create(c); err != nil {
		return errors.Join(fmt.Errorf("start gossip on %s: %w", g.bound, err), g.port.Shutdown())
	}
	return nil
}

// openPort listens on TCP and UDP. Port 0 is one that is free in TCP, and may not be in
// UDP: then another is tried.
func openPort(ip netip.Addr, port int, logger *log.Logger) (inner *memberlist.NetTransport, err error) {
	tries := 1
	if port == 0 {
		tries = 10
	}
	for range tries {
		inner, err = memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{ip.String()}, BindPort: port, Logger: logger})
		if err == nil {
			return inner, nil
		}
	}
	return nil, err
}

// unopened is why a port cannot be listened on. Of the kernel's error memberlist leaves the
// text: what a caller has an answer to, and another address helps with, is made an error
// again.
func unopened(err error) error {
	why := ending(err.Error())
	for _, no := range []syscall.Errno{syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EACCES} {
		if why == no.Error() {
			return no
		}
	}
	return errors.New(why)
}

// settings are memberlist's for a network of one site, made quieter: what it does is done
// beside a measurement.
func settings(key *[32]byte) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.EnableCompression = false               // LZW makes what is encrypted or random longer, and costs CPU
	c.GossipInterval = 500 * time.Millisecond // news may take seconds to get round; 200 ms is for thousands of nodes
	c.PushPullInterval = 60 * time.Second     // mends what gossip lost, and sends the whole table
	c.DeadNodeReclaimTime = time.Millisecond  // an agent that is gone may come back at another address at once
	c.QueueCheckInterval = time.Minute        // feeds a metric that nobody reads
	c.Label = label(key)
	if key != nil {
		c.SecretKey = slices.Clone(key[:])
	}
	return c
}

// label begins every packet and stream of gossip, in the clear, so that networks of other
// programs, and of other keys, never mix. It is the same on all hosts of a key, and everybody
// between them can read it: it keeps out connections to a wrong port, and no attacker.
func label(key *[32]byte) string {
	if key == nil {
		return "kt"
	}
	h := hmac.New(sha256.New, key[:])
	_, _ = h.Write([]byte("kt gossip label")) // never fails
	return "kt-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Addr returns where this agent listens: host:port of TCP and UDP.
func (g *Gossip) Addr() string { return g.bound.String() }

// Advertised returns where others reach this agent.
func (g *Gossip) Advertised() string { return g.addr }

// Members returns who is known, this agent included, sorted by name: also who went away
// in the last ten minutes.
func (g *Gossip) Members() []Member {
	g.mu.Lock()
	self := Member{g.info.clone(), g.addr, Alive, g.since, g.start}
	g.mu.Unlock()
	all := append(g.table.list(time.Now()), self)
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Update tells the others what this agent now says of itself. The name stays. It returns
// before they know: a second or two for most.
func (g *Gossip) Update(info Info) error {
	if info.Name != g.name {
		return fmt.Errorf("an agent keeps its name %q, and cannot become %q", g.name, info.Name)
	}
	meta, err := info.encode(g.start)
	if err != nil {
		return err
	}
	g.updating.Lock()
	defer g.updating.Unlock()
	if g.closed {
		return errors.New("this agent has left")
	}
	g.mu.Lock()
	g.info, g.meta = info.clone(), meta
	g.mu.Unlock()
	// The only error is that the news were not out in that time. They are on their way.
	_ = g.list.UpdateNode(time.Nanosecond)
	return nil
}

// Close tells the others that this agent goes, closes the port and waits for what was
// started. The streams that were handed on stay open.
func (g *Gossip) Close() error { return g.end(true) }

// end closes, with or without a word.
func (g *Gossip) end(goodbye bool) (err error) {
	g.closing.Do(func() {
		g.updating.Lock()
		g.closed = true
		g.updating.Unlock()
		g.stop()
		g.port.hangUp() // who is being dialled
		g.loops.Wait()
		if goodbye {
			// Memberlist's own goodbye is passed on by all, and does not say that it is
			// one. Ours is a packet to each, twice in case one is lost.
			g.goodbye()
			_ = g.list.Leave(leaveTimeout) // the only error is that it took longer
			g.goodbye()
		}
		err = g.list.Shutdown()
		g.speak.close()
	})
	return err
}

// goodbye says to everybody that this agent goes. Those who do not hear it take it for
// gone, so errors change nothing.
func (g *Gossip) goodbye() {
	for _, n := range g.list.Members() {
		if n.Name != g.name {
			_ = g.list.SendBestEffort(n, []byte(goodbyePrefix+g.name+" "+g.start))
		}
	}
}
