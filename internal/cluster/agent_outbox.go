package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
)

// outbox holds a run's messages until its coordinator gets them. Waiting seconds are merged,
// and only the newest state of a process and of the host is kept. So a sender never waits
// for a slow or missing stream.
type outbox struct {
	wake chan struct{} // of capacity 1: there are messages

	mu      sync.Mutex // guards the rest
	parts   map[int]partStatus
	changed map[int]bool // parts with unsent changes
	seconds map[int]*Second
	vitals  *host.Vitals
	passed  int         // vitals that newer ones have replaced before they were sent
	flags   []fromAgent // messages that a run has once, all of them
	told    int         // number of flags that were sent
}

func newOutbox() *outbox {
	return &outbox{
		wake: make(chan struct{}, 1), parts: make(map[int]partStatus),
		changed: make(map[int]bool), seconds: make(map[int]*Second),
	}
}

func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

func (o *outbox) part(s partStatus) {
	o.mu.Lock()
	o.parts[s.Process] = s
	o.changed[s.Process] = true
	o.mu.Unlock()
	o.notify()
}

// second adds a second of a process. The outbox owns its windows from now on.
func (o *outbox) second(process int, s *Second) {
	for i := range s.Windows {
		s.Windows[i] = s.Windows[i].Slim()
	}
	o.mu.Lock()
	if waiting := o.seconds[process]; waiting != nil {
		s.Windows = engine.MergeWindows(waiting.Windows, s.Windows)
	}
	o.seconds[process] = s
	o.mu.Unlock()
	o.notify()
}

func (o *outbox) watched(v host.Vitals) {
	o.mu.Lock()
	if o.vitals != nil {
		o.passed++
	}
	o.vitals = &v
	o.mu.Unlock()
	o.notify()
}

// flag adds a message that a run has once, such as its end.
func (o *outbox) flag(m fromAgent) {
	o.mu.Lock()
	o.flags = append(o.flags, m)
	o.mu.Unlock()
	o.notify()
}

// retell queues the state of all processes and all flags again, for a new stream.
func (o *outbox) retell() {
	o.mu.Lock()
	for p := range o.parts {
		o.changed[p] = true
	}
	o.told = 0
	o.mu.Unlock()
	o.notify()
}

// shrink frees the memory of an ended run. Only the final states of its processes and its flags
// stay.
func (o *outbox) shrink() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p, s := range o.parts {
		s.Header, s.Start = nil, nil
		o.parts[p] = s
	}
	clear(o.seconds)
	o.vitals = nil
}

// take removes and returns the unsent messages. The state of a process comes before its seconds.
func (o *outbox) take(epoch string) []fromAgent {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []fromAgent
	for _, p := range slices.Sorted(maps.Keys(o.changed)) {
		s := o.parts[p]
		out = append(out, fromAgent{Part: &s})
	}
	for _, p := range slices.Sorted(maps.Keys(o.seconds)) {
		out = append(out, fromAgent{Second: &partSecond{Epoch: epoch, Process: p, Second: *o.seconds[p]}})
	}
	if o.vitals != nil {
		out = append(out, fromAgent{Vitals: &hostVitals{Epoch: epoch, Vitals: *o.vitals, Passed: o.passed}})
	}
	out = append(out, o.flags[o.told:]...)
	o.told, o.vitals = len(o.flags), nil
	clear(o.seconds)
	clear(o.changed)
	return out
}

// deliver sends messages to the coordinator until the stream or ctx ends.
func (o *outbox) deliver(ctx context.Context, s stream, epoch string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		for _, m := range o.take(epoch) {
			if err := send(ctx, s, m); err != nil {
				_ = s.Close() // the coordinator then dials again
				return
			}
		}
	}
}
