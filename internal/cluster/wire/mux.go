package wire

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Mux separates the streams from the gossip connections on one port, by the first byte. It drops
// other connections without an answer when their time is up. Streams has to be set.
type Mux struct {
	Streams func(net.Conn) // gets unread connections that begin as a stream; must not block

	// Prefix begins every connection for Rest, such as the label of a gossip; at most 255 bytes.
	// Empty: all connections that do not begin as a stream go to Rest.
	Prefix     []byte
	MaxPending int           // connections of unknown kind; 0: 64
	MaxRest    int           // open connections of Rest; 0: 256
	MaxSource  int           // open connections of Rest from one source; 0: MaxRest
	Timeout    time.Duration // for a connection to show its kind; 0: HandshakeTimeout
	Log        func(string)  // as Server.Log

	once  sync.Once
	lobby lobby
	news  *news
	rest  chan net.Conn
	slots chan struct{} // one for each open connection of Rest
	turns turns
}

func (m *Mux) init() {
	if m.Timeout == 0 {
		m.Timeout = HandshakeTimeout
	}
	if m.MaxRest == 0 {
		m.MaxRest = defaultConns
	}
	m.lobby.max = m.MaxPending
	if m.lobby.max == 0 {
		m.lobby.max = defaultPending
	}
	m.news = &news{log: m.Log}
	m.lobby.told = func(g *guest, why string) { m.news.tell(g.conn.RemoteAddr(), why) }
	m.rest = make(chan net.Conn)
	m.slots = make(chan struct{}, m.MaxRest)
	if m.MaxSource == 0 {
		m.MaxSource = m.MaxRest
	}
	m.turns = turns{most: m.MaxSource, of: make(map[netip.Prefix]*turn)}
}

// Take takes over an unread connection. It does not block.
func (m *Mux) Take(conn net.Conn) {
	m.once.Do(m.init)
	until := time.Now().Add(m.Timeout)
	m.lobby.enter(conn, until, func(g *guest) { m.tellApart(g, until) })
}

// Rest returns the channel of the unread connections that are no streams. It is never closed.
func (m *Mux) Rest() <-chan net.Conn {
	m.once.Do(m.init)
	return m.rest
}

// Close drops the connections of unknown kind and all later ones, and waits for all goroutines of
// the Mux. Connections that were handed on stay open.
func (m *Mux) Close() {
	m.once.Do(m.init)
	m.lobby.close()
	m.lobby.wait()
	m.news.flush()
}

func (m *Mux) tellApart(g *guest, until time.Time) {
	head, err := m.read(g.conn)
	switch {
	case err != nil && len(head) == 0:
		m.lobby.park(g, "") // it sent nothing: a check whether the port listens
	case err != nil:
		m.lobby.park(g, "it is neither a kt nor of this gossip")
	case head[0] == magic:
		if m.lobby.leave(g) {
			m.Streams(&peeked{Conn: g.conn, head: head, until: until})
		}
	default:
		m.handOn(g, head)
	}
}

// read reads the bytes that show the kind of a connection.
func (m *Mux) read(conn net.Conn) (head []byte, err error) {
	var buf [256]byte
	if _, err := io.ReadFull(conn, buf[:1]); err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		switch {
		case buf[0] == magic, n > len(m.Prefix):
			return buf[:n], nil
		case buf[n-1] != m.Prefix[n-1]:
			return buf[:n], errStranger
		case n == len(m.Prefix):
			return buf[:n], nil
		}
		if _, err := io.ReadFull(conn, buf[n:n+1]); err != nil {
			return buf[:n], err
		}
	}
}

// handOn hands a connection to Rest. It stays in the lobby while it waits for its turn.
func (m *Mux) handOn(g *guest, head []byte) {
	m.lobby.park(g, "the gossip has as many connections as it may")
	leave, ok := m.turns.take(g)
	if !ok {
		return
	}
	select {
	case m.slots <- struct{}{}:
	case <-g.gone:
		leave()
		return
	}
	conn := &peeked{Conn: g.conn, head: head, closed: sync.OnceFunc(func() { <-m.slots; leave() })}
	select {
	case m.rest <- conn:
		m.lobby.leave(g) // false if it was dropped just now, and then its reader gets an error
	case <-g.gone:
		conn.closed()
	}
}

// turns bounds the open connections of each source.
type turns struct {
	most int

	mu sync.Mutex
	of map[netip.Prefix]*turn // of the sources with open or waiting connections
}

type turn struct {
	slots chan struct{}
	users int // number of open and waiting connections, guarded by turns.mu
}

// take waits for the turn of a guest. It returns false if the guest was dropped before.
func (t *turns) take(g *guest) (leave func(), ok bool) {
	t.mu.Lock()
	own := t.of[g.from]
	if own == nil {
		own = &turn{slots: make(chan struct{}, t.most)}
		t.of[g.from] = own
	}
	own.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.of, g.from)
		}
	}
	select {
	case own.slots <- struct{}{}:
		return func() { <-own.slots; gone() }, true
	case <-g.gone:
		gone()
		return nil, false
	}
}

// peeked is a connection that returns its first bytes again.
type peeked struct {
	net.Conn
	head   []byte
	until  time.Time // of a stream: the deadline of the handshake
	closed func()    // may be nil
}

func (p *peeked) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// Close closes the connection and frees its slot.
func (p *peeked) Close() error {
	if p.closed != nil {
		defer p.closed()
	}
	return p.Conn.Close()
}
