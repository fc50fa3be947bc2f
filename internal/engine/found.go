package engine

import (
	"sync"

	"github.com/kt-bench/kt/internal/stats"
)

// Events are what a Source has found and nobody has taken. The zero value holds none.
type Events struct {
	Off   bool       // another process tells them
	mu    sync.Mutex // guards found
	found stats.Window
}

// Add keeps events.
func (e *Events) Add(events ...stats.Event) {
	if e.Off {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found.Add(&stats.Window{Events: events})
}

// Take returns the events since the last call.
func (e *Events) Take() stats.Window {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.found
	e.found = stats.Window{}
	return w
}
