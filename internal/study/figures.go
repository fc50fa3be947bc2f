package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// Metric is the name of a metric in the catalogue.
type Metric = metric.Name

// Shown are the metrics that every study shows, in their order. Latencies are those that the run headlines: from the due time at a
// fixed rate.
var Shown = []Metric{metric.Rate, metric.Throughput, metric.Mean, metric.P50, metric.P90, metric.P99, metric.P999, metric.Roughness, metric.CPU}

// Metrics returns those that a study shows: with the ones that it asks for.
func (s *Study) Metrics() []Metric {
	all := slices.Concat(Shown, mapped(s.Ask, func(q Question) Metric { return q.By }))
	if len(s.Published) > 0 {
		all = append(all, mapped(Latencies, sent)...)
	}
	if s.Optimum != nil {
		for _, r := range s.Optimum.rules() {
			all = append(all, r.metric)
		}
	}
	return once(all)
}

// asked returns the questions of a study. One about a workload is asked of all its loads together, and of each that has the metric,
// unless it names one: orders.p99.
func (d *Document) asked() (all []Question) {
	for _, q := range d.Study.Ask {
		all = append(all, q)
		for _, l := range slices.Concat(mapped(d.Study.Loads, func(l Load) []Load { return l.Loads })...) {
			of := q
			of.By = named(l.Name, q.By)
			all = append(all, of)
		}
	}
	measured := slices.DeleteFunc(slices.Clone(all), func(q Question) bool { // of all together there is no latency
		return !slices.ContainsFunc(d.Cells, func(c CellDoc) bool { return c.of(0).know(q.By) })
	})
	if len(all) == len(d.Study.Ask) || len(measured) == 0 {
		return d.Study.Ask
	}
	return measured
}

// Measures have the metrics that were measured: of a run its figures, of a cell how they spread.
type Measures[T any] map[Metric]T

// LoadFigures are the figures of one load of a run.
type LoadFigures struct {
	Load              string `json:"load,omitempty"`
	File              string `json:"file"` // in the folder of the study
	Measures[float64] `json:"metrics"`

	Target    float64        `json:"target_records_per_second,omitempty"` // 0: unlimited
	Backlog   *Backlog       `json:"backlog,omitempty"`                   // at a target
	Stability string         `json:"stability,omitempty"`                 // flat, warm-up, slowdown or none; "": under 30 s
	Valid     bool           `json:"valid"`
	Limit     verdict.Limit  `json:"limit"`
	Evidence  string         `json:"evidence"`
	SLO       []result.Limit `json:"-"` // what a search has to keep, or a comparison not to show, judged

	// The effects of faults.
	Failed        int64          `json:"failed_records"`              // and unknown ones
	Lost          *int64         `json:"lost_records,omitempty"`      // nil: not verified, or none is known while not all were checked
	Unchecked     *int64         `json:"unchecked_records,omitempty"` // nil: not verified
	Outage        *result.Outage `json:"outage,omitempty"`
	FailedMetrics []Metric       `json:"failed_metrics,omitempty"` // latencies that fall among records that were not served, and CPU of a run in which too many were not

	first      *FirstOut
	usage      *usage
	aborted    string   // the condition that ended it; "": none
	behind     bool     // its readers, which have no rate
	cluster    string   // that it went to
	ids        []string // of the run, and of the runs that were merged into it
	cut        bool     // its file has no end
	from, to   time.Time
	oneAtATime bool               // so no record waits for another, though there is no target
	facts      map[string]string  // of a comparison: settings and environment
	shares     map[string]float64 // of a comparison: what went on beside the load
	derived    []string           // of a comparison: facts that follow from others
	doubts     []result.Doubt
	accepted   []string // the ids of doubts that were left out
}

func (l *LoadFigures) isOf(o *LoadFigures) bool {
	return slices.ContainsFunc(l.ids, func(id string) bool { return id != "" && slices.Contains(o.ids, id) })
}

// effects are the numbers of which Faults has spreads, in its order; nil: not known.
func (l *LoadFigures) effects() []*int64 {
	o := cmp.Or(l.Outage, new(result.Outage))
	return []*int64{&l.Failed, l.Lost, l.Unchecked, o.LongestGapMS, o.RecoveredMS, o.InSyncMS}
}

// Share is a part of something: 0.03 is 3 %. One of nothing is infinite or no number, and null in JSON.
type Share float64

// IsKnown reports whether the share is of something.
func (s Share) IsKnown() bool { return math.Abs(float64(s)) <= math.MaxFloat64 }

// MarshalJSON writes a number, or null.
func (s Share) MarshalJSON() ([]byte, error) {
	if !s.IsKnown() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// FiguresOf returns the figures of a result by itself.
func FiguresOf(r *result.Result) LoadFigures { return figuresOf("", "", r, Shown) }

// ofLoad returns the metrics among some that are of a load of workloads, without its name, and with "" those of all together. CPU is
// that of the process.
func ofLoad(load string, among []Metric) (all []Metric) {
	for _, m := range among {
		m = Metric(strings.TrimPrefix(string(m), load+"."))
		if _, err := metric.Find(string(m)); err == nil && (load == "" || m != metric.CPU) {
			all = append(all, m)
		}
	}
	return once(all)
}

// named returns what is of a load of workloads with its name: orders.p99; "": it is of all together.
func named[T ~string](load string, what T) T {
	return T(strings.TrimPrefix(load+"."+string(what), "."))
}

// eachOf returns the figures of a result, and those of each load of a workload. The first ones have all metrics, those of loads with
// their names.
func eachOf(load, file string, r *result.Result, metrics []Metric) []LoadFigures {
	all := []LoadFigures{figuresOf(load, file, r, ofLoad("", metrics))}
	all[0].first, all[0].usage = firstOut(r), usageOf(r)
	for i := range r.Loads {
		l := &r.Loads[i]
		of := figuresOf(l.Name, file, &l.Result, ofLoad(l.Name, metrics))
		for m, v := range of.Measures {
			all[0].Measures[named(l.Name, m)] = v
		}
		for _, m := range of.FailedMetrics {
			all[0].FailedMetrics = append(all[0].FailedMetrics, named(l.Name, m))
		}
		all = append(all, of)
	}
	return all
}

func figuresOf(load, file string, r *result.Result, metrics []Metric) LoadFigures {
	f := LoadFigures{
		Load: load, File: file, Valid: r.Valid, SLO: r.Limits, Limit: r.BoundBy.Limit, Evidence: r.BoundBy.Evidence,
		Target: r.Throughput.TargetRecordsPerSecond, cluster: "embedded broker, not Kafka", oneAtATime: r.Plan.Load.OneAtATime, cut: r.Ended == result.CutOff, doubts: r.Doubts, accepted: r.Accepted,
		from: r.StartedAt, to: r.StartedAt.Add(time.Duration(r.ElapsedSeconds * float64(time.Second))),
		ids:    append([]string{r.RunID}, mapped(r.RunFiles, func(f result.MergedFile) string { return f.RunID })...),
		Failed: r.Records.Failed + r.Records.Unknown, Outage: r.Outage,
	}
	if c := &r.Environment.Cluster; !r.Embedded { // as published figures have it: "3 brokers, Kafka 4.3"
		f.cluster = theme.Plural(len(c.Brokers), "broker", "brokers")
		if c.Version != "" {
			f.cluster += ", Kafka " + strings.TrimPrefix(c.Version, "v")
		}
	}
	if v := r.Verify; v != nil && !v.OfAnotherRun {
		if f.Unchecked = new(v.Unchecked + v.Undecided); v.Lost > 0 || v.Complete() {
			f.Lost = &v.Lost
		}
	}
	f.measure(r, metrics)
	if r.Plan.ReadsOnly() {
		f.Target = r.Plan.Load.Rate.RecordsPerSecond(0)
		f.behind = r.ConsumerLag != nil && r.ConsumerLag.KeptUp != nil && !*r.ConsumerLag.KeptUp
	}
	f.aborted = r.AbortedBy
	if f.Target > 0 {
		f.Backlog = backlogOf(r, f.Target)
	}
	if r.Stability != nil {
		f.Stability = string(r.Stability.Label)
	}
	return f
}

// measure reads metrics of a result. What was not served would make the others look better: then a metric failed.
func (l *LoadFigures) measure(r *result.Result, metrics []Metric) {
	l.Measures = make(Measures[float64])
	_, latency := r.HeadlineLatency()
	figures := *r.Figures()
	figures.Records, figures.Bytes = r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond*input.MiB // also of less than a second
	if r.Fetch != nil {
		figures.ReadRecords, figures.ReadBytes = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond*input.MiB
	}
	for _, m := range metrics {
		v, ok := m.Of().Value(&figures)
		if !ok || v == 0 && m.Of().HigherIsBetter && r.BoundBy.Limit == verdict.Unknown {
			continue
		}
		failed, cheap := v == metric.Failed || m == metric.Mean && latency.Unserved > 0, m == metric.CPU && latency.Unserved > latency.Ranked()/100
		if failed || cheap {
			l.FailedMetrics = append(l.FailedMetrics, m)
		}
		if !failed {
			l.Measures[m] = v
		}
	}
	slices.Sort(l.FailedMetrics)
}

// ofClient reports whether kt or its host was the limit: what was not offered says nothing of the cluster.
func ofClient(l verdict.Limit) bool {
	return slices.Contains([]verdict.Limit{verdict.ClientCPU, verdict.HostCPU, verdict.Schedule, verdict.Client, verdict.Reader}, l)
}

// CellFigures are the figures of one load in a cell, over its runs.
type CellFigures struct {
	Load             string `json:"load,omitempty"`
	Measures[Spread] `json:"metrics"`
	Faults

	Limits      []verdict.Limit `json:"limits"`       // of its runs, without repetition
	ClientBound bool            `json:"client_bound"` // kt or its host was the limit of a run: the brokers may do more
	Invalid     int             `json:"invalid_runs"`
}

// Faults are the effects of faults on the runs of a cell. A spread has the runs with that effect alone.
type Faults struct {
	Failed        Spread   `json:"failed_records,omitzero"`    // and unknown ones; of all runs
	Lost          Spread   `json:"lost_records,omitzero"`      // acknowledged and gone; of runs that verified
	Unchecked     Spread   `json:"unchecked_records,omitzero"` // acknowledged, and not known whether gone; of runs that verified
	Gap           Spread   `json:"longest_gap_ms,omitzero"`    // records waited and none was acknowledged
	Recovered     Spread   `json:"rate_recovered_ms,omitzero"` // since the fault
	InSync        Spread   `json:"in_sync_ms,omitzero"`        // since the fault
	FailedMetrics []string `json:"failed_metrics,omitempty"`   // latencies that the cell has not, each as "p99: failed in 2 of 5 runs"
}

// Spread is a metric over the runs of a cell: the median with its interval.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
}

// spread returns the median of some values with its interval, which is the whole range of fewer than six.
func spread(values []float64) Spread {
	m := inference.Median(values, alpha)
	return Spread{Median: m.Value, Low: m.Low, High: m.High, N: m.N}
}

// figures are those of one load in several runs.
type figures []*LoadFigures

func (fs figures) cell() CellFigures {
	client, invalid := fs.bound()
	limits := append([]verdict.Limit{}, mapped(fs, func(f *LoadFigures) verdict.Limit { return f.Limit })...)
	slices.Sort(limits)
	one := CellFigures{Limits: slices.Compact(limits), Measures: make(Measures[Spread]), ClientBound: client > 0, Invalid: invalid, Faults: Faults{FailedMetrics: fs.failed()}}
	for i, into := range []*Spread{&one.Failed, &one.Lost, &one.Unchecked, &one.Gap, &one.Recovered, &one.InSync} {
		var values []float64
		for _, f := range fs {
			if v := f.effects()[i]; v != nil {
				values = append(values, float64(*v))
			}
		}
		*into = spread(values)
	}
	for _, f := range fs {
		one.Load = f.Load
		for m := range f.Measures {
			if values := fs.values(m); values != nil {
				one.Measures[m] = spread(values)
			}
		}
	}
	return one
}

// values returns a metric in each run that has it; none if it failed in one.
func (fs figures) values(m Metric) (values []float64) {
	for _, f := range fs {
		if slices.Contains(f.FailedMetrics, m) {
			return nil
		}
		if v, ok := f.Measures[m]; ok {
			values = append(values, v)
		}
	}
	return values
}

func (fs figures) bound() (client, invalid int) {
	for _, f := range fs {
		if ofClient(f.Limit) {
			client++
		}
		if !f.Valid {
			invalid++
		}
	}
	return client, invalid
}

// failed returns a sentence for each latency that failed in a run: the others alone would look better than all.
func (fs figures) failed() []string {
	failed := make(map[Metric]int)
	for _, f := range fs {
		for _, m := range f.FailedMetrics {
			failed[m]++
		}
	}
	return mapped(slices.Sorted(maps.Keys(failed)), func(m Metric) string {
		return fmt.Sprintf("%s: failed in %d of %s", m, failed[m], theme.Plural(len(fs), "run", "runs"))
	})
}
