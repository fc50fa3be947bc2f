package wire

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Mux tells apart what comes to the port that streams share with the gossip, by the first
// byte. What fits neither is held until its time is up, and then ended without a word.
// Streams has to be set.
type Mux struct {
	Streams func(net.Conn) // gets what begins as a stream, nothing of it read; must not block

	// Prefix is how all that the others want to read begins, such as the label of a
	// gossip; at most 255 bytes. Empty: it may begin with anything but a stream's byte.
	Prefix     []byte
	MaxPending int           // connections that are not told apart yet; 0: 64
	MaxRest    int           // connections that the others hold at a time; 0: 256
	MaxSource  int           // of them from one address; 0: MaxRest
	Timeout    time.Duration // for a connection to be told apart; 0: HandshakeTimeout
	Log        func(string)  // as a Server's

	once  sync.Once
	lobby lobby
	news  *news
	rest  chan net.Conn
	slots chan struct{} // one for each connection that the others hold
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

// Take takes over a connection, of which nothing was read. It does not block.
func (m *Mux) Take(conn net.Conn) {
	m.once.Do(m.init)
	until := time.Now().Add(m.Timeout)
	m.lobby.enter(conn, until, func(g *guest) { m.tellApart(g, until) })
}

// Rest gives the connections that are no streams, with nothing of them read. It is never
// closed.
func (m *Mux) Rest() <-chan net.Conn {
	m.once.Do(m.init)
	return m.rest
}

// Close drops what is not told apart yet and what comes later, and returns when nothing
// of the Mux runs. Connections that were handed on are left alone.
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
		m.lobby.park(g, "") // it said nothing: a check whether the port listens
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

// read reads as much as it takes to tell a connection apart.
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

// handOn waits in the lobby until the others take the connection.
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
		m.lobby.leave(g) // if it was dropped at this moment, whoever reads it is told
	case <-g.gone:
		conn.closed()
	}
}

// turns bounds the connections of each source that are held at a time.
type turns struct {
	most int

	mu sync.Mutex
	of map[netip.Prefix]*turn // of the sources that have a connection, held or waiting
}

type turn struct {
	slots chan struct{}
	users int // guarded by turns.mu: connections, held or waiting
}

// take waits until another connection of the guest's source may be held; false: the guest was
// dropped before.
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

// peeked is a connection with what was read of it put back.
type peeked struct {
	net.Conn
	head   []byte
	until  time.Time // by when it has to be proved, of a stream
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

// Close closes the connection, and makes room for another.
func (p *peeked) Close() error {
	if p.closed != nil {
		defer p.closed()
	}
	return p.Conn.Close()
}
