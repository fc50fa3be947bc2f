package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// What the handshake says in sealed frames; no message of a user is read before.
const (
	confirm     FrameType = 0 // of the side that dials: it has the key now, and not a recording of who had it
	welcome     FrameType = 1 // of the side that listens, one byte long
	welcomeSize           = 1

	accepted byte = 0
	tooMany  byte = 1
)

// Defaults of a Server and a Mux.
const (
	defaultPending = 64  // each costs a goroutine and a descriptor: 1 MiB in all
	defaultConns   = 256 // streams of who has the key: each up to 2 MiB
)

// Server answers the streams that others open. Handle has to be set.
type Server struct {
	Key    *Key                         // nil: only peers on this machine are answered
	Handle func(context.Context, *Conn) // one call for each stream, which is closed after it; the context ends with the server

	MaxPending       int           // connections that have not proved to have the key; 0: 64
	MaxConns         int           // streams at a time; 0: 256
	HandshakeTimeout time.Duration // 0: the package's
	Log              func(string)  // gets what an operator should know, a line at a time, from any goroutine; nil: nobody does

	once   sync.Once
	key    *Key
	lobby  lobby
	news   *news
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*Conn]bool
}

func (s *Server) init() {
	s.key = s.Key
	if s.key == nil {
		s.key = nobodys()
	}
	if s.HandshakeTimeout == 0 {
		s.HandshakeTimeout = HandshakeTimeout
	}
	if s.MaxConns == 0 {
		s.MaxConns = defaultConns
	}
	s.news = &news{log: s.Log}
	s.lobby.max = s.MaxPending
	if s.lobby.max == 0 {
		s.lobby.max = defaultPending
	}
	s.lobby.told = func(g *guest, why string) { s.news.tell(g.conn.RemoteAddr(), why) }
	s.open = make(map[*Conn]bool)
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// Serve takes over a connection, of which nothing was read. It does not block.
func (s *Server) Serve(conn net.Conn) {
	s.once.Do(s.init)
	until := time.Now().Add(s.HandshakeTimeout)
	if p, ok := conn.(*peeked); ok && p.until.Before(until) {
		until = p.until // its time began when it came
	}
	s.lobby.enter(conn, until, s.serve)
}

// Close ends all streams, and returns when every Handle has.
func (s *Server) Close() {
	s.once.Do(s.init)
	s.cancel()
	s.lobby.close()
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.lobby.wait()
	s.news.flush()
}

func (s *Server) serve(g *guest) {
	c, err := s.shake(g)
	switch {
	case errors.Is(err, ErrVersion):
		// It has the key, and was told: it may know.
		if s.lobby.leave(g) {
			_ = g.conn.Close()
			s.news.tell(g.conn.RemoteAddr(), err.Error())
		}
		return
	case errors.Is(err, ErrClosed):
		s.lobby.park(g, "") // it went away: a check whether the port listens
		return
	case err != nil:
		s.lobby.park(g, err.Error())
		return
	}
	if !s.lobby.leave(g) {
		return
	}
	defer func() { _ = c.Close() }()
	if !s.welcome(c) {
		return
	}
	s.Handle(s.ctx, c)
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
}

// shake returns the handshake of the side that listens, up to the confirmation. What has no
// key gets no answer.
func (s *Server) shake(g *guest) (*Conn, error) {
	if s.Key == nil && !isLoopback(g.conn.RemoteAddr()) {
		return nil, errors.New("this agent has no key (--key-file), and so only answers its own machine")
	}
	theirs, err := readHello(g.conn, s.key)
	switch {
	case errors.Is(err, ErrAuth):
		return nil, errors.New("it has another key, or none")
	case err != nil:
		return nil, ErrClosed
	}
	ours := newReply()
	if _, err := g.conn.Write(ours.encode(s.key, theirs)); err != nil {
		return nil, ErrClosed
	}
	if theirs.version != ours.version {
		return nil, failed(ErrVersion, "it speaks version %d of kt's protocol, this kt version %d: use the same kt on all hosts", theirs.version, ours.version)
	}
	c := newConn(g.conn)
	c.in.seal, c.out.seal = seals(s.key, theirs, ours)
	// Until it is confirmed, a frame is as long as the confirmation.
	if _, _, err := c.in.next(g.conn); err != nil {
		return nil, fmt.Errorf("it played a recording back, or broke off: %w", err)
	}
	c.in.max = MaxFrame
	return c, nil
}

// welcome tells a peer that it is served, or that there are too many streams.
func (s *Server) welcome(c *Conn) bool {
	ctx, cancel := context.WithTimeout(s.ctx, s.HandshakeTimeout)
	defer cancel()
	s.mu.Lock()
	full := len(s.open) >= s.MaxConns
	if !full {
		s.open[c] = true
	}
	s.mu.Unlock()
	if full {
		s.news.tell(c.RemoteAddr(), fmt.Sprintf("refused, for %d streams are open", s.MaxConns))
		_ = c.Send(ctx, welcome, []byte{tooMany}) // it is refused all the same
		return false
	}
	if err := c.Send(ctx, welcome, []byte{accepted}); err != nil {
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		return false
	}
	return true
}
