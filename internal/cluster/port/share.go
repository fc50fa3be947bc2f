package port

import (
	"sync"
	"time"
)

// shares bounds the open connections of each source, and those of all other machines. So this
// machine can always connect, and no other machine can take all connections of the others.
type shares struct {
	most  int           // of one source
	total chan struct{} // holds a token for each connection of another machine

	mu sync.Mutex
	of map[source]*share // of the sources with open or waiting connections
}

// share is the open connections of one source.
type share struct {
	slots chan struct{}
	users int // open and waiting connections, guarded by shares.mu
}

func newShares(total, most int) *shares {
	return &shares{most: most, total: make(chan struct{}, total), of: make(map[source]*share)}
}

// take waits for a share and returns a function that gives it back. It returns false if gone is
// closed before.
func (s *shares) take(from source, gone <-chan struct{}) (leave func(), ok bool) {
	s.mu.Lock()
	own := s.of[from]
	if own == nil {
		own = &share{slots: make(chan struct{}, s.most)}
		s.of[from] = own
	}
	own.users++
	s.mu.Unlock()
	needed, held := []chan struct{}{own.slots}, 0
	if from != here {
		needed = append(needed, s.total)
	}
	leave = func() {
		for _, slots := range needed[:held] {
			<-slots
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(s.of, from)
		}
	}
	for _, slots := range needed {
		select {
		case slots <- struct{}{}:
			held++
		case <-gone:
			leave()
			return nil, false
		}
	}
	return leave, true
}

// rate spaces events out. Those of one second may come at once.
type rate struct{ next time.Time }

// delay returns the time until the next event may be.
func (r *rate) delay(now time.Time) time.Duration {
	return max(r.next.Sub(now), 0)
}

// take notes the next event.
func (r *rate) take(now time.Time, perSecond int) {
	if earliest := now.Add(-time.Second); r.next.Before(earliest) {
		r.next = earliest
	}
	r.next = r.next.Add(time.Second / time.Duration(perSecond))
}

// rates bounds the handshakes a second of each source, and those of all other machines.
type rates struct {
	source, total int
	longest       time.Duration // the longest delay

	mu    sync.Mutex
	all   rate
	of    map[source]*rate // of the sources of the last seconds, at most as many as their handshakes
	swept time.Time
}

// take returns the delay of a handshake. It returns false if that is too long: then the handshake
// does not take place.
func (r *rates) take(from source, now time.Time) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	own := r.of[from]
	if own == nil {
		own = &rate{}
	}
	wait := own.delay(now)
	if from != here {
		wait = max(wait, r.all.delay(now))
	}
	if wait > r.longest {
		return 0, false
	}
	if r.of == nil {
		r.of = make(map[source]*rate)
	}
	r.of[from] = own
	own.take(now, r.source)
	if from != here {
		r.all.take(now, r.total)
	}
	return wait, true
}

// sweep forgets the sources that may have a full second of handshakes again.
func (r *rates) sweep(now time.Time) {
	if now.Sub(r.swept) < time.Second {
		return
	}
	r.swept = now
	for from, own := range r.of {
		if now.Sub(own.next) > time.Second {
			delete(r.of, from)
		}
	}
}
