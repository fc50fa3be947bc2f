package port

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// shares bounds the open connections of each source, and those of all other machines. So this
// machine can always connect, and no other machine can take all connections of the others.
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

// acquire waits for a place and returns a function that gives it back; nil: ctx has ended before. Of those who can have a
// place, the one that has waited longest gets it.
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

// serve gives the free places to those who wait.
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

// rates bounds the handshakes a second of each source, and those of all other machines.
// Those of one second may come at once.
type rates struct {
	source, total int
	longest       time.Duration // the longest delay

	mu    sync.Mutex
	next  map[source]time.Time // the next handshake, of the sources of the last seconds and of others
	swept time.Time
}

// others stands for all other machines together.
var others = source{}

// reserve returns the delay of a handshake. It returns false if that is too long: then the handshake
// does not take place.
func (r *rates) reserve(from source, now time.Time) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = make(map[source]time.Time)
	}
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
