package export

import (
	"sync"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// totals are the running totals of a run, and its newest snapshot. The zero value is that of a run that has not
// reached its system yet.
type totals struct {
	mu     sync.Mutex     // guards the rest
	header *result.Header // nil: the system has not been reached
	phases stats.Phases
	newest result.Snapshot
}

// open takes the header of the run.
func (t *totals) open(h result.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.header = &h
	t.newest.Stage = result.Preparing
}

// observe adds one second.
func (t *totals) observe(s *run.Second) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.Windows {
		w := s.Windows[i]
		w.Partitions, w.Events, w.EventsLeftOut = nil, nil, nil // no metric has them
		t.phases[stats.PhaseOf(w.Warmup)].Add(&w)
	}
	t.newest = s.Snapshot
}

// each calls f for each phase that the run has, with its name.
func (t *totals) each(f func(phase string, w *stats.Window)) {
	if w := &t.phases[stats.Warmup]; t.header.Plan.Load.Warmup != noWarmup || !w.IsZero() {
		f("warmup", w)
	}
	f("measured", &t.phases[stats.Measured])
}
