package tui

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// data is what is known about the run. Its size does not depend on how long the
// run takes.
type data struct {
	header   Header
	state    State
	points   []point
	total    stats.Window // of the measured windows; only observe reads it
	last     numbers      // of the last tick
	run      numbers      // of the measured part
	peak     float64      // records a second, measured
	errors   map[string]int64
	failed   int64 // with the warm-up: an error is an error
	acked    int64 // with the warm-up, as progress counts it
	sample   host.Sample
	verdict  result.Verdict
	buffered int64
	inFlight int
	parts    partitions
	brokers  map[int32]broker
}

// numbers are the figures of a time.
type numbers struct {
	rate, bytes float64 // a second
	quantiles   [len(quantiles)]time.Duration
	max         time.Duration
	measured    bool    // there are latencies
	batch       float64 // records; 0: no batch
	ratio       float64 // compression; 0: not known
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
	return &data{header: h, errors: map[string]int64{}, brokers: map[int32]broker{}}
}

// latency is the histogram that this run is judged by.
func (d *data) latency(w *stats.Window) *stats.Histogram {
	if d.header.TargetRate > 0 {
		return &w.Response
	}
	return &w.Service
}

// observe takes one tick in.
func (d *data) observe(t Tick) {
	d.state, d.verdict, d.buffered, d.inFlight = t.State, t.Verdict, t.Buffered, t.InFlight
	if t.Sample.Interval > 0 || t.Sample.Cores > 0 {
		d.sample = t.Sample
	}
	w := t.whole()
	if w.End <= w.Start {
		return
	}
	latency := d.latency(&w)
	d.last = numbersOf(&w, latency)
	d.points = appendPoint(d.points, newPoint(&w, latency, d.last))
	d.acked += w.Acknowledged
	d.failed += w.Failed
	for code, n := range w.Errors {
		d.errors[code] += n
	}
	d.parts.add(&w)
	d.observeBrokers(&w)
	d.measure(t.Windows)
}

// measure adds the windows that count to the whole run.
func (d *data) measure(windows []stats.Window) {
	before := d.total.End
	for i := range windows {
		if w := &windows[i]; !w.Warmup {
			slim := d.slim(w)
			d.total.Add(&slim)
		}
	}
	if d.total.End == before {
		return
	}
	d.run = numbersOf(&d.total, d.latency(&d.total))
	if len(windows) == 1 { // the second in which the warm-up ended is no second of its own
		d.peak = max(d.peak, d.last.rate)
	}
}

// slim is a window without what is not read from the total.
func (d *data) slim(w *stats.Window) stats.Window {
	slim := *w
	slim.Lag, slim.OwnLag, slim.Partitions = stats.Histogram{}, stats.Histogram{}, nil
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
		b.Latency = stats.Histogram{}
		slim[id] = b
	}
	return slim
}

func numbersOf(w *stats.Window, latency *stats.Histogram) numbers {
	n := numbers{rate: w.RecordsPerSecond(), bytes: w.BytesPerSecond()}
	if n.measured = latency.Count() > 0; n.measured {
		for i, q := range quantiles {
			n.quantiles[i] = latency.Quantile(q.share)
		}
		n.max = latency.Max()
	}
	var batches, records, raw, wire int64
	for _, b := range w.Brokers {
		batches += b.Batches
		records += b.Records
		raw += b.Bytes
		wire += b.WireBytes
	}
	if batches > 0 {
		n.batch = float64(records) / float64(batches)
	}
	if wire > 0 && raw != wire {
		n.ratio = float64(raw) / float64(wire)
	}
	return n
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
	return &c
}
