package port

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Limits bound what peers can take of an agent. A field that is zero has its default. A source is
// an IPv4 address, the /64 network of an IPv6 address, or this machine.
type Limits struct {
	// Pending bounds the connections that have not proved that they have the key.
	Pending int
	// HandshakeTimeout bounds a handshake: some round trips of a slow network, on a loaded machine.
	HandshakeTimeout time.Duration
	// SourceRate bounds the handshakes a second of one source, and TotalRate those of all other machines. More wait.
	SourceRate, TotalRate int

	// Connections bounds those of each protocol with other machines, SourceConnections those with one source. More wait.
	Connections, SourceConnections int

	Streams     int   // requests at a time on one connection
	HeaderBytes int   // of a request
	BodyBytes   int64 // likewise

	// They bound the reading of a request, one write of an answer, and a connection without requests.
	ReadTimeout, WriteTimeout, IdleTimeout time.Duration
}

const (
	// handshakeBytes bounds what is read of a peer before the end of its handshake. That of a kt takes 2 KiB.
	handshakeBytes = 16 << 10

	// gossipBytes bounds what is read of one gossip connection. A table of 1,000 agents takes about 180 KiB.
	gossipBytes = 256 << 10

	headerTable  = 4 << 10  // bytes of the table of headers that each side of HTTP/2 keeps
	serverBuffer = 1 << 20  // bytes of requests that a connection keeps until they are read
	answerBuffer = 1 << 20  // bytes of an answer that a client keeps until they are read
	answerHeader = 64 << 10 // bytes of the headers of an answer

	// A client that hears nothing asks after pingAfter, and gives up without an answer within pingFor.
	pingAfter, pingFor = 3 * time.Second, 5 * time.Second
	// An agent asks less often. It only frees what a client that is gone has taken.
	serverPing = 20 * time.Second
)

// defaults returns the limits with defaults for the fields that are zero.
func (l Limits) defaults() Limits {
	return Limits{
		Pending:           cmp.Or(l.Pending, 256), // a goroutine, a descriptor and up to 20 KiB each
		HandshakeTimeout:  cmp.Or(l.HandshakeTimeout, handshakeTimeout),
		SourceRate:        cmp.Or(l.SourceRate, 50), // of about 0.6 ms of CPU time each
		TotalRate:         cmp.Or(l.TotalRate, 200),
		Connections:       cmp.Or(l.Connections, 128), // several times those of 64 agents that join through one
		SourceConnections: cmp.Or(l.SourceConnections, 32),
		Streams:           cmp.Or(l.Streams, 100),
		HeaderBytes:       cmp.Or(l.HeaderBytes, 16<<10),
		BodyBytes:         cmp.Or(l.BodyBytes, 1<<20),
		ReadTimeout:       cmp.Or(l.ReadTimeout, 10*time.Second),
		WriteTimeout:      cmp.Or(l.WriteTimeout, 30*time.Second), // longer than an interruption of the network of 10 s
		IdleTimeout:       cmp.Or(l.IdleTimeout, 2*time.Minute),
	}
}

// handshakeTimeout bounds a handshake on both sides.
const handshakeTimeout = 5 * time.Second

// shares bounds the open connections of each source, and those of all machines but this one.
type shares struct {
	total, most int // of all other machines, and of one source

	mu      sync.Mutex
	open    map[source]int
	others  int       // open connections with other machines
	waiting []*waiter // oldest first
}

// waiter waits for a place.
type waiter struct {
	from source
	has  chan struct{} // closed when it has one
}

func newShares(total, most int) *shares {
	return &shares{total: total, most: most, open: make(map[source]int)}
}

// acquire waits for a place and returns a function that gives it back; nil: ctx has ended before.
func (s *shares) acquire(ctx context.Context, from source) (release func()) {
	w := &waiter{from, make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.serve()
	s.mu.Unlock()
	select {
	case <-w.has:
		return sync.OnceFunc(func() { s.release(from) })
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.waiting, w)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it got one meanwhile
		s.release(from)
	}
	return nil
}

// serve gives the free places to those who have waited longest.
func (s *shares) serve() {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		free := s.open[w.from] < s.most && (w.from == here || s.others < s.total)
		if free {
			s.count(w.from, 1)
			close(w.has)
		}
		return free
	})
}

func (s *shares) release(from source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count(from, -1); s.open[from] == 0 {
		delete(s.open, from)
	}
	s.serve()
}

func (s *shares) count(from source, n int) {
	if s.open[from] += n; from != here {
		s.others += n
	}
}

// rates bounds the handshakes a second of each source, and of all other machines. Those of one second may come at once.
type rates struct {
	source, total int
	longest       time.Duration // the longest delay

	mu    sync.Mutex
	next  map[source]time.Time // the next handshake, of the sources of the last seconds and of others
	swept time.Time
}

// others stands for all other machines together.
var others = source{}

// reserve returns the delay of a handshake, or false if that is too long.
func (r *rates) reserve(from source, now time.Time) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	earliest := now.Add(-time.Second)
	if r.swept.Before(earliest) {
		r.swept = now
		maps.DeleteFunc(r.next, func(_ source, at time.Time) bool { return at.Before(earliest) })
	}
	perSecond := map[source]int{from: r.source}
	if from != here {
		perSecond[others] = r.total
	}
	var wait time.Duration
	for of := range perSecond {
		wait = max(wait, r.next[of].Sub(now))
	}
	if wait > r.longest {
		return 0, false
	}
	for of, n := range perSecond {
		at := r.next[of]
		if at.Before(earliest) {
			at = earliest
		}
		r.next[of] = at.Add(time.Second / time.Duration(n))
	}
	return wait, true
}
