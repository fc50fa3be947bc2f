package engine

import (
	"sync"

	"github.com/kt-bench/kt/internal/stats"
)

// feed gives windows to the sinks on a goroutine of its own. A sink may hang, on a
// pipe that nobody reads say; the run must not. Windows that wait are merged,
// phase by phase.
type feed struct {
	sinks []Sink
	done  chan struct{} // closed: all was given
	wake  chan struct{} // holds one: there is something to look at

	mu      sync.Mutex // guards the rest
	pending []stats.Window
	closed  bool
}

func newFeed(sinks []Sink) *feed {
	f := &feed{sinks: sinks, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go f.run()
	return f
}

// send hands windows over. It does not wait.
func (f *feed) send(windows []stats.Window) {
	f.mu.Lock()
	for i := range windows {
		f.add(&windows[i])
	}
	f.mu.Unlock()
	f.notify()
}

func (f *feed) add(w *stats.Window) {
	for i := range f.pending {
		if f.pending[i].Warmup == w.Warmup {
			f.pending[i] = stats.Merge(f.pending[i], *w)
			return
		}
	}
	f.pending = append(f.pending, *w)
}

// close waits until all is given.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.notify()
	<-f.done
}

func (f *feed) notify() {
	select {
	case f.wake <- struct{}{}:
	default: // it has been woken and not looked yet
	}
}

func (f *feed) run() {
	defer close(f.done)
	for range f.wake {
		f.mu.Lock()
		windows, closed := f.pending, f.closed
		f.pending = nil
		f.mu.Unlock()
		if len(windows) > 0 {
			for _, sink := range f.sinks {
				sink.Observe(windows)
			}
		}
		if closed && len(windows) == 0 {
			return
		}
		if closed {
			f.notify()
		}
	}
}
