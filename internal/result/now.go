package result

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// Bounds of what a fold keeps of the newest seconds.
const (
	recentPoints = 600              // ten minutes
	tailTime     = 10 * time.Second // a producer fills one batch after the other: within one second, partitions differ by chance
	trendTime    = 60               // seconds of a Trend
)

// now is the state of a fold that only snapshots need.
type now struct {
	Snapshot    // of the newest second, but for what its method computes
	second      stats.Window
	brokers     map[int32]*BrokerNow
	outstanding int64 // records without an outcome
	firstLag    int64 // the consumer lag when it became known
}

// LagNow is the consumer lag at the end of a second.
type LagNow struct {
	Records int64         // never below 0, although reading may be counted before the lag
	Known   bool          // else Records is as it was known last
	Since   time.Duration // when it became known
	Growth  float64       // in records a second over the last ten seconds, without the first lag
}

// Silence is a time in which acknowledgements or records were outstanding and none came.
type Silence struct {
	Now     stats.Gap // open, in whole seconds; zero: none
	Longest stats.Gap
}

// PartitionGap is the longest time without an acknowledgement from a partition while records of one producer waited for one.
type PartitionGap struct {
	ID int32 // the key of its row: see Environment.RowName
	stats.Gap
}

func newNow(h *Header) now {
	n := now{brokers: make(map[int32]*BrokerNow)}
	n.Environment, n.leaders = &h.Environment, make(map[int32]int32)
	for _, b := range h.Environment.Cluster.Brokers {
		n.broker(b.ID).Addr = b.Addr
	}
	topics := h.Environment.AllTopics()
	firsts := Firsts(topics)
	for i, topic := range topics {
		for id, leader := range topic.Leaders {
			if id >= 0 && int(id) < topic.Partitions {
				n.leaders[firsts[i]+id] = leader
			}
		}
		for id, r := range topic.Replicas {
			of := &n.broker(id).Replicas
			of.All, of.InSync = of.All+r.All, of.InSync+r.InSync
		}
	}
	return n
}

// newest returns a list with a value more, and at most so many. The list before does not change.
func newest[T any](list []T, v T, most int) []T {
	list = append(list, v)
	return list[max(0, len(list)-most):]
}

func (n *now) place(p Point) {
	n.Recent = newest(n.Recent, p, recentPoints)
	n.Placed++
	if p.Seconds >= ShortRow && !p.Warmup {
		n.Peak, n.PeakRead = max(n.Peak, float64(p.Acknowledged)/p.Seconds), max(n.PeakRead, float64(p.Consumed)/p.Seconds)
	}
}

// follow takes the windows of a second, and the consumer lag at its end. A window without length is late, and no second of its own.
func (n *now) follow(windows []stats.Window, lag int64, hosted bool) {
	for i := range windows {
		w := &windows[i]
		n.outstanding += w.Offered - w.Acknowledged - w.Failed - w.Unknown
		for _, e := range w.Events {
			n.addEvent(&e)
		}
		for id, p := range w.Partitions {
			if p.Outage.Length > n.WorstGap.Length || p.Outage.Length == n.WorstGap.Length && id < n.WorstGap.ID {
				n.WorstGap = PartitionGap{id, p.Outage}
			}
		}
	}
	second := stats.Merge(windows...)
	n.ConsumerLag.Records, n.ConsumerLag.Known = max(lag, 0), second.LagUnknown == 0
	if second.End <= second.Start {
		return
	}
	if n.ConsumerLag.Known && n.ConsumerLag.Since == 0 { // it became known in this second
		n.ConsumerLag.Since, n.firstLag = second.End, second.ConsumerLag
	}
	n.second, n.At = second, second.End
	slim := second.Counts()
	slim.Partitions = second.Partitions
	if hosted {
		slim.Response, slim.EndToEnd = second.Response, second.EndToEnd
	}
	n.seconds = slices.DeleteFunc(append(n.seconds, slim), func(w stats.Window) bool { return w.End <= n.At-tailTime })
	n.addToBrokers()
	n.Unanswered.add(&second, n.outstanding > 0 && second.Acknowledged == 0)
	n.Unread.add(&second, n.ConsumerLag.Records > 0 && second.Consumed == 0 && second.ReadTime > 0 && second.ReadHeld == 0)
}

// add takes a window. is reports whether nothing came in it.
func (s *Silence) add(w *stats.Window, is bool) {
	switch {
	case !is:
		s.Now = stats.Gap{}
		return
	case s.Now.Length == 0:
		s.Now.From = w.Start
	}
	s.Now.Length = w.End - s.Now.From
	s.Longest = s.Longest.Longer(s.Now)
}

// broker returns a broker, which it adds unless it is known.
func (n *now) broker(id int32) *BrokerNow {
	if n.brokers[id] == nil {
		n.brokers[id] = &BrokerNow{ID: id}
	}
	return n.brokers[id]
}

// addToBrokers adds the newest second. A known broker without an answer is silent.
func (n *now) addToBrokers() {
	for id := range n.second.Brokers {
		n.broker(id)
	}
	length := n.second.Seconds()
	for id, v := range n.brokers {
		b := n.second.Brokers[id]
		answered := b.Requests+b.Fetch.Requests > b.Failed+b.Fetch.Failed
		v.Refusing = b.Failed+b.Fetch.Failed > 0 && !answered
		if v.Silent++; answered {
			v.Asked, v.Silent = true, 0
		}
		written, fetched := cmp.Or(b.WireBytes, b.Bytes), cmp.Or(b.Fetch.WireBytes, b.Fetch.Bytes) // as sent, where that is known
		v.Written, v.Fetched = float64(written)/length, float64(fetched)/length
		v.Requests, v.Fetches = float64(b.Requests)/length, float64(b.Fetch.Requests)/length
		v.P99, v.Mean, v.FetchMean = b.Latency.ValueAtQuantile(0.99), b.Latency.Mean(), b.Fetch.Latency.Mean()
		v.Throttle = b.Throttle + b.Fetch.Throttle
		v.Trend = newest(v.Trend, float64(b.Records+b.Fetch.Records)/length, trendTime)
		v.p99s = newest(v.p99s, v.P99, int(tailTime/time.Second))
	}
}

func (n *now) addEvent(e *stats.Event) {
	if e.Kind == stats.LeaderMoved || e.Kind == stats.LeaderLost {
		n.leaders = maps.Clone(n.leaders) // a snapshot may hold it
		for id, leader := range n.leaders {
			if leader == e.Broker && e.Count > len(e.Partitions) { // it does not list all
				n.leaders[id] = -1
			}
		}
		for _, id := range e.Partitions {
			n.leaders[id] = e.To
		}
	}
	b := n.brokers[e.Broker]
	switch {
	case b == nil:
	case e.Kind == stats.BrokerGone, e.Kind == stats.BrokerBack:
		b.Gone = e.Kind == stats.BrokerGone
	case e.Kind == stats.ISRShrank:
		b.Replicas.InSync = max(b.Replicas.InSync-e.Count, 0)
	case e.Kind == stats.ISRGrew:
		b.Replicas.InSync = min(b.Replicas.InSync+e.Count, b.Replicas.All)
	}
}

// brokerRows returns the brokers by number.
func (n *now) brokerRows() (rows []BrokerNow) {
	leads := make(map[int32]int)
	for _, leader := range n.leaders {
		leads[leader]++
	}
	for _, id := range slices.Sorted(maps.Keys(n.brokers)) {
		row := *n.brokers[id]
		row.Leads = leads[id]
		answered := slices.DeleteFunc(slices.Sorted(slices.Values(row.p99s)), func(p99 time.Duration) bool { return p99 == 0 })
		if len(answered) > 0 {
			row.UsualP99 = answered[len(answered)/2] // the upper of two: a value that occurred
		}
		rows = append(rows, row)
	}
	return rows
}
