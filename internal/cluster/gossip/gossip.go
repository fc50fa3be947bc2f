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

// Options configure the gossip of an agent.
type Options struct {
	Bind      string    // host:port to listen on, of TCP and UDP; no host: all interfaces; port 0: any
	Advertise string    // host:port for the other agents; "": found automatically
	Join      []string  // host:port of any agents of the network, which may include this one
	Key       *[32]byte // used for gossip only; nil: no encryption, and all agents are on this machine
	Info      Info      // of this agent

	// Streams gets the unread connections that begin as a stream of package wire. It must not
	// block. Nil: they are closed.
	Streams func(net.Conn)

	// Log gets lines for the operator, from one goroutine that Close waits for. It may be nil.
	Log func(text string)

	tune func(*memberlist.Config) // changes the settings in tests; may be nil
}

// Gossip is the membership of an agent in a network.
type Gossip struct {
	name    string
	start   string         // random, of this start of the agent
	addr    string         // advertised
	bound   netip.AddrPort // the address to listen on
	open    bool           // there is no key
	tick    time.Duration  // one second, shorter in tests
	since   time.Time
	table   *table
	speak   *speaker
	list    *memberlist.Memberlist
	port    *transport
	stop    context.CancelFunc // of keep and mend
	loops   sync.WaitGroup
	closing sync.Once

	contested atomic.Int64 // the end of a conflict about this agent's name, in ns since 1970

	updating sync.Mutex // one Update at a time
	closed   bool       // guarded by updating
	mu       sync.Mutex
	info     Info   // guarded by mu
	meta     []byte // guarded by mu; info, encoded
}

// leaveTimeout bounds leaving: a packet to each member and two rounds of gossip.
const leaveTimeout = 1500 * time.Millisecond

// OptionError is the error of an option: nothing was started, and a retry would fail too.
type OptionError struct{ error }

// Unwrap returns the reason.
func (e *OptionError) Unwrap() error { return e.error }

// Start listens and joins the network. It does not wait for the other agents: addresses that do
// not answer are tried until Close. An OptionError names the flag to change.
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

// addresses returns the address to listen on and the one to advertise, whose port 0 stands for the
// bound port.
func (g *Gossip) addresses(ctx context.Context, o Options) (ip netip.Addr, port int, own netip.Addr, ownPort int, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if ip, port, err = bindAddr(ctx, o.Bind); err != nil {
		return ip, 0, own, 0, err
	}
	if g.open && !ip.IsLoopback() {
		return ip, 0, own, 0, fmt.Errorf("listen on %s: other machines need a key: give --key-file (kt keygen makes one), or --bind 127.0.0.1:%d", o.Bind, port)
	}
	if own, ownPort, err = advertised(ctx, o.Advertise, ip, o.Join); err == nil && g.open && !own.IsLoopback() {
		err = fmt.Errorf("--advertise: %s is not on this machine alone, and there is no key: give --key-file", own)
	}
	return ip, port, own, ownPort, err
}

// listen opens the port and starts memberlist on it.
func (g *Gossip) listen(ctx context.Context, o Options) error {
	// The lookups come before the port is open, because nothing reads from it until memberlist runs.
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

// openPort listens on TCP and UDP. For port 0 it tries several free TCP ports, because their UDP
// ports may not be free.
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

// unopened returns the reason why a port could not be opened. Memberlist keeps only the text of
// the kernel's error, so unopened restores the errors that callers check for.
func unopened(err error) error {
	why := ending(err.Error())
	for _, no := range []syscall.Errno{syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EACCES} {
		if why == no.Error() {
			return no
		}
	}
	return errors.New(why)
}

// settings returns memberlist's settings for a local network with less traffic, because the
// gossip runs beside measurements.
func settings(key *[32]byte) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.EnableCompression = false               // LZW takes CPU and makes random data longer
	c.GossipInterval = 500 * time.Millisecond // the default of 200 ms is for thousands of nodes
	c.PushPullInterval = 60 * time.Second     // repairs lost gossip by sending the whole table
	c.DeadNodeReclaimTime = time.Millisecond  // an agent that is gone may come back at another address at once
	c.QueueCheckInterval = time.Minute        // only for a metric that kt does not read
	c.Label = label(key)
	if key != nil {
		c.SecretKey = slices.Clone(key[:])
	}
	return c
}

// label returns the plain text that begins every packet and connection of gossip. It keeps apart
// networks of other keys and other programs. It is no protection against attackers, who can read
// it on the network.
func label(key *[32]byte) string {
	if key == nil {
		return "kt"
	}
	h := hmac.New(sha256.New, key[:])
	_, _ = h.Write([]byte("kt gossip label")) // cannot fail
	return "kt-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Addr returns the address that this agent listens on: host:port of TCP and UDP.
func (g *Gossip) Addr() string { return g.bound.String() }

// Members returns all members sorted by name, including this agent and those that went away in
// the last ten minutes.
func (g *Gossip) Members() []Member {
	g.mu.Lock()
	self := Member{g.info.clone(), g.addr, Alive, g.since, g.start}
	g.mu.Unlock()
	all := append(g.table.list(time.Now()), self)
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Update sends the new info of this agent, with the same name, to the others. It does not wait
// until they have it, which takes a second or two.
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
	// The only error is the timeout, and UpdateNode has queued the news by then.
	_ = g.list.UpdateNode(time.Nanosecond)
	return nil
}

// Close tells the others that this agent leaves, closes the port and waits for all goroutines.
// Streams that were handed on stay open.
func (g *Gossip) Close() error { return g.end(true) }

// end closes, with or without a goodbye.
func (g *Gossip) end(goodbye bool) (err error) {
	g.closing.Do(func() {
		g.updating.Lock()
		g.closed = true
		g.updating.Unlock()
		g.stop()
		g.port.hangUp() // ends dials, so that the loops end
		g.loops.Wait()
		if goodbye {
			// To the others a leave of memberlist looks like a failure. So each member gets a
			// goodbye packet before, and another one in case the first was lost.
			g.goodbye()
			_ = g.list.Leave(leaveTimeout) // the only error is the timeout
			g.goodbye()
		}
		err = g.list.Shutdown()
		g.speak.close()
	})
	return err
}

// goodbye tells every member that this agent leaves. It ignores errors: to members without the
// goodbye this agent is gone.
func (g *Gossip) goodbye() {
	for _, n := range g.list.Members() {
		if n.Name != g.name {
			_ = g.list.SendBestEffort(n, []byte(goodbyePrefix+g.name+" "+g.start))
		}
	}
}
