package port

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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

	pending pending
	rates   rates
	journal *Journal
	http    protocol
	gossip  protocol
	server  http.Server

	ctx     context.Context // of all requests; ends with the port
	end     context.CancelFunc
	closing sync.Once
	accepts sync.WaitGroup
	mu      sync.Mutex
	running sync.WaitGroup // requests; added to with mu held, and only before ctx ends
}

// protocol is the authenticated connections of one protocol.
type protocol struct {
	most   int // bytes that are read of a connection; negative: any number
	shares *shares
	conns  chan net.Conn // of which somebody takes the next one
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
	l.pending = pending{max: limits.Pending, after: limits.HandshakeTimeout}
	l.rates = rates{source: limits.SourceRate, total: limits.TotalRate, longest: limits.HandshakeTimeout / 2, next: make(map[source]time.Time)}
	l.http = protocol{-1, newShares(limits.Connections, limits.SourceConnections), make(chan net.Conn)}
	l.gossip = protocol{gossipBytes, newShares(limits.Connections, limits.SourceConnections), make(chan net.Conn)}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.server = http.Server{
		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like any other
		Protocols:                    onlyHTTP2(),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          limits.Streams,
			MaxDecoderHeaderTableSize:     headerTable,
			MaxEncoderHeaderTableSize:     headerTable,
			MaxReceiveBufferPerConnection: serverBuffer,
			MaxReceiveBufferPerStream:     serverBuffer / 4,
			SendPingTimeout:               serverPing,
			PingTimeout:                   serverPing,
			WriteByteTimeout:              limits.WriteTimeout,
		},
		ReadTimeout:    limits.ReadTimeout,
		IdleTimeout:    limits.IdleTimeout,
		MaxHeaderBytes: limits.HeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return l.ctx },
		ErrorLog:       log.New(lines{l.journal}, "", 0),
	}
	l.accepts.Go(l.accept)
	return l, nil
}

// Addr returns the address that this agent listens on.
func (l *Listener) Addr() net.Addr { return l.addr }

// UDP returns the socket for packets at the same address. Close closes it.
func (l *Listener) UDP() *net.UDPConn { return l.udp }

// Gossip returns the channel of the authenticated gossip connections. It is never closed.
func (l *Listener) Gossip() <-chan net.Conn { return l.gossip.conns }

// Note logs a line about a peer, by its http.Request.RemoteAddr, once a minute at most.
func (l *Listener) Note(remote, text string) {
	var from source
	if addr, err := net.ResolveTCPAddr("tcp", remote); err == nil { // it is no name
		from = sourceOf(addr)
	}
	l.journal.Note(from.String(), text)
}

// Close closes the port and all connections but those of gossip that were handed on, and waits for the handler.
func (l *Listener) Close() (err error) {
	l.closing.Do(func() {
		err = errors.Join(l.tcp.Close(), l.udp.Close())
		l.accepts.Wait()
		l.mu.Lock()
		l.end()
		l.mu.Unlock()
		l.pending.close()
		_ = l.server.Close() // of a listener that is closed already
		l.running.Wait()
		l.journal.Flush()
	})
	return err
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
		l.pending.add(conn, l.handle)
	}
}

// handle makes the handshake with a connection and hands it on, or drops it and logs why.
func (l *Listener) handle(c *pendingConn) {
	err := l.shake(c)
	if err == nil {
		return
	}
	why := whyNot(err)
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errTooMany):
		why = cause.Error()
	case errors.Is(cause, context.DeadlineExceeded):
		why = c.slow
	case cause != nil:
		why = ""
	}
	if c.keep() { // else it was reset
		_ = c.Close()
	}
	if why != "" {
		l.journal.Note(c.from.String(), fmt.Sprintf("connection from %s: %s", c.RemoteAddr(), why))
	}
}

// shake makes the handshake with a connection and hands it on. Until there is room it stays pending.
func (l *Listener) shake(c *pendingConn) error {
	if l.key == nil && c.from != here {
		return errKeyless
	}
	t := tls.Server(c, l.config(c))
	if err := t.Handshake(); err != nil { // pending ends it when its time is up
		return err
	}
	c.left = -1
	to := &l.http
	switch proto := t.ConnectionState().NegotiatedProtocol; proto {
	case HTTP, generic, "":
	case Gossip:
		to = &l.gossip
	default:
		_, _ = fmt.Fprintln(t, Version) // the other side is about to end, whatever comes of it
		_ = t.Close()
		return errVersion
	}
	c.slow = "it has as many connections as it may"
	release := to.shares.acquire(c.ctx, c.from)
	if release == nil {
		return c.ctx.Err()
	}
	l.pending.remove(c)
	if !c.keep() { // it was dropped
		release()
		return c.ctx.Err()
	}
	select {
	case to.conns <- &bounded{Conn: t, left: to.most, closed: release}:
	case <-l.ctx.Done():
		_ = t.Close()
		release()
	}
	return nil
}

var (
	errForeign  = errors.New("it is no kt, or one that is older than this")
	errOften    = errors.New("it begins too many handshakes")
	errKeyless  = errors.New("this agent has no key (--key-file), and so only answers its own machine")
	errTooMany  = errors.New("too many connections that prove nothing")
	errTooMuch  = errors.New("it sends too much")
	errStranger = errors.New("it has another key, or none")
	errVersion  = errors.New("it speaks another version of kt's protocol: use the same kt on all hosts")
)

// config returns the TLS settings for a connection.
func (l *Listener) config(conn *pendingConn) *tls.Config {
	c := l.identity.config(nil)
	c.NextProtos = []string{HTTP, Gossip, generic, versions}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(hello.SupportedProtos) > 0 && !slices.ContainsFunc(hello.SupportedProtos, func(p string) bool { return slices.Contains(c.NextProtos, p) }) {
			return nil, errForeign
		}
		conn.begun.Store(true)
		conn.slow = "its handshake took too long"
		wait, ok := l.rates.reserve(conn.from, time.Now())
		if !ok {
			return nil, errOften
		}
		select {
		case <-time.After(wait):
			return nil, nil
		case <-conn.ctx.Done():
			return nil, net.ErrClosed
		}
	}
	return c
}

// whyNot returns the reason of a failed handshake for the log, or "" if there is nothing to say.
func whyNot(err error) string {
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.Is(err, errOften), errors.Is(err, errForeign), errors.Is(err, errTooMuch), errors.Is(err, errKeyless), errors.Is(err, errVersion):
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

// Serve answers HTTP/2 requests with h until Close. It is called once. Bodies of requests are
// bounded as by http.MaxBytesReader. A write of h fails when the peer has taken nothing for long.
func (l *Listener) Serve(h http.Handler) error {
	l.server.Handler = http.MaxBytesHandler(l.handler(h), l.limits.BodyBytes)
	err := l.server.Serve(admitted{l})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// admitted is the listener of the HTTP server, which gets authenticated connections.
type admitted struct{ *Listener }

// Accept gives each connection a time for its first bytes. The server ends it afterwards.
func (l admitted) Accept() (net.Conn, error) {
	select {
	case c := <-l.http.conns:
		return c, c.SetReadDeadline(time.Now().Add(l.limits.ReadTimeout))
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close leaves the port open, which ends Accept.
func (admitted) Close() error { return nil }

// onlyHTTP2 returns the protocols of connections whose TLS is done before net/http gets them.
func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// handler returns h with bounds on the time of each write.
func (l *Listener) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		if l.ctx.Err() != nil {
			l.mu.Unlock()
			panic(http.ErrAbortHandler) // ends the request without an answer
		}
		l.running.Add(1)
		l.mu.Unlock()
		defer l.running.Done()
		a := &answer{ResponseWriter: w, control: http.NewResponseController(w), most: l.limits.WriteTimeout}
		h.ServeHTTP(a, r)
		_ = a.control.SetWriteDeadline(time.Now().Add(a.most)) // of what is still buffered
	})
}

// answer is a ResponseWriter whose writes end when the peer takes nothing for long.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	most    time.Duration
}

func (a *answer) Write(p []byte) (int, error) {
	defer a.limit()()
	return a.ResponseWriter.Write(p)
}

func (a *answer) FlushError() error {
	defer a.limit()()
	return a.control.Flush()
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// limit bounds a write. Between writes there is no limit, so that a handler may wait for news.
func (a *answer) limit() (release func()) {
	_ = a.control.SetWriteDeadline(time.Now().Add(a.most)) // fails only after the end of the request
	return func() { _ = a.control.SetWriteDeadline(time.Time{}) }
}

// lines logs the lines of the HTTP server.
type lines struct{ journal *Journal }

func (l lines) Write(line []byte) (int, error) {
	l.journal.Note("", strings.TrimSpace(string(line)))
	return len(line), nil
}
