package study

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// Metric is a figure of a run that cells are compared by.
type Metric string

// The metrics. Latencies are those that the run headlines: from the due time at a fixed rate.
const (
	Throughput Metric = "throughput" // records a second, acknowledged or read
	Bytes      Metric = "bytes"      // MiB a second
	Mean       Metric = "mean"       // latency in microseconds, as those below
	P50        Metric = "p50"
	P90        Metric = "p90"
	P99        Metric = "p99"
	P999       Metric = "p999"
	Roughness  Metric = "roughness" // coefficient of variation of 5-second means of the throughput
	CPU        Metric = "cpu"       // cores that kt used
)

// Metrics are all metrics, in the order in which they are shown.
var Metrics = []Metric{Throughput, Bytes, Mean, P50, P90, P99, P999, Roughness, CPU}

func metricNames() (names []string) {
	for _, m := range Metrics {
		names = append(names, string(m))
	}
	return names
}

// String returns the name of a metric for people.
func (m Metric) String() string {
	if m == P999 {
		return "p99.9"
	}
	return string(m)
}

// HigherIsBetter reports whether more of a metric is better.
func (m Metric) HigherIsBetter() bool { return m == Throughput || m == Bytes }

// IsLatency reports whether a metric is a time in microseconds.
func (m Metric) IsLatency() bool { return slices.Contains([]Metric{Mean, P50, P90, P99, P999}, m) }

// Measures has a value for each metric: of a run its figures, of a cell how they spread. A metric that
// was not measured is zero.
type Measures[T any] struct {
	Throughput T          `json:"throughput,omitzero"`     // records a second
	Bytes      T          `json:"mib_per_second,omitzero"` // of values
	Latency    Latency[T] `json:"latency_us,omitzero"`
	Roughness  T          `json:"roughness,omitzero"` // 0 to 1
	CPU        T          `json:"client_cpu_cores,omitzero"`
}

// Latency has the metrics of latency.
type Latency[T any] struct {
	Mean T `json:"mean,omitzero"`
	P50  T `json:"p50,omitzero"`
	P90  T `json:"p90,omitzero"`
	P99  T `json:"p99,omitzero"`
	P999 T `json:"p999,omitzero"`
}

// Of returns the place of a metric.
func (s *Measures[T]) Of(m Metric) *T {
	l := &s.Latency
	return map[Metric]*T{
		Throughput: &s.Throughput, Bytes: &s.Bytes, Mean: &l.Mean, P50: &l.P50, P90: &l.P90, P99: &l.P99, P999: &l.P999, Roughness: &s.Roughness, CPU: &s.CPU,
	}[m]
}

// LoadFigures are the figures of one load of a run.
type LoadFigures struct {
	Load string `json:"load,omitempty"`
	File string `json:"file"` // in the folder of the study
	Measures[float64]

	Target    float64       `json:"target_records_per_second,omitempty"` // 0: unlimited
	Backlog   *Backlog      `json:"backlog,omitempty"`                   // at a target
	Stability string        `json:"stability,omitempty"`                 // flat, warm-up, slowdown or none; "": under 30 s
	Valid     bool          `json:"valid"`
	Limit     verdict.Limit `json:"limit"`
	Evidence  string        `json:"evidence"`
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

// Has reports whether a metric was measured, or is known to be nothing.
func (l *LoadFigures) Has(m Metric) bool {
	return *l.Of(m) != 0 || m.HigherIsBetter() && l.Limit != verdict.Unknown || m == Roughness && l.Stability != ""
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
func FiguresOf(r *result.Result) LoadFigures { return figuresOf("", "", r) }

// figuresOf returns the figures of a result.
func figuresOf(load, file string, r *result.Result) LoadFigures {
	f := LoadFigures{
		Load: load, File: file, Valid: r.Valid, Limit: r.BoundBy.Limit, Evidence: r.BoundBy.Evidence,
		FaultFigures: faultsOf(r), cluster: clusterOf(r), ids: []string{r.RunID}, cut: r.Ended == result.CutOff,
		from: r.StartedAt, to: r.StartedAt.Add(time.Duration(r.ElapsedSeconds * float64(time.Second))),
	}
	for i := range r.RunFiles {
		f.ids = append(f.ids, r.RunFiles[i].RunID)
	}
	_, latency := r.HeadlineLatency()
	f.Throughput, f.Bytes = r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond
	if r.Plan.ReadsOnly() && r.Fetch != nil {
		f.Throughput, f.Bytes = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond
	}
	for m, v := range map[Metric]result.Micros{Mean: latency.Mean, P50: latency.P50, P90: latency.P90, P99: latency.P99, P999: latency.P999} {
		if v == result.Failed || m == Mean && latency.Unserved > 0 { // that of the others would look better
			f.FailedMetrics = append(f.FailedMetrics, m)
		} else {
			*f.Of(m) = float64(v)
		}
	}
	if latency.Unserved > latency.Ranked()/100 { // it would look better for what it did not serve
		f.FailedMetrics = append(f.FailedMetrics, CPU)
	}
	slices.Sort(f.FailedMetrics)
	f.CPU = r.Client.CPUCores
	if f.Target = targetOf(r); f.Target > 0 {
		f.Backlog = backlogOf(r, f.Target)
	}
	if s := r.Stability; s != nil {
		f.Stability, f.Roughness = string(s.Label), s.Variation
	}
	return f
}

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
