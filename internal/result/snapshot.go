package result

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Snapshot is the state of a run at the end of one second, for a screen, a line of progress or an
// exporter. It does not change, and its size does not depend on the length of the run.
type Snapshot struct {
	Live

	CutOff  bool            // its run file has no end; Stage is Finished
	At      time.Duration   // the end of the newest second, from the start of the run
	Sample  host.Sample     // the newest; zero: none
	Verdict verdict.Verdict // so far; zero of one host of many

	All    stats.Window // counts from the start, with the warm-up
	Run    Numbers      // of the measured part
	Second Numbers      // of the newest second
	Tail   Numbers      // of the last ten seconds; latencies only of one host of many

	Target  float64       // of the end of the newest second, in records a second; 0: unlimited
	Targets plan.Schedule // over time, as far as it is known

	// Peak and PeakRead are the highest rates of one measured second, in records a second.
	Peak, PeakRead float64

	Stamped     bool // there are end-to-end latencies
	ConsumerLag LagNow
	Unanswered  Silence // records waited, and no broker acknowledged any
	Unread      Silence // records waited, and readers that were ready got none
	WorstGap    PartitionGap

	Points []Point      // the series of the result so far
	Heat   []HeatColumn // of its latencies, or of fetches that bring records without one
	Recent []Point      // of the newest seconds, one for each phase, never joined
	Placed int64        // number of points that Recent ever held

	Events  []stats.Event // as in the result: in the order of their times
	LeftOut Errors        // as in the result
	Brokers []BrokerNow   // by number

	seconds []stats.Window  // counts and partitions of the last ten seconds
	lags    map[int32]level // consumer lag by partition
	leaders map[int32]int32 // by partition
}

// Live is the state of a run that is not in its run file. The maker of the run sets it.
type Live struct {
	Stage    Stage
	Buffered int64 // bytes that wait for acknowledgements
	InFlight int   // requests
}

// Stage is the stage of a live run.
type Stage int

// The stages of a run, in order. Only a run on many hosts has the stages before WarmingUp, the zero
// Stage.
const (
	Gathering Stage = iota - 2 // looking for hosts
	Preparing                  // hosts open their clients and wait for the start
	WarmingUp
	Running
	Draining // the load is over, and acknowledgements are outstanding
	Finished
)

// Numbers are the figures of a span of time.
type Numbers struct {
	Counts       stats.Window // without histograms, partitions and events
	Acknowledged Rate         // of the measured part as in its result
	Read         Rate         // likewise; 0 over less than a second
	Response     Latency
	EndToEnd     Latency
	Batches      Batches // of produce requests
	Fetched      Batches
}

// Rate is an amount a second.
type Rate struct{ Records, Bytes float64 }

// hostPoints bounds the series of one host of many.
const hostPoints = 600

// NewHostFold returns the fold of one host of many, for its snapshots. It has a shorter series, and no
// partitions, brokers and verdict.
func NewHostFold(h Header) *Fold {
	f := NewFold(h)
	f.hosted, f.series.most = true, hostPoints
	return f
}

// Snapshot returns the run as it is now. It is meant to be called once a second, after
// the second's windows and sample.
func (f *Fold) Snapshot() Snapshot {
	f.place(host.Sample{}) // without one that came
	n := &f.now
	var last stats.Window // the sum of the last seconds
	for _, w := range n.tail {
		w.Partitions = nil
		last.Add(&w)
	}
	f.series.shared = len(f.series.points)
	warmup, measured := &f.total[stats.Warmup], &f.total[stats.Measured]
	s := Snapshot{
		At: n.second.End, Sample: n.sample, All: stats.Merge(warmup.Counts(), measured.Counts()),
		Run: numbersOf(measured, measured.End-measured.Start), Second: numbersOf(&n.second, n.second.End-n.second.Start), Tail: numbersOf(&last, n.tail.length()), Target: f.schedule.Rate(n.second.End - 1), Targets: f.schedule, Peak: n.peak, PeakRead: n.peakRead,
		Stamped:     warmup.EndToEnd.Count()+measured.EndToEnd.Count() > 0,
		ConsumerLag: n.lag, Unread: n.unread, Unanswered: Silence{n.unanswered, measured.Outage}, WorstGap: n.worst,
		Points: f.series.points[:f.series.shared:f.series.shared], Heat: f.heat.columns, Recent: n.recent.list(), Placed: n.recent.seen,
		Events: f.events(), LeftOut: maps.Clone(f.line.kept.EventsLeftOut), Brokers: n.brokers.rows(n.leaders), seconds: slices.Clone(n.tail), lags: maps.Clone(f.consumerLag.partitions), leaders: n.leaders,
	}
	t, r := f.throughput(), f.fetch()
	s.Run.Acknowledged, s.Run.Read = Rate{t.RecordsPerSecond, t.MiBPerSecond * mib}, Rate{}
	if r.Seconds >= verdict.Shortest.Seconds() {
		s.Run.Read = Rate{r.RecordsPerSecond, r.MiBPerSecond * mib}
	}
	s.ConsumerLag.Growth = Per(float64(s.Tail.Counts.ConsumerLag), min(n.tail.length(), s.At-n.lag.Since).Seconds())
	if !f.hosted {
		s.Verdict = f.Verdict()
	}
	return s
}

// numbersOf returns the numbers of a window, with rates over a time.
func numbersOf(w *stats.Window, over time.Duration) Numbers {
	n, seconds := Numbers{Counts: w.Counts(), Response: LatencyOf(&w.Response), EndToEnd: LatencyOf(&w.EndToEnd)}, over.Seconds()
	n.Acknowledged = Rate{Per(float64(w.Acknowledged), seconds), Per(float64(w.Bytes), seconds)}
	n.Read = Rate{Per(float64(w.Consumed), seconds), Per(float64(w.ConsumedBytes), seconds)}
	produced, fetched := w.Traffic()
	n.Batches, n.Fetched = batchesOf(&produced), batchesOf(&fetched)
	return n
}

// tail holds counts and partitions of the newest seconds.
type tail []stats.Window

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
			Leader: leader, Bytes: Per(float64(p.Bytes), seconds), Gap: p.Outage.Length,
			Max: p.ServiceMax, P99: p.Service.ValueAtQuantile(0.99, p.ServiceMax),
			ID: id, Acknowledged: Per(float64(p.Records), seconds), Read: Per(float64(p.Consumed), seconds),
			ConsumerLag: max(s.lags[id].now, 0), Growth: Per(float64(p.ConsumerLag), seconds),
		})
	}
	return rows
}

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

// of returns a broker, which it adds unless it is known.
func (m brokersNow) of(id int32) *brokerNow {
	if m[id] == nil {
		m[id] = &brokerNow{BrokerNow: BrokerNow{ID: id}, trend: newest[float64]{most: trendTime}, p99: newest[time.Duration]{most: int(tailTime / time.Second)}}
	}
	return m[id]
}

// add takes a second. A known broker without an answer is silent.
func (m brokersNow) add(w *stats.Window) {
	for id := range w.Brokers {
		m.of(id)
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
