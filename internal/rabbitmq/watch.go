package rabbitmq

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

func event(kind stats.EventKind, node int32, format string, args ...any) stats.Event {
	return stats.Event{Kind: kind, Broker: node, To: -1, Text: fmt.Sprintf(format, args...)}
}

func (s *session) broker(host string) int32 {
	if i := slices.IndexFunc(s.cluster.Brokers, func(b result.Broker) bool { return b.Addr == host }); i >= 0 {
		return s.cluster.Brokers[i].ID
	}
	return -1
}

func (s *session) disconnected(shard *engine.Shard, host string, why error) {
	if s.turn(host, true) {
		shard.Event(event(stats.BrokerGone, s.broker(host), "connections to %s are lost: %v", host, explain(why)))
	}
}

func (s *session) reconnected(shard *engine.Shard, host string) {
	if s.turn(host, false) {
		shard.Event(event(stats.BrokerBack, s.broker(host), "%s takes connections again", host))
	}
}

// turn notes whether a host or a queue is gone, and reports whether that is new.
func (s *session) turn(name string, gone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.gone[name]
	s.gone[name] = gone
	return before != gone
}

const watchEvery = time.Second

// watcher asks the management API for nodes that are gone and for leaders of queues that moved.
type watcher struct {
	*session
	engine.Events
	asking  sync.WaitGroup
	running map[int32]bool  // by node
	heard   map[int32]bool  // the same: its own API has answered
	leaders map[int32]int32 // by partition
	loses   string          // how queues lose messages that nothing reports; empty if they do not
}

var _ engine.Source = (*watcher)(nil)

// Start begins to look.
func (w *watcher) Start(ctx context.Context, now func() time.Duration) {
	w.running, w.heard, w.leaders = make(map[int32]bool), make(map[int32]bool), maps.Clone(w.topic.Leaders)
	w.asking.Go(func() {
		engine.Every(ctx, watchEvery, func() {
			if w.plan.Writes() {
				w.flow.Store(w.management.flowing(ctx))
			}
			if !w.options.Watch { // another process does
				return
			}
			at := now() // a node that hangs is noticed only when its answer is overdue
			for _, e := range append(w.nodes(ctx), w.moves(ctx)...) {
				if e.Kind == stats.LeaderMoved {
					at = now()
				}
				e.At = at
				w.Add(e)
			}
		})
	})
}

// nodes returns events of nodes that are gone or back. It asks each node too, because others believe for a minute that a hung node runs.
func (w *watcher) nodes(ctx context.Context) (events []stats.Event) {
	answers := make([]bool, len(w.cluster.Brokers))
	var asking sync.WaitGroup
	for i, b := range w.cluster.Brokers {
		asking.Go(func() { answers[i] = w.management.Get(ctx, w.management.own[b.Rack]+"/api/whoami", nil) == nil })
	}
	running, _ := w.management.nodes(ctx) // without an answer, another one is asked next time
	asking.Wait()
	if ctx.Err() != nil {
		return nil
	}
	for i, b := range w.cluster.Brokers {
		up, known := running[b.Rack]
		before, looked := w.running[b.ID]
		state := "run"
		if w.heard[b.ID] = w.heard[b.ID] || answers[i]; w.heard[b.ID] && (!known || up && !answers[i]) {
			state, up, known = "answer", answers[i], true
		}
		if !known || looked && up == before {
			continue
		}
		w.running[b.ID] = up
		switch changed := w.turn(cmp.Or(b.Addr, b.Rack), !up); {
		case changed && up:
			events = append(events, event(stats.BrokerBack, b.ID, "node %s runs and answers again", b.Rack))
		case changed:
			events = append(events, event(stats.BrokerGone, b.ID, "node %s does not %s", b.Rack, state))
		}
	}
	return events
}

func (w *watcher) moves(ctx context.Context) (events []stats.Event) {
	t := result.Topic{Name: w.topic.Name, Partitions: w.topic.Partitions, Leaders: make(map[int32]int32), Configs: make(map[string]string)}
	more, err := w.management.describeQueues(ctx, &t, w.cluster.Brokers)
	if err != nil {
		return nil
	}
	if n := more - w.more; n > 0 {
		e := event(stats.PartitionsAdded, -1, "%s added to %s, which this run does not use: the next one does", theme.Plural(n, "queue was", "queues were"), t.Name)
		e.Count = n
		events = append(events, e)
	}
	w.more = max(w.more, more)
	refuses, loses := queueLimit(t.Configs)
	w.limit.Store(refuses)
	if !w.settings.confirms { // nothing says that a message was refused
		loses = cmp.Or(loses, refuses)
	}
	if loses != w.loses && loses != "" && w.plan.Writes() {
		events = append(events, event(stats.RecordsDeleted, -1, "%s: kt does not count those", loses))
	}
	w.loses = loses
	moved := make(map[[2]int32][]int32)
	for _, q := range slices.Sorted(maps.Keys(t.Leaders)) {
		from, known := w.leaders[q]
		to := t.Leaders[q]
		if known && to != from {
			moved[[2]int32{from, to}] = append(moved[[2]int32{from, to}], q)
		}
		w.leaders[q] = to
	}
	for way, queues := range moved {
		e := event(stats.LeaderMoved, way[0], "%s moved from node %d to node %d", theme.Plural(len(queues), "leader of a queue", "leaders of queues"), way[0], way[1])
		e.To, e.Count, e.Partitions = way[1], len(queues), queues[:min(len(queues), stats.MaxEventPartitions)]
		events = append(events, e)
	}
	return events
}

// Wait returns when nothing is asked any more.
func (w *watcher) Wait() { w.asking.Wait() }

// lookAround fails messages that have waited too long, and notes whether the server throttles the worker.
func (w *worker) lookAround() {
	w.refuse(w.settings.deliveryTimeout)
	nacked, at, why := w.nacked.Swap(false), "", ""
	limit, _ := w.limit.Load().(string)
	flow, _ := w.flow.Load().(map[string]bool)
	if o, reason := w.at.Load(), w.blocked.Load(); o != nil {
		at = o.host
		_, port, _ := net.SplitHostPort(o.frames.conn.LocalAddr().String()) // it has one
		switch {
		case reason != nil:
			why = "RabbitMQ blocks publishers: " + *reason
		case nacked && limit != "":
			why = limit
		case flow[port]:
			why = "credit flow of RabbitMQ, whose queues or disks take no more"
		}
	}
	w.shard.LookThrottled(w.broker(at), why)
}

// flowing returns the ports of clients whose connection, or a channel of it, credit flow holds back.
func (m *management) flowing(ctx context.Context) map[string]bool {
	ports := make(map[string]bool)
	for _, path := range []string{"connections?columns=state,peer_port", "channels?columns=state,connection_details.peer_port"} {
		var all []struct {
			State   string
			Port    int            `json:"peer_port"`
			Details map[string]int `json:"connection_details"`
		}
		_ = m.get(ctx, "vhosts/"+url.PathEscape(m.system.vhost)+"/"+path, &all) // else none is known
		for _, c := range all {
			if c.State == "flow" {
				ports[fmt.Sprint(cmp.Or(c.Port, c.Details["peer_port"]))] = true
			}
		}
	}
	return ports
}

// queueLimit returns the limit at which queues refuse messages, or drop confirmed ones; empty if there is none.
func queueLimit(configs map[string]string) (refuses, drops string) {
	overflow := cmp.Or(configs["x-overflow"], configs["overflow"], "drop-head")
	limits := ""
	for _, name := range []string{"max-length", "max-length-bytes"} {
		if v := cmp.Or(configs["x-"+name], configs[name]); v != "" {
			limits += name + "=" + v + ", "
		}
	}
	at := fmt.Sprintf("at their limit (%soverflow=%s)", limits, overflow)
	switch ttl := cmp.Or(configs["x-message-ttl"], configs["message-ttl"]); {
	case limits == "" && ttl != "":
		return "", "queues drop messages that nobody has read after " + ttl + " ms (message-ttl)"
	case limits == "":
		return "", ""
	case strings.HasPrefix(overflow, "reject-publish"):
		return "queues refuse messages " + at, ""
	}
	return "", "queues drop their oldest messages " + at
}
