package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// maxEvents bounds the events of a run that the engine itself makes: a cluster
// that fails and succeeds by turns must not fill the memory.
const maxEvents = 1000

// beside is the state that all shards of a run share: the time of the newest answer,
// and the events.
type beside struct {
	failing atomic.Bool // the last record that had an outcome failed; it is set with mu held

	mu     sync.Mutex // guards the rest; a shard's mu may be held
	wait   stats.Wait
	events []stats.Event
	count  int
}

// shareEvery is how often a shard tells the others of its answers, at most. So shards
// that answer often do not wait for each other, and a time without any answer is right to
// so much.
const shareEvery = time.Millisecond

// answered notes an answer, and for how long there had been none while o waited. That
// counts in the phase of the run, for the records of both waited. The caller holds the
// shard's mu.
func (r *run) answered(s *Shard, o *Op, at time.Duration) {
	b, before := &r.beside, s.answered
	s.answered = at
	if s.shared != 0 && at-s.shared < shareEvery && !b.failing.Load() {
		return
	}
	s.shared = at
	b.mu.Lock()
	b.wait.Answered(before)
	gap := b.wait.Acknowledged(o.Sent, at)
	if b.failing.Load() {
		b.failing.Store(false)
		b.add(stats.Event{At: at, Kind: stats.FirstSuccess, Broker: -1, To: -1, Text: "records are acknowledged again"})
	}
	b.mu.Unlock()
	s.rec.Outage(s.phase, gap)
}

// refused notes a record that failed. The caller holds the shard's mu.
func (r *run) refused(s *Shard, o *Op, partition int32, code string, at time.Duration) {
	b := &r.beside
	b.mu.Lock()
	b.wait.Answered(s.answered)
	gap := b.wait.Failed(o.Sent, at)
	if !b.failing.Load() {
		b.failing.Store(true)
		b.add(stats.Event{At: at, Kind: stats.FirstError, Broker: -1, To: -1, Text: fmt.Sprintf("records fail: %s", code)})
	}
	b.mu.Unlock()
	s.rec.Outage(s.phase, gap)
	if partition >= 0 {
		s.rec.FailedIn(int(o.phase), partition, o.Sent, at)
	}
}

// outage is the time since the last answer in which a record of the shard, sent then,
// waited. The caller holds the shard's mu.
func (r *run) outage(s *Shard, at, sent time.Duration) stats.Gap {
	b := &r.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait.Answered(s.answered)
	return b.wait.Open(sent, at)
}

// add keeps an event. The caller holds mu.
func (b *beside) add(e stats.Event) {
	if b.count++; b.count <= maxEvents {
		b.events = append(b.events, e)
	}
}

// Event reports that something happened just now.
func (s *Shard) Event(e stats.Event) {
	if !s.run.begun.Load() {
		return // it is no part of the run
	}
	e.At = s.Now()
	s.run.beside.mu.Lock()
	defer s.run.beside.mu.Unlock()
	s.run.beside.add(e)
}

// takeBeside returns the findings of the sources, and the events of the shards, since the
// last window.
func (r *run) takeBeside() stats.Window {
	var w stats.Window
	for _, source := range r.opts.Sources {
		found := source.Take()
		w.Add(&found)
	}
	r.beside.mu.Lock()
	w.Add(&stats.Window{Events: r.beside.events})
	r.beside.events = nil
	r.beside.mu.Unlock()
	return w
}
