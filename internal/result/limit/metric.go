package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/suggest"
)

// Figures are what metrics are read from: of a whole run, or of a stretch of it.
type Figures struct {
	Plan   *plan.Plan
	Window *stats.Window // counts and histograms of the measured part

	// A second; below 0: there is none.
	Records, Bytes, ReadRecords, ReadBytes float64

	ConsumerLag int64           // the highest at the end of a second in which it is known; below 0: there is none
	NotInLog    int64           // records that count as acknowledged and are not in the log; 0 before the end
	Cores       float64         // of kt; 0: not known
	Verify      *ledger.Verdict // nil: not known yet
}

// Metric is a figure of a run that can have a limit.
type Metric struct {
	Name  string
	Unit  Unit
	About string // what it is, for help and documents

	// AtEnd is true if the metric is known when the run is over, and not before.
	AtEnd bool

	histogram func(f *Figures) *stats.Histogram // nil: it is read from no histogram
	value     func(f *Figures) (v float64, ok bool)
	verified  bool                      // it counts records that --verify found
	needs     func(p *plan.Plan) string // what a run lacks for it, and what to do; "": nothing
}

// Metrics are all metrics, in the order in which they are shown.
var Metrics = slices.Concat(
	latencies("", "headline latency: end to end of a run that reads, else response", func(f *Figures) *stats.Histogram { return f.Window.Headline(f.Plan.Reads()) }, nothing),
	[]Metric{
		{
			Name: "rate", Unit: RecordsRate, About: "records acknowledged a second; of a run that only reads, read", needs: nothing,
			value: func(f *Figures) (float64, bool) { return known(pick(f, f.Records, f.ReadRecords)) },
		},
		{
			Name: "read-rate", Unit: RecordsRate, About: "records read a second", needs: reading,
			value: func(f *Figures) (float64, bool) { return known(f.ReadRecords) },
		},
		{
			Name: "throughput", Unit: BytesRate, About: "bytes of keys and values acknowledged a second; of a run that only reads, read", needs: nothing,
			value: func(f *Figures) (float64, bool) { return known(pick(f, f.Bytes, f.ReadBytes)) },
		},
		{
			Name: "errors", Unit: Records, About: "records that were not acknowledged: failed, unknown and unsent, or that are not in the log all the same", needs: writing,
			value: func(f *Figures) (float64, bool) {
				return float64(f.Window.Failed + f.Window.Unknown + f.Window.Unsent + f.NotInLog), true
			},
		},
		{
			Name: "failed", Unit: Records, About: "records that failed", needs: writing,
			value: count(func(w *stats.Window) int64 { return w.Failed }),
		},
		{
			Name: "unknown", Unit: Records, About: "records sent and never answered", needs: writing,
			value: count(func(w *stats.Window) int64 { return w.Unknown }),
		},
		verified("lost", "acknowledged records that are not in the log", func(v *ledger.Verdict) int64 { return v.Lost }),
		verified("duplicated", "records read more than once", func(v *ledger.Verdict) int64 { return v.Duplicated }),
		verified("reordered", "records read behind a later one", func(v *ledger.Verdict) int64 { return v.Reordered }),
		verified("corrupted", "records whose contents changed", func(v *ledger.Verdict) int64 { return v.Corrupted }),
		{
			Name: ConsumerLag, Unit: Records, About: "records that waited to be read: the most at the end of a second", needs: reading,
			value: func(f *Figures) (float64, bool) { return known(float64(f.ConsumerLag)) },
		},
		{
			Name: "outage", Unit: Time, About: "longest time in which records waited and none was acknowledged", needs: writing,
			value: func(f *Figures) (float64, bool) { return float64(f.Window.Outage.Length.Microseconds()), true },
		},
		{
			Name: "cpu", Unit: Cores, About: "CPU that kt itself used, in cores", AtEnd: true, needs: nothing,
			value: func(f *Figures) (float64, bool) { return f.Cores, f.Cores > 0 },
		},
	},
	latencies("response", "due to acknowledged", func(f *Figures) *stats.Histogram { return &f.Window.Response }, writing),
	latencies("service", "handed to the client to acknowledged", func(f *Figures) *stats.Histogram { return &f.Window.Service }, writing),
	latencies(sendDelay, "due to handed to the client, at a --rate", func(f *Figures) *stats.Histogram { return &f.Window.SendDelay }, paced),
	latencies("end-to-end", "due to read", func(f *Figures) *stats.Histogram { return &f.Window.EndToEnd }, reading),
)

// Names returns the names of all metrics.
func Names() (names []string) {
	for _, m := range Metrics {
		names = append(names, m.Name)
	}
	return names
}

const sendDelay = "send-delay"

// ConsumerLag is the metric that may be unknown in some seconds.
const ConsumerLag = "consumer-lag"

// quantiles are those of a latency, by name.
var quantiles = []struct {
	name string
	of   func(h *stats.Histogram) time.Duration
}{
	{"p50", at(0.5)},
	{"p90", at(0.9)},
	{"p95", at(0.95)},
	{"p99", at(0.99)},
	{"p99.9", at(0.999)},
	{"p99.99", at(0.9999)},
	{"max", (*stats.Histogram).Max},
	{"mean", (*stats.Histogram).Mean},
}

func at(q float64) func(h *stats.Histogram) time.Duration {
	return func(h *stats.Histogram) time.Duration { return h.ValueAtQuantile(q) }
}

// latencies returns the metrics of one latency. kind is its name, "" for the one that needs none.
func latencies(kind, about string, of func(f *Figures) *stats.Histogram, needs func(p *plan.Plan) string) (all []Metric) {
	for _, q := range quantiles {
		all = append(all, Metric{
			Name: strings.TrimPrefix(kind+"."+q.name, "."), Unit: Time, About: q.name + " of " + about, histogram: of, needs: needs,
			value: func(f *Figures) (float64, bool) {
				h := of(f)
				return float64(q.of(h).Microseconds()), h.Ranked() > 0
			},
		})
	}
	return all
}

// verified returns a metric of what --verify finds.
func verified(name, about string, of func(v *ledger.Verdict) int64) Metric {
	return Metric{
		Name: name, Unit: Records, About: about + ", with --verify; not known unless every record was checked", AtEnd: true, verified: true,
		value: func(f *Figures) (float64, bool) {
			if f.Verify == nil || f.Verify.OfAnotherRun {
				return 0, false
			}
			n := of(f.Verify)
			return float64(n), n > 0 || f.Verify.Complete()
		},
		needs: func(p *plan.Plan) string {
			if p.Verify && p.Reads() {
				return ""
			}
			return "no record is accounted for: use kt roundtrip --verify, or kt consume --verify LEDGER"
		},
	}
}

func count(of func(w *stats.Window) int64) func(f *Figures) (float64, bool) {
	return func(f *Figures) (float64, bool) { return float64(of(f.Window)), true }
}

// pick returns the figure of what a run does: that of reading if it only reads.
func pick(f *Figures, written, read float64) float64 {
	if f.Plan.ReadsOnly() {
		return read
	}
	return written
}

func known(v float64) (float64, bool) { return max(v, 0), v >= 0 }

// What a metric needs of a run.

func nothing(*plan.Plan) string { return "" }

func writing(p *plan.Plan) string {
	if p.Writes() {
		return ""
	}
	return "a run that only reads has no acknowledgements: name another metric, such as rate, consumer-lag or end-to-end.p99"
}

func reading(p *plan.Plan) string {
	if p.Reads() {
		return ""
	}
	return "nothing is read: use kt roundtrip or kt consume"
}

func paced(p *plan.Plan) string {
	if reason := writing(p); reason != "" {
		return reason
	}
	if !p.Load.Rate.IsUnlimited() {
		return ""
	}
	return "without a rate no record is due before it is sent: give a --rate"
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

// find returns the metric of a name.
func find(name string) (*Metric, error) {
	if i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &Metrics[i], nil
	}
	if near := suggest.Nearest(name, Names()); near != "" {
		return nil, fmt.Errorf("there is no metric %q; did you mean %s?", name, near)
	}
	return nil, fmt.Errorf("there is no metric %q: there are %s, and latencies of one kind, as response.p99, service.p99, send-delay.p99 and end-to-end.p99",
		name, strings.Join(plainNames(), ", "))
}

// plainNames returns the names without those of a kind of latency.
func plainNames() (names []string) {
	for _, name := range Names() {
		if kind, _, of := strings.Cut(name, "."); !of || kind == "p99" {
			names = append(names, name)
		}
	}
	return names
}
