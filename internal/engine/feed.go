package engine

import (
	"context"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// Feed gives values to a receiver on a goroutine of its own. The receiver may hang, on a
// full pipe for instance, and the sender does not wait for it. Values that
// wait are merged into one.
type Feed[T any] struct {
	give  func(T)
	merge func(pending, next T) T
	done  chan struct{} // closed: everything was given
	wake  chan struct{} // holds one: there is something to look at

	mu      sync.Mutex // guards the rest
	pending T
	waiting bool // pending is to be given
	closed  bool
}

// NewFeed starts a feed to give. merge makes one value of two. The first pending value is
// merged with the zero T, so merge can copy what it must not share.
func NewFeed[T any](give func(T), merge func(pending, next T) T) *Feed[T] {
	f := &Feed[T]{give: give, merge: merge, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go f.run()
	return f
}

// Send hands a value over. It does not wait.
func (f *Feed[T]) Send(v T) {
	f.mu.Lock()
	f.pending, f.waiting = f.merge(f.pending, v), true
	f.mu.Unlock()
	f.notify()
}

// Close ends the feed. The channel that it returns is closed when everything was given.
func (f *Feed[T]) Close() <-chan struct{} {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.notify()
	return f.done
}

func (f *Feed[T]) notify() {
	select {
	case f.wake <- struct{}{}:
	default: // the goroutine has been woken and has not looked yet
	}
}

func (f *Feed[T]) run() {
	defer close(f.done)
	for range f.wake {
		f.mu.Lock()
		value, waiting, closed := f.pending, f.waiting, f.closed
		var none T
		f.pending, f.waiting = none, false
		f.mu.Unlock()
		if waiting {
			f.give(value)
		}
		if closed && !waiting {
			return
		}
		if closed {
			f.notify()
		}
	}
}

// MergeWindows merges the windows of consecutive seconds, phase by phase. It changes
// neither next nor the windows in it; pending is its own from an earlier call, or nil.
func MergeWindows(pending, next []stats.Window) []stats.Window {
next:
	for i := range next {
		for k := range pending {
			if pending[k].Warmup == next[i].Warmup {
				pending[k] = stats.Merge(pending[k], next[i])
				continue next
			}
		}
		pending = append(pending, next[i])
	}
	return pending
}

// Events are what a Source has found and nobody has taken, and its goroutines. The zero value has none.
type Events struct {
	Off     bool // another process tells them
	running sync.WaitGroup
	mu      sync.Mutex // guards found
	found   stats.Window
}

// Go calls f on a goroutine, for which Wait waits.
func (e *Events) Go(f func()) { e.running.Go(f) }

// Wait waits for the goroutines.
func (e *Events) Wait() { e.running.Wait() }

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

// Every calls f at each interval, until ctx ends: most sources look in this way.
func Every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}
