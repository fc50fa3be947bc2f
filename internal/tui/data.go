package tui

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// data is what is known about the run. Its size does not depend on how long the
// run takes.
type data struct {
	role
	header   Header
	state    State
	notice   string
	points   []point
	total    stats.Window // of the measured windows; beside its length only observe reads it
	last     numbers      // of the last tick that told of the load
	run      numbers      // of the measured part
	peak     float64      // records a second, measured
	errors   map[string]int64
	failed   int64       // records, with the warm-up: an error is an error
	refused  int64       // fetches, likewise
	count    [ways]int64 // records with the warm-up, as progress counts them
	stamped  bool        // some record that was read told when it was due
	sample   host.Sample
	verdict  verdict.Verdict
	buffered int64
	inFlight int
	parts    partitions
	brokers  map[int32]broker

	waiting    consumerLag
	join       time.Duration // 0: no reader has partitions yet
	rebalances int64
	timeline   timeline

	outstanding int64 // records without an outcome
	stall       stall
	looksItself bool // the age of the oldest record is looked at between ticks, and not taken from them

	silent   int           // ticks since any load was told of, where kt hears of it; forever: it never was
	hosts    []*hostData   // of a run on many
	startsIn time.Duration // at the last tick, from then; 0: no start is agreed
	lean     bool          // this is one of many hosts: of its past less is kept
}

// numbers are the figures of a time.
type numbers struct {
	flow      [ways]flow
	quantiles [len(quantiles)]time.Duration
	max       time.Duration
	measured  bool          // there are latencies
	ackP99    time.Duration // of the acknowledgements, where the quantiles are end to end; 0: none
	batch     float64       // records; 0: no batch
	ratio     float64       // compression; 0: not known

	waited, held float64 // shares of the readers' time; NaN: nobody reads
}

// quantiles are the latencies shown.
var quantiles = [...]struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}

// Indices of quantiles.
const (
	p50 = iota
	p90
	p99
	p999
)

func newData(h Header) *data {
	d := &data{role: roleOf(h.Command), header: h, errors: map[string]int64{}, brokers: map[int32]broker{}}
	for _, host := range h.Hosts {
		d.state = Lobby
		d.hosts = append(d.hosts, newHost(&h, host))
	}
	d.nameHosts()
	return d
}

// latency is the histogram that this run is judged by.
func (d *data) latency(w *stats.Window) *stats.Histogram {
	if d.reads {
		return &w.EndToEnd
	}
	return d.ackLatency(w)
}

// ackLatency is the histogram of the acknowledgements.
func (d *data) ackLatency(w *stats.Window) *stats.Histogram {
	if d.header.TargetRate > 0 {
		return &w.Response
	}
	return &w.Service
}

// heat are the histograms of the heat map: the latency, or how long fetches took
// where there is none.
func (d *data) heat(w *stats.Window) []*stats.Histogram {
	if !d.untimed() {
		return []*stats.Histogram{d.latency(w)}
	}
	var fetches []*stats.Histogram
	for _, b := range w.Brokers {
		fetches = append(fetches, &b.Fetch.Latency)
	}
	return fetches
}

// observe takes one tick in.
func (d *data) observe(t Tick) {
	d.state, d.verdict, d.buffered, d.inFlight = t.State, t.Verdict, t.Buffered, t.InFlight
	d.notice = bounded(t.Notice)
	if t.Sample.Interval > 0 || t.Sample.Cores > 0 {
		d.sample = t.Sample
	}
	d.observeHosts(&t)
	w := t.whole()
	w.Events = slices.Concat(w.Events, d.hostEvents(&w))
	d.timeline.add(&w)
	d.tally(&w)
	if w.End > w.Start { // what is told of no time was late: it counts, and has no rate of its own
		d.follow(&w)
	}
	d.measure(t.Windows)
}

// follow takes in how things went in the time of a window that was tallied.
func (d *data) follow(w *stats.Window) {
	d.silent = 0
	if !d.stamped && w.EndToEnd.Count() > 0 {
		d.stamp()
	}
	d.last = d.numbersOf(w, w.End-w.Start)
	if w.Acknowledged > 0 {
		d.stall.learn(d.ackLatency(w).ValueAtQuantile(quantiles[p99].share))
	}
	d.points = appendPoint(d.points, d.newPoint(w), d.mostPoints())
	d.parts.add(w, d.main)
	d.observeBrokers(w)
	d.timeline.listen(w, d)
	if !d.looksItself {
		d.lookAtOldest(w.End-w.Oldest, w.End)
	}
}

// stamp notes that what is read has latencies. The heat map showed fetches until
// now: they are forgotten.
func (d *data) stamp() {
	d.stamped = true
	for i := range d.points {
		d.points[i].heat = [heatBins]uint32{}
	}
}

// tally adds up what is counted from the start.
func (d *data) tally(w *stats.Window) {
	d.count[acked] += w.Acknowledged
	d.count[read] += w.Consumed
	d.failed += w.Failed
	for code, n := range w.Errors {
		d.errors[code] += n
	}
	for code, n := range w.FetchErrors {
		d.refused += n
		d.errors["fetch "+code] += n
	}
	d.join = max(d.join, w.JoinTime)
	d.waiting.known = d.waiting.known || d.join > 0 // had anything waited, it would have been told
	d.rebalances += w.Rebalances
	d.outstanding += w.Offered - w.Acknowledged - w.Failed - w.Unknown
	d.waiting.add(w.Consumed, w.ConsumerLag)
}

// measure adds the windows that count to the whole run.
func (d *data) measure(windows []stats.Window) {
	measured := false
	for i := range windows {
		if w := &windows[i]; !w.Warmup && !w.IsZero() {
			slim := d.slim(w)
			d.total.Add(&slim)
			measured = true
		}
	}
	if !measured || d.total.End <= d.total.Start {
		return
	}
	d.run = d.numbersOf(&d.total, readSpan(&d.total))
	// The second in which the warm-up ended is no second of its own, and what was late has none.
	if len(windows) == 1 && windows[0].End > windows[0].Start {
		d.peak = max(d.peak, d.last.flow[d.main].rate)
	}
}

// readSpan is the time that the rate of reading is over: from the first record to
// the last, so that joining a group does not count. Over less than a second it
// would be chance.
func readSpan(w *stats.Window) time.Duration {
	if span := w.LastRead - w.FirstRead; w.Consumed > 0 && span >= time.Second {
		return span
	}
	return w.End - w.Start
}

// slim is a window without what is not read from the total.
func (d *data) slim(w *stats.Window) stats.Window {
	slim := *w
	slim.SendDelay, slim.OwnSendDelay, slim.Partitions, slim.Events = stats.Histogram{}, stats.Histogram{}, nil, nil
	slim.Brokers = slimBrokers(w.Brokers)
	if d.header.TargetRate > 0 {
		slim.Service = stats.Histogram{}
	} else {
		slim.Response = stats.Histogram{}
	}
	return slim
}

func slimBrokers(brokers map[int32]stats.Broker) map[int32]stats.Broker {
	slim := make(map[int32]stats.Broker, len(brokers))
	for id, b := range brokers {
		b.Latency, b.Fetch.Latency = stats.Histogram{}, stats.Histogram{}
		slim[id] = b
	}
	return slim
}

func (d *data) numbersOf(w *stats.Window, readSpan time.Duration) numbers {
	n := numbers{flow: [ways]flow{
		acked: {w.RecordsPerSecond(), w.BytesPerSecond()},
		read:  {float64(w.Consumed) / readSpan.Seconds(), float64(w.ConsumedBytes) / readSpan.Seconds()},
	}}
	latency := d.latency(w)
	if n.measured = latency.Count() > 0; n.measured {
		for i, q := range quantiles {
			n.quantiles[i] = latency.ValueAtQuantile(q.share)
		}
		n.max = latency.Max()
	}
	if d.reads && d.writes {
		n.ackP99 = d.ackLatency(w).ValueAtQuantile(quantiles[p99].share)
	}
	n.waited, n.held = math.NaN(), math.NaN()
	if all := w.ReadTime.Seconds(); all > 0 {
		n.waited, n.held = w.ReadWait.Seconds()/all, w.ReadHeld.Seconds()/all
	}
	var sum stats.Traffic
	for _, b := range w.Brokers {
		t := d.traffic(b)
		sum.Batches += t.Batches
		sum.Records += t.Records
		sum.Bytes += t.Bytes
		sum.WireBytes += t.WireBytes
	}
	if sum.Batches > 0 {
		n.batch = float64(sum.Records) / float64(sum.Batches)
	}
	if sum.WireBytes > 0 && sum.Bytes != sum.WireBytes {
		n.ratio = float64(sum.Bytes) / float64(sum.WireBytes)
	}
	return n
}

// current are the numbers of the last tick. What was told too long ago is not known.
func (d *data) current() numbers {
	if d.silent < patience {
		return d.last
	}
	n := numbers{waited: math.NaN(), held: math.NaN()}
	for i := range n.flow {
		n.flow[i] = flow{math.NaN(), math.NaN()}
	}
	return n
}

// earliestVerdict is the measured time before which nothing is said of what a run is
// bound by: connections open and clients warm up in its first seconds.
const earliestVerdict = 5 * time.Second

// bounded is what the run is bound by now; nothing while it is too early to tell.
func (s *scene) bounded() verdict.Verdict {
	if v, stalled := s.stallVerdict(); stalled {
		return v
	}
	if s.state != Done && s.total.End-s.total.Start < earliestVerdict {
		return verdict.Verdict{}
	}
	return s.verdict
}

// traffic are the requests that carry the main flow.
func (d *data) traffic(b stats.Broker) stats.Traffic {
	if d.main == read {
		return b.Fetch
	}
	return b.Traffic
}

// errorCodes are the codes of the errors, the most frequent first.
func (d *data) errorCodes() []string {
	return slices.SortedFunc(maps.Keys(d.errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(d.errors[b], d.errors[a]), cmp.Compare(a, b))
	})
}

// worstError is the most frequent error code; empty when none has one.
func (d *data) worstError() string {
	for _, code := range d.errorCodes() {
		return code
	}
	return ""
}

// end is when the last tick ended.
func (d *data) end() time.Duration {
	if len(d.points) == 0 {
		return 0
	}
	return d.points[len(d.points)-1].end
}

// clone is a copy that observe does not change.
func (d *data) clone() *data {
	c := *d
	c.points = slices.Clone(d.points)
	c.errors = maps.Clone(d.errors)
	c.brokers = maps.Clone(d.brokers)
	c.parts = d.parts.clone()
	c.timeline.events = slices.Clone(d.timeline.events)
	c.hosts = cloneHosts(d.hosts)
	return &c
}
