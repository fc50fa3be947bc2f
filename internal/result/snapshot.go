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
	if len(f.second) > 0 { // no sample came
		f.place(host.Sample{})
	}
	n := &f.now
	warmup, measured := &f.total[stats.Warmup], &f.total[stats.Measured]
	s := Snapshot{
		At: n.second.End, Sample: n.sample, All: stats.Merge(warmup.Counts(), measured.Counts()),
		Run: numbersOf(measured, measured.End-measured.Start), Second: numbersOf(&n.second, n.second.End-n.second.Start), Tail: n.tail.numbers(), Target: f.schedule.Rate(n.second.End - 1), Targets: f.schedule, Peak: n.peak, PeakRead: n.peakRead,
		Stamped:     warmup.EndToEnd.Count()+measured.EndToEnd.Count() > 0,
		ConsumerLag: n.lag, Unread: n.unread, Unanswered: Silence{n.unanswered, measured.Outage}, WorstGap: n.worst,
		Points: f.series.share(), Heat: f.heat.columns, Recent: n.recent.list(), Placed: n.recent.seen,
		Events: f.events(), LeftOut: maps.Clone(f.line.kept.EventsLeftOut), Brokers: n.brokers.rows(n.leaders), seconds: slices.Clone(n.tail), lags: maps.Clone(f.consumerLag.partitions), leaders: n.leaders,
	}
	t, r := f.throughput(), f.fetch()
	s.Run.Acknowledged, s.Run.Read = Rate{t.RecordsPerSecond, t.MiBPerSecond * mib}, Rate{}
	if r.Seconds >= verdict.Shortest.Seconds() {
		s.Run.Read = Rate{r.RecordsPerSecond, r.MiBPerSecond * mib}
	}
	s.ConsumerLag.Growth = per(float64(s.Tail.Counts.ConsumerLag), min(n.tail.length(), s.At-n.lag.Since).Seconds())
	if !f.hosted {
		s.Verdict = f.Verdict()
	}
	return s
}

// numbersOf returns the numbers of a window, with rates over a time.
func numbersOf(w *stats.Window, over time.Duration) Numbers {
	n, seconds := Numbers{Counts: w.Counts(), Response: LatencyOf(&w.Response), EndToEnd: LatencyOf(&w.EndToEnd)}, over.Seconds()
	n.Acknowledged = Rate{per(float64(w.Acknowledged), seconds), per(float64(w.Bytes), seconds)}
	n.Read = Rate{per(float64(w.Consumed), seconds), per(float64(w.ConsumedBytes), seconds)}
	produced, fetched := w.Traffic()
	n.Batches, n.Fetched = batchesOf(&produced), batchesOf(&fetched)
	return n
}
