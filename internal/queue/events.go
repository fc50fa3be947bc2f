package queue

import (
	"sync"

	"github.com/kt-bench/kt/internal/stats"
)

// Events are what an engine.Source has found and nobody has taken. The zero value holds none.
type Events struct {
	Off   bool       // another process tells them
	mu    sync.Mutex // guards the rest
	found []stats.Event
	count int
}

// maxEvents bounds the events of a run: an unstable cluster must not fill the memory.
const maxEvents = 1000

// Add keeps an event.
func (e *Events) Add(event stats.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count++; e.count <= maxEvents && !e.Off {
		e.found = append(e.found, event)
	}
}

// Take returns the events since the last call.
func (e *Events) Take() stats.Window {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := stats.Window{Events: e.found}
	e.found = nil
	return w
}
