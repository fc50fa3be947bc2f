package result

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// tail holds counts and partitions of the newest seconds.
type tail []stats.Window

func (t *tail) add(w stats.Window) {
	*t = append(*t, w)
	for (*t)[0].End <= w.End-tailTime {
		*t = slices.Delete(*t, 0, 1)
	}
}

// length returns the time that the seconds cover. They have holes if a host was away.
func (t tail) length() time.Duration {
	var length, end time.Duration
	for i := range t {
		from := max(t[i].Start, end)
		if t[i].End > from {
			length += t[i].End - from
			end = t[i].End
		}
	}
	return length
}

// numbers returns the numbers of the seconds.
func (t tail) numbers() Numbers {
	var sum stats.Window
	for i := range t {
		w := t[i]
		w.Partitions = nil
		sum.Add(&w)
	}
	return numbersOf(&sum, t.length())
}

// PartitionNow is one partition over the last ten seconds.
type PartitionNow struct {
	ID           int32
	Acknowledged float64 // records a second
	Read         float64 // records a second
	ConsumerLag  int64
	Growth       float64 // of the consumer lag, a second

	Leader int32         // now; -1: none, or not known
	Bytes  float64       // acknowledged, a second
	Max    time.Duration // service
	P99    time.Duration // service, up to a quarter above the exact one
	Gap    time.Duration // longest that ended in the ten seconds
}

// Partitions returns a row, by number, for each partition with counts in the last ten seconds or with
// consumer lag. It adds up windows at each call.
func (s *Snapshot) Partitions() []PartitionNow {
	var sum stats.Window
	for i := range s.seconds {
		sum.Add(&stats.Window{Partitions: s.seconds[i].Partitions})
	}
	seconds := tail(s.seconds).length().Seconds()
	ids := slices.AppendSeq(sum.PartitionIDs(), maps.Keys(s.lags))
	slices.Sort(ids)
	var rows []PartitionNow
	for _, id := range slices.Compact(ids) {
		p := sum.Partitions[id]
		leader, known := s.leaders[id]
		if !known {
			leader = -1
		}
		rows = append(rows, PartitionNow{
			Leader: leader, Bytes: per(float64(p.Bytes), seconds), Gap: p.Outage.Length,
			Max: p.ServiceMax, P99: p.Service.ValueAtQuantile(0.99, p.ServiceMax),
			ID: id, Acknowledged: per(float64(p.Records), seconds), Read: per(float64(p.Consumed), seconds),
			ConsumerLag: max(s.lags[id].now, 0), Growth: per(float64(p.ConsumerLag), seconds),
		})
	}
	return rows
}
