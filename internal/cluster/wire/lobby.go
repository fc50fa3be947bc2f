package wire

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// lobby holds the connections without a proof. It drops a connection without an answer when its
// time is up, or when there are too many.
type lobby struct {
	max  int
	told func(g *guest, why string) // called for each dropped connection

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
	gone chan struct{} // closed when it is dropped

	timer *time.Timer // guarded by lobby.mu
	why   string      // the reason for dropping it later, guarded by lobby.mu
}

// enter adds a connection until a deadline and calls see in a new goroutine.
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
		l.remove(out) // with the lock held, so that the next call picks another
	}
	l.mu.Unlock()
	if out != nil {
		l.turnedOut(out, "too many connections that prove nothing")
	}
}

// crowd returns the guest to drop when there are too many: the oldest one of the source with the
// most guests. A peer with the key leaves the lobby after two round trips.
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

// leave hands the connection to the caller. It returns false if the connection was dropped.
func (l *lobby) leave(g *guest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.remove(g)
}

// remove removes a guest and reports whether it was there. The caller holds mu.
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

// park leaves the connection in the lobby until its time is up, so that the time until the end
// does not tell the reason. For why "" the end is not reported.
func (l *lobby) park(g *guest, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.why = why
}

// timeUp drops a guest that is still in the lobby.
func (l *lobby) timeUp(g *guest) {
	l.mu.Lock()
	there, why := l.remove(g), g.why
	l.mu.Unlock()
	if there {
		l.turnedOut(g, why)
	}
}

// turnedOut drops the connection of a removed guest.
func (l *lobby) turnedOut(g *guest, why string) {
	close(g.gone)
	drop(g.conn)
	if why != "" {
		l.told(g, why)
	}
}

// close drops all guests and refuses new ones.
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

// drop ends a connection with a reset. Otherwise the way it ends would depend on unread bytes,
// and so tell how much was read.
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

// addressBlock returns the addresses that count as one source: an IPv4 address, the /64 network
// of an IPv6 address, or all loopback addresses.
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
