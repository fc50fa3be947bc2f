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
	Tail   Numbers      // of the last ten seconds, without quantiles
	Lately Quantiles    // of one host of many: the headline latency of the last five to ten seconds

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
	lags    map[int32]int64 // consumer lag by partition
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
	Response     Quantiles
	EndToEnd     Quantiles
	Batches      Batches // of produce requests
	Fetched      Batches
}

// Rate is an amount a second.
type Rate struct{ Records, Bytes float64 }

// Quantiles are those of a distribution; all are 0 where Count is. One among records that were not served is stats.Never.
type Quantiles struct {
	Count                    int64
	P50, P90, P99, P999, Max time.Duration
}

// quantilesOf returns the quantiles of a histogram.
func quantilesOf(h *stats.Histogram) Quantiles {
	if h.Ranked() == 0 {
		return Quantiles{}
	}
	return Quantiles{h.Ranked(), h.ValueAtQuantile(0.5), h.ValueAtQuantile(0.9), h.ValueAtQuantile(0.99), h.ValueAtQuantile(0.999), h.Max()}
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
		Run: numbersOf(measured), Second: numbersOf(&n.second), Tail: n.tail.numbers(), Target: f.schedule.Rate(n.second.End - 1), Targets: f.schedule, Peak: n.peak, PeakRead: n.peakRead,
		Stamped:     warmup.EndToEnd.Count()+measured.EndToEnd.Count() > 0,
		ConsumerLag: n.lag, Unread: n.unread, Unanswered: Silence{n.unanswered, measured.Outage}, WorstGap: n.worst,
		Points: f.series.share(), Heat: f.heat.share(), Recent: n.recent.list(), Placed: n.recent.seen,
		Events: f.events(), LeftOut: maps.Clone(f.line.kept.EventsLeftOut), Brokers: n.brokers.rows(n.leaders), seconds: slices.Clone(n.tail), lags: f.consumerLag.levels(), leaders: n.leaders,
	}
	s.Run.Acknowledged, s.Run.Read = ratesOf(measured)
	if span := readSpan(measured).Seconds(); f.together == nil && s.Run.Read.Records > 0 {
		s.Run.Read = Rate{float64(measured.Consumed) / span, float64(measured.ConsumedBytes) / span}
	}
	s.ConsumerLag.Growth = per(float64(s.Tail.Counts.ConsumerLag), min(n.tail.length(), s.At-n.lag.Since).Seconds())
	if f.hosted == nil {
		s.Verdict = f.Verdict()
	} else {
		s.Lately = f.hosted.quantiles()
	}
	return s
}

// numbersOf returns the numbers of a window, over its length.
func numbersOf(w *stats.Window) Numbers {
	n := Numbers{Counts: w.Counts(), Response: quantilesOf(&w.Response), EndToEnd: quantilesOf(&w.EndToEnd)}
	n.setRates(w.Seconds())
	produced, fetched := n.Counts.Traffic()
	n.Batches, n.Fetched = batchesOf(&produced), batchesOf(&fetched)
	return n
}

// setRates sets the rates of the counts over seconds.
func (n *Numbers) setRates(seconds float64) {
	c := &n.Counts
	n.Acknowledged = Rate{per(float64(c.Acknowledged), seconds), per(float64(c.Bytes), seconds)}
	n.Read = Rate{per(float64(c.Consumed), seconds), per(float64(c.ConsumedBytes), seconds)}
}

// ratesOf returns the rates of the measured part as its result has them: from the first
// record to the last one. Reading has none over less than a second.
func ratesOf(w *stats.Window) (acknowledged, read Rate) {
	if t := throughputOf(w); t.Seconds > 0 {
		acknowledged = Rate{t.RecordsPerSecond, t.MiBPerSecond * mib}
	}
	if s := (w.LastRead - w.FirstRead).Seconds(); w.Consumed > 0 && s >= verdict.Shortest.Seconds() {
		read = Rate{float64(w.Consumed) / s, float64(w.ConsumedBytes) / s}
	}
	return acknowledged, read
}
