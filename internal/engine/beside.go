package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// maxEvents bounds the events of a run that the engine itself makes: a cluster
// that fails and succeeds by turns must not fill the memory.
const maxEvents = 1000

// beside is what all shards of a run know together: when a broker last answered,
// and what has happened.
type beside struct {
	mu      sync.Mutex // guards the rest; a shard's mu may be held
	wait    stats.Wait
	failing bool
	events  []stats.Event
	count   int
}

// answered notes an answer, and for how long there had been none while o waited. That
// counts in the phase of the run, for the records of both waited. The caller holds the
// shard's mu.
func (r *run) answered(s *Shard, o *Op, at time.Duration) {
	b := &r.beside
	b.mu.Lock()
	gap := b.wait.Acknowledged(o.Sent, at)
	if b.failing {
		b.failing = false
		b.add(stats.Event{At: at, Kind: stats.FirstSuccess, Broker: -1, To: -1, Text: "records are acknowledged again"})
	}
	b.mu.Unlock()
	s.rec.Outage(s.phase, gap)
}

// refused notes a record that failed. The caller holds the shard's mu.
func (r *run) refused(s *Shard, o *Op, partition int32, code string, at time.Duration) {
	b := &r.beside
	b.mu.Lock()
	gap := b.wait.Failed(o.Sent, at)
	if !b.failing {
		b.failing = true
		b.add(stats.Event{At: at, Kind: stats.FirstError, Broker: -1, To: -1, Text: fmt.Sprintf("records fail: %s", code)})
	}
	b.mu.Unlock()
	s.rec.Outage(s.phase, gap)
	if partition >= 0 {
		s.rec.FailedIn(int(o.phase), partition, o.Sent, at)
	}
}

// outage is the time since the last answer in which a record sent then waited.
func (b *beside) outage(at, sent time.Duration) stats.Gap {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// takeBeside is what the sources and the shards together have found since the last
// window.
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
