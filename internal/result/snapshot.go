package result

import (
	"cmp"
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

	Target         float64       // of the end of the newest second, in records a second; 0: unlimited
	Targets        plan.Schedule // over time, as far as it is known
	Peak, PeakRead float64       // highest rates of one measured second, in records a second

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

	Environment *Environment // of the header

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

// The stages of a run, in order. Only a run on many hosts has the stages before WarmingUp, the zero Stage.
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

// NewHostFold returns the fold of one host of many, for its snapshots. It has a shorter series, and no partitions, brokers and verdict.
func NewHostFold(h Header) *Fold {
	f := NewFold(h)
	f.hosted, f.series.most = true, hostPoints
	return f
}

// Snapshot returns the run as it is now. It is meant to be called once a second, after the second's windows and sample.
func (f *Fold) Snapshot() Snapshot {
	f.place(host.Sample{}) // without one that came
	f.series.shared = len(f.series.points)
	s, warmup, measured := f.now.Snapshot, &f.total[stats.Warmup], &f.total[stats.Measured]
	s.All = stats.Merge(warmup.Counts(), measured.Counts())
	s.Stamped = warmup.EndToEnd.Count()+measured.EndToEnd.Count() > 0
	s.Target, s.Targets = f.schedule.Rate(s.At-1), f.schedule
	s.Unanswered.Longest = measured.Outage
	s.Points, s.Heat = f.series.points[:f.series.shared:f.series.shared], f.heat
	s.Events, s.LeftOut = f.events(), maps.Clone(f.line.kept.EventsLeftOut)
	s.Brokers, s.seconds, s.lags = f.now.brokerRows(), slices.Clone(s.seconds), maps.Clone(f.consumerLag.partitions)
	var last stats.Window
	for _, w := range s.seconds {
		w.Partitions = nil
		last.Add(&w)
	}
	second := &f.now.second
	s.Run = numbersOf(measured, measured.End-measured.Start)
	s.Second = numbersOf(second, second.End-second.Start)
	s.Tail = numbersOf(&last, covered(s.seconds))
	t, r := f.throughput(), f.fetch()
	s.Run.Acknowledged, s.Run.Read = Rate{t.RecordsPerSecond, t.MiBPerSecond * mib}, Rate{}
	if r.Seconds >= verdict.Shortest.Seconds() {
		s.Run.Read = Rate{r.RecordsPerSecond, r.MiBPerSecond * mib}
	}
	lag := &s.ConsumerLag
	grown := s.grown(last.ConsumerLag, f.now.firstLag, lag.Since)
	lag.Growth = verdict.Per(grown, min(covered(s.seconds), s.At-lag.Since).Seconds())
	if !f.hosted {
		s.Verdict = f.Verdict()
	}
	return s
}

// grown returns the change of a consumer lag in the last ten seconds, without the first one, which became known at a time.
func (s *Snapshot) grown(change, first int64, known time.Duration) float64 {
	if known > s.At-tailTime {
		change -= first
	}
	return float64(change)
}

// numbersOf returns the numbers of a window, with rates over a time.
func numbersOf(w *stats.Window, over time.Duration) Numbers {
	n, seconds := Numbers{Counts: w.Counts(), Response: LatencyOf(&w.Response), EndToEnd: LatencyOf(&w.EndToEnd)}, over.Seconds()
	n.Acknowledged = Rate{verdict.Per(float64(w.Acknowledged), seconds), verdict.Per(float64(w.Bytes), seconds)}
	n.Read = Rate{verdict.Per(float64(w.Consumed), seconds), verdict.Per(float64(w.ConsumedBytes), seconds)}
	produced, fetched := w.Traffic()
	n.Batches, n.Fetched = batchesOf(&produced), batchesOf(&fetched)
	return n
}

// covered returns the time that seconds cover. They have holes if a host was away.
func covered(seconds []stats.Window) (length time.Duration) {
	end := time.Duration(0)
	for i := range seconds {
		length += max(0, seconds[i].End-max(seconds[i].Start, end))
		end = max(end, seconds[i].End)
	}
	return length
}

// PartitionNow is one partition over the last ten seconds, or a topic with all of its partitions.
type PartitionNow struct {
	stats.Partition
	ID      int32   // its number, or the index of the topic
	Topic   string  // "": the row is of a partition
	Seconds float64 // that were seen, above 0
	Leader  int32   // now; -1: none, or not known, or of a topic
	Lag     int64   // the consumer lag
	Growth  float64 // of it, a second
}

// Topics returns how many topics the run has, and a row for each of them as Partitions has one for each partition, without the growth
// of consumer lag. There is no row if the run has a single topic.
func (s *Snapshot) Topics() (count int, rows []PartitionNow) {
	e := s.Environment
	if e == nil || len(e.Topics) < 2 {
		return 1, nil
	}
	of, topicOf := make(map[int32][]PartitionNow), e.rowTopic()
	for _, p := range s.Partitions() {
		of[topicOf(p.ID)] = append(of[topicOf(p.ID)], p)
	}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		t := AddUp(of[id])
		t.ID, t.Topic = id, e.topic(id).Name
		rows = append(rows, t)
	}
	return len(e.Topics), rows
}

// AddUp returns the sum of rows of one time, without the growth of consumer lag and without what says what they are of.
func AddUp(rows []PartitionNow) PartitionNow {
	t, sum := PartitionNow{Leader: -1, Seconds: 1}, stats.Window{}
	for i := range rows {
		p := &rows[i]
		sum.Add(&stats.Window{Partitions: map[int32]stats.Partition{0: p.Partition}})
		t.Seconds, t.Lag = p.Seconds, t.Lag+p.Lag
	}
	t.Partition = sum.Partitions[0]
	return t
}

// Partitions returns a row, by number, for each partition with counts in the last ten seconds, or that was ever read or had consumer
// lag; a row for each topic if rows are of topics. It adds up windows at each call.
func (s *Snapshot) Partitions() []PartitionNow {
	var sum stats.Window
	for i := range s.seconds {
		sum.Add(&stats.Window{Partitions: s.seconds[i].Partitions})
	}
	seconds := cmp.Or(covered(s.seconds).Seconds(), 1)
	ids := slices.AppendSeq(sum.PartitionIDs(), maps.Keys(s.lags))
	slices.Sort(ids)
	var rows []PartitionNow
	for _, id := range slices.Compact(ids) {
		p, lag := sum.Partitions[id], s.lags[id]
		leader, known := s.leaders[id]
		if !known {
			leader = -1
		}
		growth := s.grown(p.ConsumerLag, lag.first, lag.known) / seconds
		rows = append(rows, PartitionNow{p, id, "", seconds, leader, max(lag.now, 0), growth})
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

	p99s []time.Duration // of the last ten seconds; 0: no answer
}
