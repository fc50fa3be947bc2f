package result

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// Bounds of what a fold keeps of the newest seconds.
const (
	recentPoints = 600              // ten minutes
	tailTime     = 10 * time.Second // a producer fills one batch after the other: within one second, partitions differ by chance
)

// now is the state of a fold that only snapshots need: the newest seconds.
type now struct {
	second         stats.Window // the newest, of both phases
	sample         host.Sample
	peak, peakRead float64 // records a second
	recent         newest[Point]
	tail           tail
	brokers        brokersNow
	leaders        map[int32]int32 // by partition; a snapshot may hold it
	lag            LagNow
	lagKnown       map[int32]bool // by partition
	outstanding    int64          // records without an outcome
	unanswered     stats.Gap      // open; zero: none
	unread         Silence
	worst          PartitionGap
}

// LagNow is the consumer lag at the end of a second.
type LagNow struct {
	Records int64         // never below 0, although reading may be counted before the lag
	Known   bool          // else Records is as it was known last
	Since   time.Duration // when it became known

	// Growth is in records a second over the last ten seconds. It leaves out the first lag.
	Growth float64
}

// Silence is a time in which acknowledgements or records were outstanding and none came.
type Silence struct {
	Now     stats.Gap // open, in whole seconds; zero: none
	Longest stats.Gap
}

// PartitionGap is the longest time without an acknowledgement from a partition while records of one
// producer waited for one.
type PartitionGap struct {
	ID int32
	stats.Gap
}

func newNow(h *Header) now {
	n := now{recent: newest[Point]{most: recentPoints}, brokers: brokersNow{}, leaders: make(map[int32]int32), lagKnown: make(map[int32]bool)}
	for id := range int32(h.Environment.Partitions()) {
		topic, number := h.Environment.Place(id)
		if leader, ok := topic.Leaders[number]; ok {
			n.leaders[id] = leader
		}
	}
	for _, b := range h.Environment.Cluster.Brokers {
		n.brokers.of(b.ID).Addr = b.Addr
	}
	for _, topic := range h.Environment.AllTopics() {
		for id, r := range topic.Replicas {
			of := &n.brokers.of(id).Replicas
			of.All, of.InSync = of.All+r.All, of.InSync+r.InSync
		}
	}
	return n
}

// follow takes the windows of a second, and the consumer lag at its end. A window without length is late, and no second of its own.
func (n *now) follow(windows []stats.Window, lag int64, hosted bool) {
	for i := range windows {
		w := &windows[i]
		n.outstanding += w.Offered - w.Acknowledged - w.Failed - w.Unknown
		for _, e := range w.Events {
			if e.Kind == stats.LeaderMoved || e.Kind == stats.LeaderLost {
				n.lead(&e)
			}
		}
		for id, p := range w.Partitions {
			if p.Outage.Length > n.worst.Length || p.Outage.Length == n.worst.Length && id < n.worst.ID {
				n.worst = PartitionGap{id, p.Outage}
			}
		}
	}
	second := stats.Merge(windows...)
	n.lag.Records, n.lag.Known = max(lag, 0), second.LagUnknown == 0
	first := n.lag.Known && n.lag.Since == 0 // it became known in this second
	if first {
		n.lag.Since = second.End
	}
	n.brokers.addEvents(second.Events)
	if second.End <= second.Start {
		return
	}
	n.second = second
	slim := n.slim(&second, first)
	if hosted {
		slim.Response, slim.EndToEnd = second.Response, second.EndToEnd
	}
	n.tail = slices.DeleteFunc(append(n.tail, slim), func(w stats.Window) bool { return w.End <= second.End-tailTime })
	n.brokers.add(&second)
	n.unanswered = silent(n.unanswered, &second, n.outstanding > 0 && second.Acknowledged == 0)
	n.unread.Now = silent(n.unread.Now, &second, n.lag.Records > 0 && second.Consumed == 0 && second.ReadTime > 0 && second.ReadHeld == 0)
	if n.unread.Now.Length > n.unread.Longest.Length {
		n.unread.Longest = n.unread.Now
	}
}

// slim returns counts and partitions of a second, without the first lag of a partition or, if it is first, of the run: no growth.
func (n *now) slim(w *stats.Window, first bool) stats.Window {
	slim := w.Counts()
	if first {
		slim.ConsumerLag = 0
	}
	slim.Partitions = w.Partitions
	shared := true
	for id, p := range w.Partitions {
		if n.lagKnown[id] || p.ConsumerLag == 0 && p.Consumed == 0 {
			continue
		}
		if shared {
			slim.Partitions, shared = maps.Clone(w.Partitions), false
		}
		n.lagKnown[id] = true
		p.ConsumerLag = 0
		slim.Partitions[id] = p
	}
	return slim
}

// silent returns a gap after one more window.
func silent(g stats.Gap, w *stats.Window, is bool) stats.Gap {
	switch {
	case !is:
		return stats.Gap{}
	case g.Length == 0:
		g.From = w.Start
	}
	g.Length = w.End - g.From
	return g
}

// lead follows the leaders. An event lists some of its partitions: where it does not list all, the
// others that its broker led have a leader that is not known.
func (n *now) lead(e *stats.Event) {
	n.leaders = maps.Clone(n.leaders)
	for id, leader := range n.leaders {
		if leader == e.Broker && e.Count > len(e.Partitions) {
			n.leaders[id] = -1
		}
	}
	for _, id := range e.Partitions {
		n.leaders[id] = e.To
	}
}

// newest keeps the newest values. A list that it returned does not change.
type newest[T any] struct {
	values []T
	most   int
	seen   int64 // values added
}

func (n *newest[T]) add(v T) {
	if len(n.values) >= 2*n.most {
		n.values = slices.Clone(n.list())
	}
	n.values = append(n.values, v)
	n.seen++
}

func (n *newest[T]) list() []T {
	end := len(n.values)
	return n.values[max(0, end-n.most):end:end]
}
