package wire

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// lobby holds the connections that have proved nothing yet. Each has its time; when that
// is up, or when there are too many, it is dropped without a word.
type lobby struct {
	max  int
	told func(g *guest, why string) // of each that was dropped

	mu     sync.Mutex
	in     map[*guest]bool
	seq    uint64
	closed bool

	wg sync.WaitGroup // goroutines and timers
}

// guest is a connection in the lobby.
type guest struct {
	conn net.Conn
	from netip.Prefix
	seq  uint64
	gone chan struct{} // closed when it was dropped

	timer *time.Timer // guarded by the lobby
	why   string      // it is of no use, likewise
}

// enter takes a connection in until a moment, and sees to it in a goroutine.
func (l *lobby) enter(conn net.Conn, until time.Time, see func(*guest)) {
	g := &guest{conn: conn, from: addressBlock(conn.RemoteAddr()), gone: make(chan struct{}), why: "it did not prove that it has the key"}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		drop(conn)
		return
	}
	if l.in == nil {
		l.in = make(map[*guest]bool)
	}
	l.seq++
	g.seq = l.seq
	l.in[g] = true
	l.wg.Add(1)
	g.timer = time.AfterFunc(time.Until(until), func() {
		defer l.wg.Done()
		l.timeUp(g)
	})
	l.wg.Go(func() { see(g) })
	var out *guest
	if len(l.in) > l.max {
		out = l.crowd()
		l.remove(out) // before another comes in, which would pick the same
	}
	l.mu.Unlock()
	if out != nil {
		l.turnedOut(out, "too many connections that prove nothing")
	}
}

// crowd returns the guest that goes when there are too many: the oldest of the source that
// has the most. Whoever has the key is out of the lobby after two round trips.
func (l *lobby) crowd() *guest {
	count := make(map[netip.Prefix]int)
	most := 0
	for g := range l.in {
		count[g.from]++
		most = max(most, count[g.from])
	}
	var out *guest
	for g := range l.in {
		if count[g.from] == most && (out == nil || g.seq < out.seq) {
			out = g
		}
	}
	return out
}

// leave gives the connection to the caller; false: it was dropped before.
func (l *lobby) leave(g *guest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.remove(g)
}

// remove takes a guest off the list; false: it was not on it. The lobby is locked.
func (l *lobby) remove(g *guest) bool {
	if !l.in[g] {
		return false
	}
	delete(l.in, g)
	if g.timer.Stop() {
		l.wg.Done()
	}
	return true
}

// park leaves the connection in the lobby until its time is up: so it ends like any
// other, and how long that took tells nothing of what was wrong. Why "" is no news.
func (l *lobby) park(g *guest, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.why = why
}

// timeUp drops a guest that is still in.
func (l *lobby) timeUp(g *guest) {
	l.mu.Lock()
	there, why := l.remove(g), g.why
	l.mu.Unlock()
	if there {
		l.turnedOut(g, why)
	}
}

// turnedOut drops the connection of a guest that was removed.
func (l *lobby) turnedOut(g *guest, why string) {
	close(g.gone)
	drop(g.conn)
	if why != "" {
		l.told(g, why)
	}
}

// close drops all guests, and lets no more in.
func (l *lobby) close() {
	l.mu.Lock()
	l.closed = true
	all := slices.Collect(maps.Keys(l.in))
	for _, g := range all {
		l.remove(g)
	}
	l.mu.Unlock()
	for _, g := range all {
		l.turnedOut(g, "")
	}
}

// wait waits for all goroutines of a closed lobby.
func (l *lobby) wait() { l.wg.Wait() }

// drop ends a connection with a reset, whatever has come and was not read: how it ends
// would tell else how much was.
func drop(conn net.Conn) {
	inner := conn
	if p, ok := conn.(*peeked); ok {
		inner = p.Conn
	}
	if t, ok := inner.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}

// addressBlock returns the addresses that are counted as one: an IPv4 address, the /64 network of an
// IPv6 address, or all loopback addresses.
func addressBlock(addr net.Addr) netip.Prefix {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	switch {
	case ip.Is6():
		bits = 64
	case ip.IsLoopback():
		bits = 8
	}
	p, _ := ip.Prefix(bits) // the zero prefix of no address
	return p
}
