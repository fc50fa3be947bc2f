package port

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pending holds the connections that have not proved that they have the key, for a time and up to a number.
type pending struct {
	max   int
	after time.Duration

	mu     sync.Mutex
	conns  []*pendingConn // oldest first
	closed bool
	live   sync.WaitGroup
}

// pendingConn is a connection of which a bounded number of bytes is read.
type pendingConn struct {
	*bounded
	from source
	ctx  context.Context // ended with the reason when the connection is dropped
	drop context.CancelCauseFunc
	keep func() bool // keeps the connection when ctx ends; false: it was dropped, and is closed

	slow  string      // the reason to log when its time is up; "": none
	begun atomic.Bool // its handshake has begun
}

// add calls handle with a connection in a new goroutine.
func (p *pending) add(conn net.Conn, handle func(*pendingConn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(conn)
		return
	}
	c := &pendingConn{bounded: &bounded{Conn: conn, left: handshakeBytes}, from: sourceOf(conn.RemoteAddr())}
	ctx, drop := context.WithCancelCause(context.Background())
	ctx, cancel := context.WithTimeout(ctx, p.after)
	dropped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { reset(conn); close(dropped) })
	c.ctx, c.drop = ctx, drop
	c.keep = sync.OnceValue(func() bool {
		if stop() {
			return true
		}
		<-dropped
		return false
	})
	p.conns = append(p.conns, c)
	p.live.Go(func() {
		defer cancel()
		handle(c)
		p.remove(c)
	})
	if len(p.conns) > p.max {
		i := p.excess()
		p.conns[i].drop(errTooMany)
		p.conns = slices.Delete(p.conns, i, i+1)
	}
}

// excess returns the index of the connection to drop when there are too many: of the source with the most, the oldest whose handshake
// has not begun, else the oldest. Other machines take no more than half of the places from this one.
func (p *pending) excess() int {
	count := make(map[source]int)
	for _, c := range p.conns {
		count[c.from]++
	}
	if count[here] <= p.max/2 {
		delete(count, here)
	}
	most := slices.Max(slices.Collect(maps.Values(count)))
	of := func(c *pendingConn) bool { return count[c.from] == most }
	if i := slices.IndexFunc(p.conns, func(c *pendingConn) bool { return of(c) && !c.begun.Load() }); i >= 0 {
		return i
	}
	return slices.IndexFunc(p.conns, of)
}

func (p *pending) remove(c *pendingConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(other *pendingConn) bool { return other == c })
}

// close drops all connections and refuses new ones.
func (p *pending) close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.conns {
		c.drop(net.ErrClosed)
	}
	p.mu.Unlock()
	p.live.Wait()
}

// reset ends a connection so that the kernel keeps nothing of it.
func reset(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}

// bounded is a connection of which a number of bytes is read at most. It hides TLS from net/http.
type bounded struct {
	net.Conn
	left   int    // bytes that may still be read; negative: any number
	closed func() // may be nil; called by each Close
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.left < 0:
		return b.Conn.Read(p)
	case b.left == 0:
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *bounded) Close() error {
	if b.closed != nil {
		defer b.closed()
	}
	return b.Conn.Close()
}

// source is the addresses that count as one: an IPv4 address, a /64 network of IPv6, or all loopback addresses.
type source struct{ netip.Prefix }

// here is this machine.
var here = source{netip.PrefixFrom(netip.IPv6Loopback(), 128)}

func sourceOf(addr net.Addr) source {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return source{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	switch {
	case ip.IsLoopback():
		return here
	case ip.Is6():
		bits = 64
	}
	p, _ := ip.Prefix(bits) // the zero prefix of no address
	return source{p}
}
