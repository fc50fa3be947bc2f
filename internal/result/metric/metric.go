package metric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/suggest"
)

// Figures are what metrics are read from: of a whole run, of a stretch of it, or of one of its phases so far.
type Figures struct {
	Plan   *plan.Plan
	Window *stats.Window // counts and histograms of the measured part, or of a phase

	// A second; below 0: there is none.
	Records, Bytes, ReadRecords, ReadBytes float64

	ConsumerLag int64           // the highest at the end of a second in which it is known; below 0: there is none
	NotInLog    int64           // records that count as acknowledged and are not in the log; 0 before the end
	Cores       float64         // of kt; 0: not known
	Roughness   float64         // below 0: not known
	Verify      *ledger.Verdict // nil: not known yet
	Now         *Now            // nil: the figures are not of a run that goes on
}

// Now is the state of a run at the end of its newest second.
type Now struct {
	Info      []string // the values of the labels of kt_run_info
	Stages    []string // the names of all stages
	Stage     int      // the one in which the run is
	At        time.Duration
	Target    float64
	HasTarget bool
	Oldest    time.Duration
	InFlight  int
	Buffered  int64
	Sample    host.Sample
}

// Metric is a figure of a run.
type Metric struct {
	Name   string // in limits, studies, comparisons and columns; "": monitoring systems alone have it
	Export string // in Prometheus; "": monitoring systems make it of others
	Kind   Kind
	Unit   Unit
	About  string // a phrase for help and documents
	Labels []string
	Needs  Need

	HigherIsBetter bool
	AtEnd          bool    // it is known when the run is over, and not before
	Floor          float64 // values up to it do not differ; 0: a run with 0 got nothing done

	// The readers: one of the first two, and each if it is exported with labels.
	histogram func(f *Figures) *stats.Histogram
	value     func(f *Figures) (v float64, ok bool)
	each      func(f *Figures, put putSeries)
	phased    bool // it is of a window, so each phase of the run has one
	verified  bool // it counts records that --verify found
}

// Kind is what values of a metric do over time.
type Kind int

// The kinds.
const (
	Level     Kind = iota // goes up and down
	Count                 // adds up
	Longest               // only grows
	PerSecond             // an amount a second
	Share                 // a part of something, or its distribution
	Latency               // a distribution of times
)

// The names of metrics that code asks for.
const (
	Rate        = "rate"
	Throughput  = "throughput"
	Mean        = "mean"
	P50         = "p50"
	P90         = "p90"
	P99         = "p99"
	P999        = "p99.9"
	Roughness   = "roughness"
	CPU         = "cpu"
	ConsumerLag = "consumer-lag" // may be unknown in some seconds

	sendDelay = "send-delay"
)

// Metrics are those that can be judged, in the order in which they are shown. A distribution is there by its quantiles.
var Metrics = func() (list []Metric) {
	for _, m := range all {
		switch {
		case m.histogram != nil:
			list = append(list, m.quantiles()...)
		case m.Name != "":
			list = append(list, m)
		}
	}
	return list
}()

// Exported returns the metrics of monitoring systems, in the order in which they are shown.
func Exported() []Metric {
	return slices.DeleteFunc(slices.Clone(all), func(m Metric) bool { return m.Export == "" })
}

// Names returns the names of all metrics that can be judged.
func Names() (names []string) {
	for _, m := range Metrics {
		names = append(names, m.Name)
	}
	return names
}

// quantiles are those of a distribution, by name.
var quantiles = []struct {
	name string
	of   func(h *stats.Histogram) time.Duration
}{
	{P50, at(0.5)},
	{P90, at(0.9)},
	{"p95", at(0.95)},
	{P99, at(0.99)},
	{P999, at(0.999)},
	{"p99.99", at(0.9999)},
	{"max", (*stats.Histogram).Max},
	{Mean, (*stats.Histogram).Mean},
}

func at(q float64) func(h *stats.Histogram) time.Duration {
	return func(h *stats.Histogram) time.Duration { return h.ValueAtQuantile(q) }
}

// quantiles returns the metrics of a distribution.
func (m Metric) quantiles() (list []Metric) {
	for _, q := range quantiles {
		one, of := m, m.histogram
		one.Name, one.About, one.Export = strings.TrimPrefix(m.Name+"."+q.name, "."), q.name+" of the "+m.About, ""
		one.value = func(f *Figures) (float64, bool) {
			h := of(f)
			if m.Unit == Ratio { // a second stands for the whole of a share
				return q.of(h).Seconds(), h.Ranked() > 0
			}
			return micros(q.of(h)), h.Ranked() > 0
		}
		list = append(list, one)
	}
	return list
}

// pick returns the figure of what a run does: that of reading if it only reads.
func pick(f *Figures, written, read float64) float64 {
	if f.Plan.ReadsOnly() {
		return read
	}
	return written
}

func known(v float64) (float64, bool) { return max(v, 0), v >= 0 }

// Need is what a run has to do to have a metric. The zero value is nothing.
type Need struct {
	Runs  string // of runs that …, for documents
	lacks func(p *plan.Plan) string
}

// The needs of metrics.
var (
	nothing = Need{}
	writing = Need{"write", func(p *plan.Plan) string {
		return unless(p.Writes(), "a run that only reads has no acknowledgements: name another metric, such as rate, consumer-lag or end-to-end.p99")
	}}
	reading = Need{"read", func(p *plan.Plan) string {
		return unless(p.Reads(), "nothing is read: use kt roundtrip or kt consume")
	}}
	paced = Need{"write at a rate", func(p *plan.Plan) string {
		return cmp.Or(writing.lacks(p), unless(!p.Load.Rate.IsUnlimited(), "without a rate no record is due before it is sent: give a --rate"))
	}}
	committing = Need{"write in transactions", func(p *plan.Plan) string {
		return unless(p.Load.Transaction > 0, "nothing is written in transactions: give --transaction-duration-ms")
	}}
	verifying = Need{"verify", func(p *plan.Plan) string {
		return unless(p.Verify && p.Reads(), "no record is accounted for: use kt roundtrip --verify, or kt consume --verify LEDGER")
	}}
)

func unless(has bool, lack string) string {
	if has {
		return ""
	}
	return lack
}

// Lacks returns what runs of a plan lack for the metric, and what to do; "": nothing.
func (m *Metric) Lacks(p *plan.Plan) string {
	if m.Needs.lacks == nil {
		return ""
	}
	return m.Needs.lacks(p)
}

// Value returns the value of a metric that can be judged. ok is false if the figures have none.
func (m *Metric) Value(f *Figures) (v float64, ok bool) { return m.value(f) }

// Value is that of one series: a number, or a distribution.
type Value struct {
	Number float64
	Times  *stats.Histogram
}

// putSeries takes one series of a metric: its value, and the values of its labels in their order.
type putSeries func(v Value, labels ...string)

// Series calls put for each series of an exported metric. Times are in seconds in all of them, as monitoring systems have them. phases
// are the windows of a run by the names of its phases. A metric of windows has each of them as its first label.
func (m *Metric) Series(f *Figures, phases map[string]*stats.Window, put func(v Value, labels ...string)) {
	if !m.phased {
		m.one(f, put)
		return
	}
	for name, w := range phases {
		of := *f
		of.Window = w
		m.one(&of, func(v Value, labels ...string) { put(v, slices.Concat([]string{name}, labels)...) })
	}
}

func (m *Metric) one(f *Figures, put putSeries) {
	seconds := func(v Value, labels ...string) {
		if m.Unit == Time {
			v.Number /= 1e6
		}
		put(v, labels...)
	}
	switch {
	case m.each != nil:
		m.each(f, seconds)
	case m.histogram != nil:
		put(Value{Times: m.histogram(f)})
	default:
		if v, ok := m.value(f); ok {
			seconds(Value{Number: v})
		}
	}
}

// IsDistribution reports whether the series of an exported metric are distributions.
func (m *Metric) IsDistribution() bool { return m.Kind == Latency || m.Kind == Share }

// Help returns what the metric is, as a sentence.
func (m *Metric) Help() string { return strings.ToUpper(m.About[:1]) + m.About[1:] + "." }

// AllLabels returns the names of the labels of an exported metric.
func (m *Metric) AllLabels() []string {
	if m.phased {
		return slices.Concat([]string{"phase"}, m.Labels)
	}
	return m.Labels
}

// Keep returns a window with what the metric needs of it: counts, and one histogram at most.
func (m *Metric) Keep(p *plan.Plan, w *stats.Window) stats.Window {
	kept := w.Counts()
	kept.Brokers = nil
	if m.histogram != nil {
		*m.histogram(&Figures{Plan: p, Window: &kept}) = *m.histogram(&Figures{Plan: p, Window: w})
	}
	return kept
}

// Find returns the metric of a name, which can be judged.
func Find(name string) (*Metric, error) {
	if i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &Metrics[i], nil
	}
	if near := suggest.Nearest(name, Names()); near != "" {
		return nil, fmt.Errorf("there is no metric %q; did you mean %s?", name, near)
	}
	var plain []string // of distributions p99 alone
	for _, m := range Metrics {
		if m.histogram == nil || strings.HasSuffix(m.Name, P99) {
			plain = append(plain, m.Name)
		}
	}
	return nil, fmt.Errorf("there is no metric %q: there are %s, and other quantiles, as p99.9, max and response.p50", name, strings.Join(plain, ", "))
}

// Name is the name of a metric that can be judged.
type Name string

// Of returns the metric of a name. One of no metric has its name alone.
func (n Name) Of() *Metric {
	if m, err := Find(string(n)); err == nil {
		return m
	}
	return &Metric{Name: string(n), value: func(*Figures) (float64, bool) { return 0, false }}
}

// HigherIsBetter reports whether more of a metric is better.
func (n Name) HigherIsBetter() bool { return n.Of().HigherIsBetter }

// IsLatency reports whether a metric is a time in microseconds.
func (n Name) IsLatency() bool { return n.Of().Unit == Time }
