package metric

import (
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

	ConsumerLag                  int64           // the highest at the end of a second in which it is known; below 0: there is none
	NotInLog                     int64           // records that count as acknowledged and are not in the log; 0 before the end
	Cores                        float64         // of kt; below 0: not known
	Roughness                    float64         // below 0: not known
	BusiestKey, BusiestPartition float64         // shares of records; below 0: not known
	WireBytes                    float64         // of a record in the batches as sent; below 0: not known
	Busy, Redelivered            float64         // shares of the time of consumers and of deliveries; below 0: not known
	Verify                       *ledger.Verdict // nil: not known yet
	Now                          *Now            // nil: the figures are not of a run that goes on
}

// Now is the state of a run at the end of its newest second.
type Now struct {
	Info     []string // the values of the labels of kt_run_info
	Stages   []string // the names of all stages
	Stage    int      // the one in which the run is
	At       time.Duration
	Target   float64 // below 0: none
	Oldest   time.Duration
	InFlight int
	Buffered int64
	Sample   host.Sample
}

// Metric is a figure of a run, as catalogue.yaml describes it.
type Metric struct {
	Name   string
	Export string
	Kind   Kind
	Unit   Unit
	About  string
	Labels []string
	Needs  string

	HigherIsBetter bool `yaml:"better"`
	AtEnd          bool `yaml:"at_end"`
	Floor          float64

	Of, Read               []string
	By, Histogram, Traffic string

	quantile func(h *stats.Histogram) time.Duration // of a metric that is one of a distribution
}

// Kind is what values of a metric do over time.
type Kind string

// The kinds.
const (
	Level     Kind = "level"   // goes up and down
	Count     Kind = "count"   // adds up
	Longest   Kind = "longest" // only grows
	PerSecond Kind = "rate"    // an amount a second
	Share     Kind = "share"   // a part of something, or its distribution
	Latency   Kind = "latency" // a distribution of times
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
	WireBytes   = "wire-bytes"
	ConsumerLag = "consumer-lag" // may be unknown in some seconds

	sendDelay = "send-delay"
	headline  = "headline" // the distribution that a run is quoted by: its quantiles have no other name
)

// Names returns the names of all metrics that can be judged.
func Names() (names []string) {
	for _, m := range Metrics() {
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
		one := m
		one.Name, one.About, one.Export = strings.TrimPrefix(m.Name+"."+q.name, "."), q.name+" of the "+m.About, ""
		one.quantile = q.of
		list = append(list, one)
	}
	return list
}

// verified reports whether the metric counts what --verify found.
func (m *Metric) verified() bool { return m.Needs == "verify" }

// needs are what runs have to do for a metric, and what to say to one that does not.
var needs = map[string]struct {
	met  func(p *plan.Plan) bool
	lack string
}{
	"write":                 {(*plan.Plan).Writes, "a run that only reads has no acknowledgements: name another metric, such as rate, consumer-lag or end-to-end.p99"},
	"read":                  {(*plan.Plan).Reads, "nothing is read: use kt roundtrip or kt consume"},
	"write at a rate":       {func(p *plan.Plan) bool { return !p.Load.Rate.IsUnlimited() }, "without a rate no record is due before it is sent: give a --rate"},
	"write in transactions": {func(p *plan.Plan) bool { return p.Load.Transaction > 0 }, "nothing is written in transactions: give --transaction-duration-ms"},
	"zipf keys":             {func(p *plan.Plan) bool { return p.Payload.ZipfKeys() != nil }, "no key is hot: give --key-distribution zipf:S"},
	"processing":            {func(p *plan.Plan) bool { return p.Reads() && !p.Read.Processing.IsZero() }, "no consumer works on records: give --processing-time"},
	"share group":           {func(p *plan.Plan) bool { return p.Reads() && p.Read.Share != nil }, "no share group is read: give --group-protocol share"},
	"verify":                {func(p *plan.Plan) bool { return p.Verify && p.Reads() }, "no record is accounted for: use kt roundtrip --verify, or kt consume --verify LEDGER"},
}

// Lacks returns what runs of a plan lack for the metric, and what to do; "": nothing.
func (m *Metric) Lacks(p *plan.Plan) string {
	need := m.Needs
	if strings.HasPrefix(need, "write") && !p.Writes() {
		need = "write"
	}
	if n, known := needs[need]; known && !n.met(p) {
		return n.lack
	}
	return ""
}

// Value is that of one series: a number, or a distribution.
type Value struct {
	Number float64
	Times  *stats.Histogram
}

// Series calls put for each series of an exported metric, with the values of its labels in their order. Times are in seconds in all of them, as monitoring systems have them. phases
// are the windows of a run by the names of its phases. A metric of windows has each of them as its first label.
func (m *Metric) Series(f *Figures, phases map[string]*stats.Window, put func(v Value, labels ...string)) {
	if !slices.Contains(m.Labels, "phase") {
		m.one(f, put)
		return
	}
	for name, w := range phases {
		of := *f
		of.Window = w
		m.one(&of, func(v Value, labels ...string) { put(v, slices.Concat([]string{name}, labels)...) })
	}
}

// IsDistribution reports whether the series of an exported metric are distributions.
func (m *Metric) IsDistribution() bool { return m.Kind == Latency || m.Kind == Share }

// Help returns what the metric is, as a sentence.
func (m *Metric) Help() string { return strings.ToUpper(m.About[:1]) + m.About[1:] + "." }

// Keep returns a window with what the metric needs of it: counts, and one histogram at most.
func (m *Metric) Keep(p *plan.Plan, w *stats.Window) stats.Window {
	kept := w.Counts()
	kept.Brokers = nil
	if m.Histogram != "" {
		*m.histogram(&kept, p.Reads()) = *m.histogram(w, p.Reads())
	}
	return kept
}

// Find returns the metric of a name, which can be judged.
func Find(name string) (*Metric, error) {
	if i := slices.IndexFunc(Metrics(), func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &Metrics()[i], nil
	}
	if near := suggest.Nearest(name, Names()); near != "" {
		return nil, fmt.Errorf("there is no metric %q; did you mean %s?", name, near)
	}
	var plain []string // of distributions p99 alone
	for _, m := range Metrics() {
		if m.Histogram == "" || strings.HasSuffix(m.Name, P99) {
			plain = append(plain, m.Name)
		}
	}
	return nil, fmt.Errorf("there is no metric %q: there are %s, and other quantiles, as p99.9, max and response.p50", name, strings.Join(plain, ", "))
}

// Name is the name of a metric that can be judged.
type Name string

// Of returns the metric of a name, which may begin with that of a load: orders.p99. One of no metric has its name alone.
func (n Name) Of() *Metric {
	m, err := Find(string(n))
	if _, of, found := strings.Cut(string(n), "."); err != nil && found {
		m, err = Find(of)
	}
	if err == nil {
		return m
	}
	return &Metric{Name: string(n)}
}
