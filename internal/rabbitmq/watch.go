package rabbitmq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// broker returns the number of the node at a host, -1 if it is not known.
func (s *session) broker(host string) int32 {
	for _, b := range s.cluster.Brokers {
		if b.Addr == host {
			return b.ID
		}
	}
	return -1
}

// disconnected reports that a connection to a host was lost, the first time.
func (s *session) disconnected(shard *engine.Shard, host string, why error) {
	if s.turn(host, true) {
		shard.Event(stats.Event{Kind: stats.BrokerGone, Broker: s.broker(host), To: -1, Text: fmt.Sprintf("connections to %s are lost: %v", host, explain(why))})
	}
}

// reconnected reports that there is a connection to a host again.
func (s *session) reconnected(shard *engine.Shard, host string) {
	if s.turn(host, false) {
		shard.Event(stats.Event{Kind: stats.BrokerBack, Broker: s.broker(host), To: -1, Text: fmt.Sprintf("%s takes connections again", host)})
	}
}

// turn notes whether a host or a node is gone, and reports whether that is new.
func (s *session) turn(host string, gone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.gone[host]
	s.gone[host] = gone
	return before != gone
}

// alarm reports the first connection that the server blocks, and when it blocks none any more.
func (s *session) alarm(shard *engine.Shard, on bool, reason string) {
	s.mu.Lock()
	change := 1
	if !on {
		change = -1
	}
	s.blocked += change
	told := on && s.blocked == 1 || !on && s.blocked == 0
	s.mu.Unlock()
	switch {
	case told && on:
		shard.Event(stats.Event{Kind: stats.AlarmOn, Broker: -1, To: -1, Text: "RabbitMQ blocks publishers: " + reason})
	case told:
		shard.Event(stats.Event{Kind: stats.AlarmOff, Broker: -1, To: -1, Text: "RabbitMQ takes messages again"})
	}
}

// watchEvery is the time between two looks at the nodes and the queues.
const watchEvery = time.Second

// watcher asks the management API for nodes that are gone and for leaders of queues that moved.
type watcher struct {
	*session
	queue.Events
	asking  sync.WaitGroup
	running map[int32]bool  // by node
	leaders map[int32]int32 // by partition
}

var _ engine.Source = (*watcher)(nil)

// Start begins to look.
func (w *watcher) Start(ctx context.Context, now func() time.Duration) {
	w.running, w.leaders = make(map[int32]bool), maps.Clone(w.topic.Leaders)
	w.asking.Go(func() {
		queue.Every(ctx, watchEvery, func() {
			for _, e := range append(w.nodes(ctx), w.moves(ctx)...) {
				e.At = now()
				w.Add(e)
			}
		})
	})
}

// nodes returns events of nodes that are gone or back.
func (w *watcher) nodes(ctx context.Context) (events []stats.Event) {
	running, err := w.management.nodes(ctx)
	if err != nil {
		return nil // another one is asked next time
	}
	for _, b := range w.cluster.Brokers {
		up, known := running[b.Rack]
		before, looked := w.running[b.ID]
		if !known || looked && up == before {
			continue
		}
		w.running[b.ID] = up
		switch {
		case !up && w.turn(b.Addr, true):
			events = append(events, stats.Event{Kind: stats.BrokerGone, Broker: b.ID, To: -1, Text: fmt.Sprintf("node %s does not run", b.Rack)})
		case up && w.turn(b.Addr, false):
			events = append(events, stats.Event{Kind: stats.BrokerBack, Broker: b.ID, To: -1, Text: fmt.Sprintf("node %s runs again", b.Rack)})
		}
	}
	return events
}

// moves returns events of queues with other leaders than before.
func (w *watcher) moves(ctx context.Context) (events []stats.Event) {
	t := result.Topic{Name: w.topic.Name, Leaders: make(map[int32]int32), Configs: make(map[string]string)}
	if w.management.describeQueues(ctx, &t, w.cluster.Brokers) != nil {
		return nil
	}
	moved := make(map[[2]int32][]int32)
	for _, q := range slices.Sorted(maps.Keys(t.Leaders)) {
		from, known := w.leaders[q]
		if to := t.Leaders[q]; to != from {
			if known {
				moved[[2]int32{from, to}] = append(moved[[2]int32{from, to}], q)
			}
			w.leaders[q] = to
		}
	}
	for way, queues := range moved {
		e := stats.Event{Kind: stats.LeaderMoved, Broker: way[0], To: way[1], Count: len(queues), Partitions: queues[:min(len(queues), stats.MaxEventPartitions)]}
		e.Text = fmt.Sprintf("%s moved from node %d to node %d", theme.Plural(len(queues), "leader of a queue", "leaders of queues"), way[0], way[1])
		events = append(events, e)
	}
	return events
}

// Wait returns when nothing is asked any more.
func (w *watcher) Wait() { w.asking.Wait() }
