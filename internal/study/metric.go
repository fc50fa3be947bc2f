package study

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

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
	all := slices.Clone(Shown)
	for _, q := range s.Ask {
		if !slices.Contains(all, q.By) {
			all = append(all, q.By)
		}
	}
	return all
}

// Measures have the metrics that were measured: of a run its figures, of a cell how they spread.
type Measures[T any] map[Metric]T

// Of returns the value of a metric; zero: it was not measured.
func (s Measures[T]) Of(m Metric) T { return s[m] }

// Has reports whether a metric was measured.
func (s Measures[T]) Has(m Metric) bool {
	_, ok := s[m]
	return ok
}

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
	FaultFigures

	cluster  string   // that it went to
	ids      []string // of the run, and of the runs that were merged into it
	cut      bool     // its file has no end
	from, to time.Time
}

// isOf reports whether both are of one run, or one of them is a part of the other.
func (l *LoadFigures) isOf(o *LoadFigures) bool {
	return slices.ContainsFunc(l.ids, func(id string) bool { return id != "" && slices.Contains(o.ids, id) })
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

// figuresOf returns the figures of a result in some metrics.
func figuresOf(load, file string, r *result.Result, metrics []Metric) LoadFigures {
	f := LoadFigures{
		Load: load, File: file, Valid: r.Valid, SLO: r.Limits, Limit: r.BoundBy.Limit, Evidence: r.BoundBy.Evidence,
		FaultFigures: faultsOf(r), cluster: clusterOf(r), ids: []string{r.RunID}, cut: r.Ended == result.CutOff,
		from: r.StartedAt, to: r.StartedAt.Add(time.Duration(r.ElapsedSeconds * float64(time.Second))),
	}
	for i := range r.RunFiles {
		f.ids = append(f.ids, r.RunFiles[i].RunID)
	}
	f.measure(r, metrics)
	if f.Target = targetOf(r); f.Target > 0 {
		f.Backlog = backlogOf(r, f.Target)
	}
	if s := r.Stability; s != nil {
		f.Stability = string(s.Label)
	}
	return f
}

// measure reads metrics of a result. What was not served would make the others look better: then a metric failed.
func (l *LoadFigures) measure(r *result.Result, metrics []Metric) {
	l.Measures = make(Measures[float64])
	_, latency := r.HeadlineLatency()
	figures := *r.Figures()
	figures.Records, figures.Bytes = r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond*mib // also of less than a second
	if r.Fetch != nil {
		figures.ReadRecords, figures.ReadBytes = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond*mib
	}
	for _, m := range metrics {
		v, ok := m.Of().Value(&figures)
		if !ok || v == 0 && m.HigherIsBetter() && r.BoundBy.Limit == verdict.Unknown {
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

const mib = 1 << 20

// insideKt is the cluster of a run of the embedded broker.
const insideKt = "embedded broker, not Kafka"

// clusterOf writes what published figures tell of a cluster too: "3 brokers, Kafka 4.3".
func clusterOf(r *result.Result) string {
	if r.Embedded {
		return insideKt
	}
	c := &r.Environment.Cluster
	text := theme.Plural(len(c.Brokers), "broker", "brokers")
	if c.Version != "" {
		text += ", Kafka " + strings.TrimPrefix(c.Version, "v")
	}
	return text
}

// targetOf returns the target of a run in records a second; 0: unlimited.
func targetOf(r *result.Result) float64 {
	if r.Plan.ReadsOnly() {
		return r.Plan.Load.Rate.RecordsPerSecond(0)
	}
	return r.Throughput.TargetRecordsPerSecond
}

// ofClient reports whether kt or its host was the limit: what was not offered says nothing of the cluster.
func ofClient(l verdict.Limit) bool {
	return slices.Contains([]verdict.Limit{verdict.ClientCPU, verdict.HostCPU, verdict.Schedule, verdict.Client, verdict.Reader}, l)
}
