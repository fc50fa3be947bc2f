package port

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Options configure a Listener.
type Options struct {
	Key    *Key         // nil: only peers on this machine are answered
	Log    func(string) // gets lines for the operator, from any goroutine; may be nil
	Limits Limits       // the zero value: the defaults
}

// Listener is the port of an agent.
type Listener struct {
	key      *Key
	limits   Limits
	identity identity
	addr     *net.TCPAddr
	tcp      *net.TCPListener
	udp      *net.UDPConn

	lobby   lobby
	rates   rates
	journal *Journal
	http    *entrance
	gossip  *entrance
	server  server

	closing sync.Once
	accepts sync.WaitGroup
}

// Listen opens the port of an agent at host:port, of TCP and UDP. No host stands for all
// interfaces, port 0 for any. An OptionError names the flag to change.
func Listen(bind string, o Options) (*Listener, error) {
	at, err := bindAddr(bind)
	if err != nil {
		return nil, &OptionError{err}
	}
	if o.Key == nil && !at.Addr().IsLoopback() {
		return nil, &OptionError{fmt.Errorf("listen on %s: other machines need a key: give --key-file (kt keygen makes one), or --bind 127.0.0.1:%d", bind, at.Port())}
	}
	tcp, udp, err := sockets(at)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", bind, err)
	}
	limits := o.Limits.defaults()
	l := &Listener{key: o.Key, limits: limits, identity: newIdentity(o.Key), tcp: tcp, udp: udp, journal: &Journal{Log: o.Log}}
	// The kernel's address of all interfaces would be that of IPv6.
	l.addr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(at.Addr(), tcp.Addr().(*net.TCPAddr).AddrPort().Port()))
	l.lobby = lobby{max: limits.Pending, after: limits.HandshakeTimeout, told: func(g *guest, why string) { l.refused(g, why) }}
	l.rates = rates{source: limits.SourceRate, total: limits.TotalRate, longest: limits.HandshakeTimeout / 2}
	l.http, l.gossip = newEntrance(l.addr, limits), newEntrance(l.addr, limits)
	l.server.init(l)
	l.accepts.Go(l.accept)
	return l, nil
}

// Addr returns the address that this agent listens on.
func (l *Listener) Addr() net.Addr { return l.addr }

// UDP returns the socket for packets at the same address. Close closes it.
func (l *Listener) UDP() *net.UDPConn { return l.udp }

// Gossip returns the channel of the authenticated gossip connections. It is never closed.
func (l *Listener) Gossip() <-chan net.Conn { return l.gossip.conns }

// Serve answers HTTP/2 requests with h until Close. It is called once. Bodies of requests are
// bounded as by http.MaxBytesReader. A write of h fails when the peer has taken nothing for long.
func (l *Listener) Serve(h http.Handler) error {
	err := l.server.serve(h, l.http)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Note logs a line about a peer, whose address comes from http.Request.RemoteAddr. Lines about one
// peer are logged once a minute at most, with the number of those between.
func (l *Listener) Note(remote, text string) {
	var from source
	if addr, err := net.ResolveTCPAddr("tcp", remote); err == nil { // it is no name
		from = sourceOf(addr)
	}
	l.journal.Note(from.String(), text)
}

// Close closes the port and all connections but those of gossip that were handed on. It waits for
// all goroutines and for the handler.
func (l *Listener) Close() (err error) {
	l.closing.Do(func() {
		err = errors.Join(l.tcp.Close(), l.udp.Close())
		l.accepts.Wait()
		l.lobby.close()
		_ = l.http.Close()
		_ = l.gossip.Close()
		l.server.close()
		l.lobby.wait()
		l.journal.Flush()
	})
	return err
}

func (l *Listener) refused(g *guest, why string) {
	l.journal.Note(g.from.String(), fmt.Sprintf("connection from %s: %s", g.RemoteAddr(), why))
}

// accept takes connections until the port is closed.
func (l *Listener) accept() {
	for {
		conn, err := l.tcp.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // of one connection, or no descriptors are left
			l.journal.Note("", fmt.Sprintf("accept a connection: %v", err))
			<-time.After(100 * time.Millisecond)
			continue
		}
		l.lobby.enter(conn, l.see)
	}
}

// see makes the handshake with a guest and hands the connection on.
func (l *Listener) see(g *guest) {
	if l.key == nil && g.from != here {
		l.dismiss(g, "this agent has no key (--key-file), and so only answers its own machine")
		return
	}
	c := tls.Server(g, l.config(g))
	if err := c.Handshake(); err != nil { // the lobby ends it when its time is up
		l.dismiss(g, l.whyNot(err))
		return
	}
	g.left = -1
	switch proto := c.ConnectionState().NegotiatedProtocol; proto {
	case HTTP, generic, "":
		l.admit(g, c, l.http, -1)
	case Gossip:
		l.admit(g, c, l.gossip, gossipBytes)
	default:
		_, _ = fmt.Fprintln(c, Version) // the other side is about to end, whatever comes of it
		_ = c.Close()
		l.dismiss(g, "it speaks another version of kt's protocol: use the same kt on all hosts")
	}
}

// admit hands an authenticated connection to an entrance, of which most bytes are read, or any
// number if that is negative. Until there is room the connection stays in the lobby.
func (l *Listener) admit(g *guest, c *tls.Conn, to *entrance, most int) {
	l.lobby.greet(g, "it has as many connections as it may")
	leave, ok := to.shares.take(g.from, g.gone)
	if !ok {
		return
	}
	leave = sync.OnceFunc(leave)
	if !l.lobby.leave(g) || !to.hand(&peer{Conn: &meter{Conn: c, left: most}, closed: leave}) {
		_ = c.Close()
		leave()
	}
}

// dismiss drops a guest at once. For why "" that is not logged.
func (l *Listener) dismiss(g *guest, why string) {
	if !l.lobby.leave(g) {
		return
	}
	_ = g.Close()
	if why != "" {
		l.refused(g, why)
	}
}

var (
	errForeign = errors.New("it is no kt, or one that is older than this")
	errOften   = errors.New("it begins too many handshakes")
)

// config returns the TLS settings for a guest.
func (l *Listener) config(g *guest) *tls.Config {
	c := l.identity.config(l.identity.verifyPeer)
	c.NextProtos = []string{HTTP, Gossip, generic, versions}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(hello.SupportedProtos) > 0 && !slices.ContainsFunc(hello.SupportedProtos, func(p string) bool { return slices.Contains(c.NextProtos, p) }) {
			return nil, errForeign
		}
		l.lobby.greet(g, "its handshake took too long")
		wait, ok := l.rates.take(g.from, time.Now())
		if !ok {
			return nil, errOften
		}
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-g.gone:
				return nil, net.ErrClosed
			}
		}
		return nil, nil
	}
	return c
}

// whyNot returns the reason of a failed handshake for the log, or "" if there is nothing to say.
func (l *Listener) whyNot(err error) string {
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.Is(err, errOften), errors.Is(err, errForeign), errors.Is(err, errTooMuch):
		return err.Error()
	case errors.As(err, &record):
		return errForeign.Error()
	case errors.As(err, &op) && op.Op == "remote error", errors.Is(err, errStranger):
		return errStranger.Error() // an alert: the other side does not like our certificate
	case isEnd(err):
		return "" // a check whether the port listens
	}
	return "its handshake failed: " + err.Error()
}

// entrance is a net.Listener of authenticated connections.
type entrance struct {
	addr   net.Addr
	shares *shares
	conns  chan net.Conn
	ctx    context.Context
	end    context.CancelFunc
}

var _ net.Listener = (*entrance)(nil)

func newEntrance(addr net.Addr, l Limits) *entrance {
	e := &entrance{addr: addr, shares: newShares(l.Connections, l.SourceConnections), conns: make(chan net.Conn)}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// hand waits until somebody takes the connection. It returns false if the entrance is closed.
func (e *entrance) hand(c net.Conn) bool {
	select {
	case e.conns <- c:
		return true
	case <-e.ctx.Done():
		return false
	}
}

// Accept waits for the next connection.
func (e *entrance) Accept() (net.Conn, error) {
	select {
	case c := <-e.conns:
		return c, nil
	case <-e.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (e *entrance) Close() error {
	e.end()
	return nil
}

// Addr returns the address of the port.
func (e *entrance) Addr() net.Addr { return e.addr }
