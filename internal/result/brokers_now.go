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
	Addr     string // "": not known
	Asked    bool   // it has answered in the run
	Silent   int    // seconds since its last answer
	Refusing bool   // requests of this second failed, and none was answered
	Gone     bool   // the cluster has lost it

	Written, Fetched float64 // bytes a second, as sent
	Requests         float64 // of producers, a second
	Fetches          float64 // the same, of consumers
	P99, Mean        time.Duration
	FetchMean        time.Duration
	Throttle         time.Duration
	UsualP99         time.Duration // median of the last ten seconds; 0: no answer

	Trend    []float64 // records written and read a second in the last minute, the newest last
	Leads    int       // partitions
	Replicas Replicas  // of the topics of the run
}

// trendTime is the length of a Trend in seconds.
const trendTime = 60

// brokersNow follows the brokers that the header or a window names.
type brokersNow map[int32]*brokerNow

type brokerNow struct {
	BrokerNow
	trend newest[float64]
	p99   newest[time.Duration] // of the last seconds; 0: no answer
}

// addBroker adds a broker, unless it is known.
func (m brokersNow) addBroker(id int32) {
	if m[id] == nil {
		m[id] = &brokerNow{BrokerNow: BrokerNow{ID: id}, trend: newest[float64]{most: trendTime}, p99: newest[time.Duration]{most: int(tailTime / time.Second)}}
	}
}

// add takes a second. A known broker without an answer is silent.
func (m brokersNow) add(w *stats.Window) {
	for id := range w.Brokers {
		m.addBroker(id)
	}
	length := w.Seconds()
	for id, v := range m {
		b := w.Brokers[id]
		answered := b.Requests+b.Fetch.Requests > b.Failed+b.Fetch.Failed
		v.Refusing = b.Failed+b.Fetch.Failed > 0 && !answered
		if v.Silent++; answered {
			v.Asked, v.Silent = true, 0
		}
		v.Written, v.Fetched = wireBytes(&b.Traffic)/length, wireBytes(&b.Fetch)/length
		v.Requests, v.Fetches = float64(b.Requests)/length, float64(b.Fetch.Requests)/length
		v.P99, v.Mean, v.FetchMean = b.Latency.ValueAtQuantile(0.99), b.Latency.Mean(), b.Fetch.Latency.Mean()
		v.Throttle = b.Throttle + b.Fetch.Throttle
		v.trend.add(float64(b.Records+b.Fetch.Records) / length)
		v.p99.add(v.P99)
	}
}

// addEvents takes the events that concern brokers.
func (m brokersNow) addEvents(events []stats.Event) {
	for i := range events {
		e := &events[i]
		b := m[e.Broker]
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
}

// rows returns the brokers by number. leaders are those of the partitions.
func (m brokersNow) rows(leaders map[int32]int32) []BrokerNow {
	leads := make(map[int32]int)
	for _, leader := range leaders {
		leads[leader]++
	}
	var rows []BrokerNow
	for _, id := range slices.Sorted(maps.Keys(m)) {
		row := m[id].BrokerNow
		row.Leads, row.Trend = leads[id], m[id].trend.list()
		seen := slices.Sorted(slices.Values(m[id].p99.list()))
		seen = slices.DeleteFunc(seen, func(p99 time.Duration) bool { return p99 == 0 })
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
