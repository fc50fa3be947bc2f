package port

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// lobby holds the connections that have not proved that they have the key. It drops a connection
// when its time is up, or when there are too many.
type lobby struct {
	max   int
	after time.Duration
	told  func(g *guest, why string) // called for each dropped connection

	mu     sync.Mutex
	in     map[*guest]bool
	count  map[source]int // the number of guests of each source
	seq    uint64
	closed bool

	wg sync.WaitGroup // goroutines and timers
}

// guest is a connection in the lobby.
type guest struct {
	*meter
	from source
	seq  uint64
	gone chan struct{} // closed when it is dropped

	timer   *time.Timer // guarded by lobby.mu
	why     string      // the reason for dropping it later, guarded by lobby.mu
	greeted bool        // its handshake has begun, guarded by lobby.mu
}

// enter adds a connection and calls see in a new goroutine.
func (l *lobby) enter(conn net.Conn, see func(*guest)) {
	g := &guest{meter: &meter{Conn: conn, left: handshakeBytes}, from: sourceOf(conn.RemoteAddr()), gone: make(chan struct{})}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		drop(conn)
		return
	}
	if l.in == nil {
		l.in, l.count = make(map[*guest]bool), make(map[source]int)
	}
	l.seq++
	g.seq = l.seq
	l.in[g] = true
	l.count[g.from]++
	l.wg.Add(1)
	g.timer = time.AfterFunc(l.after, func() {
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

// crowd returns the guest to drop when there are too many. It is of the source with the most
// guests: the oldest one of those whose handshake has not begun, or else the oldest one.
// Handshakes are bounded by their rate, so connections that send nothing drop none of them. Other
// machines, however many, take no more than half of the places from this one.
func (l *lobby) crowd() *guest {
	spared := l.count[here] <= l.max/2
	most := 0
	for from, n := range l.count {
		if from != here || !spared {
			most = max(most, n)
		}
	}
	var out *guest
	for g := range l.in {
		if (out == nil || g.before(out)) && l.count[g.from] == most && (g.from != here || !spared) {
			out = g
		}
	}
	return out
}

// before reports whether g is dropped before other.
func (g *guest) before(other *guest) bool {
	if g.greeted != other.greeted {
		return other.greeted
	}
	return g.seq < other.seq
}

// greet notes that a handshake has begun, and the reason to report if it does not end.
func (l *lobby) greet(g *guest, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.greeted, g.why = true, why
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
	if l.count[g.from]--; l.count[g.from] == 0 {
		delete(l.count, g.from)
	}
	if g.timer.Stop() {
		l.wg.Done()
	}
	return true
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

// turnedOut drops the connection of a removed guest. For why "" that is not reported.
func (l *lobby) turnedOut(g *guest, why string) {
	close(g.gone)
	drop(g.Conn)
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

// drop ends a connection with a reset, so that the kernel keeps nothing of it.
func drop(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}
