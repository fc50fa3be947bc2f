package result

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// BrokerNow is one broker in the newest second.
type BrokerNow struct {
	ID       int32
	Asked    bool // it has answered in the run
	Silent   int  // seconds since its last answer
	Refusing bool // requests of this second failed, and none was answered
	Gone     bool // the cluster has lost it

	Written, Fetched float64 // bytes a second, as sent
	Fetches          float64 // a second
	P99, Mean        time.Duration
	FetchMean        time.Duration
	Throttle         time.Duration
	UsualP99         time.Duration // median of the last ten seconds; 0: no answer
}

// brokersNow follows the brokers that the header or a window names.
type brokersNow map[int32]*brokerNow

type brokerNow struct {
	BrokerNow
	p99  [tailTime / time.Second]time.Duration // of the last seconds; 0: no answer
	next int
}

// know adds a broker, unless it is known.
func (m brokersNow) know(id int32) {
	if m[id] == nil {
		m[id] = &brokerNow{BrokerNow: BrokerNow{ID: id}}
	}
}

// add takes a second. A known broker without an answer is silent.
func (m brokersNow) add(w *stats.Window) {
	for id := range w.Brokers {
		m.know(id)
	}
	length := w.Seconds()
	for id, v := range m {
		b := w.Brokers[id]
		answered := b.Latency.Count()+b.Fetch.Latency.Count() > 0
		v.Refusing = b.Failed+b.Fetch.Failed > 0 && !answered
		if v.Silent++; answered {
			v.Asked, v.Silent = true, 0
		}
		v.Written, v.Fetched = wireBytes(&b.Traffic)/length, wireBytes(&b.Fetch)/length
		v.Fetches = float64(b.Fetch.Requests) / length
		v.P99, v.Mean, v.FetchMean = b.Latency.ValueAtQuantile(0.99), b.Latency.Mean(), b.Fetch.Latency.Mean()
		v.Throttle = b.Throttle + b.Fetch.Throttle
		v.p99[v.next%len(v.p99)] = v.P99
		v.next++
	}
}

// happened takes the events that concern brokers.
func (m brokersNow) happened(events []stats.Event) {
	for i := range events {
		if b := m[events[i].Broker]; b != nil && (events[i].Kind == stats.BrokerGone || events[i].Kind == stats.BrokerBack) {
			b.Gone = events[i].Kind == stats.BrokerGone
		}
	}
}

// rows returns the brokers by number.
func (m brokersNow) rows() []BrokerNow {
	var rows []BrokerNow
	for _, id := range slices.Sorted(maps.Keys(m)) {
		row := m[id].BrokerNow
		var seen []time.Duration
		for _, p99 := range m[id].p99 {
			if p99 > 0 {
				seen = append(seen, p99)
			}
		}
		slices.Sort(seen)
		if n := len(seen); n > 0 {
			row.UsualP99 = seen[n/2] // the upper of two: a value that occurred
		}
		rows = append(rows, row)
	}
	return rows
}

// wireBytes returns the bytes of record batches as sent, where that is known.
func wireBytes(t *stats.Traffic) float64 {
	if t.WireBytes > 0 {
		return float64(t.WireBytes)
	}
	return float64(t.Bytes)
}
