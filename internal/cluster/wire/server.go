package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The sealed frames of the handshake, before any message of a user.
const (
	confirm     FrameType = 0 // of the dialling side: proves that it is no recording
	welcome     FrameType = 1 // of the listening side, one byte long
	welcomeSize           = 1

	accepted byte = 0
	tooMany  byte = 1
)

// Defaults of a Server and a Mux.
const (
	defaultPending = 64  // each takes a goroutine and a descriptor: 1 MiB in all
	defaultConns   = 256 // each takes up to 2 MiB
)

// Server answers the streams of other kts. Handle has to be set.
type Server struct {
	Key    *Key                         // nil: only peers on this machine are answered
	Handle func(context.Context, *Conn) // called for each stream, which is closed afterwards; the context ends with the server

	MaxPending       int           // connections without a proof of the key; 0: 64
	MaxConns         int           // streams at a time; 0: 256
	HandshakeTimeout time.Duration // 0: that of the package
	Log              func(string)  // gets lines for the operator, from any goroutine; may be nil

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
		s.key = defaultKey()
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

// Serve takes over an unread connection. It does not block.
func (s *Server) Serve(conn net.Conn) {
	s.once.Do(s.init)
	until := time.Now().Add(s.HandshakeTimeout)
	if p, ok := conn.(*peeked); ok && p.until.Before(until) {
		until = p.until // its time began in the Mux
	}
	s.lobby.enter(conn, until, s.serve)
}

// Close ends all streams and waits until every Handle has returned.
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
		// It has the key and knows the reason, so it need not wait in the lobby.
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

// shake makes the handshake of the listening side, up to the confirmation. Peers without the key
// get no answer.
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
	// c.in.max is 0 until now, because the confirmation has no payload.
	if _, _, err := c.in.next(g.conn); err != nil {
		return nil, fmt.Errorf("it played a recording back, or broke off: %w", err)
	}
	c.in.max = MaxFrame
	return c, nil
}

// welcome accepts a peer, or refuses it if there are too many streams.
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
		_ = c.Send(ctx, welcome, []byte{tooMany}) // an error does not matter, as the stream ends
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
