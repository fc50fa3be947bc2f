package port

import (
	"context"
	"maps"
	"sync"
	"time"
)

// shares bounds the open connections of each source, and those of all other machines. So this
// machine can always connect, and no other machine can take all connections of the others.
type shares struct {
	total, most int // of all other machines, and of one source

	mu     sync.Mutex
	open   map[source]int
	others int           // open connections with other machines
	freed  chan struct{} // closed when a place is given back
}

func newShares(total, most int) *shares {
	return &shares{total: total, most: most, open: make(map[source]int), freed: make(chan struct{})}
}

// acquire waits for a place and returns a function that gives it back; nil: ctx has ended before.
func (s *shares) acquire(ctx context.Context, from source) (release func()) {
	for {
		s.mu.Lock()
		free := s.open[from] < s.most && (from == here || s.others < s.total)
		if free {
			s.count(from, 1)
		}
		freed := s.freed
		s.mu.Unlock()
		if free {
			return sync.OnceFunc(func() { s.release(from) })
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *shares) release(from source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count(from, -1); s.open[from] == 0 {
		delete(s.open, from)
	}
	close(s.freed)
	s.freed = make(chan struct{})
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
