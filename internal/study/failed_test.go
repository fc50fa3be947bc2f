package study

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
)

// servedOf is a result whose p99 is a number or failed.
func servedOf(p99 result.Micros) *result.Result {
	var r result.Result
	r.Plan.Producers = 1
	h := &r.Histograms.Response.Histogram
	h.RecordN(900*time.Microsecond, 98)
	if p99 == result.Failed {
		h.RecordNever(2)
	} else {
		h.RecordN(p99.Duration(), 2)
	}
	r.Latency.Response = result.LatencyOf(h)
	r.Throughput.RecordsPerSecond = 1000
	return &r
}

func TestALatencyThatFailedInSomeRunsIsComparedWithNone(t *testing.T) {
	var a, b Side
	c := CellDoc{}
	for i := range 5 {
		a.Add("a", servedOf(2000))
		p99 := result.Micros(2000)
		if i < 2 {
			p99 = result.Failed
		}
		b.Add("b", servedOf(p99))
		c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{b.runs[i].figures}})
	}
	const says = "p99: failed in 2 of 5 runs"
	d, err := Compare(&a, &b, 0.03)
	if err != nil || d.A.FailedMetrics != nil || !slices.Contains(d.B.FailedMetrics, says) {
		t.Fatalf("%v: %q against %q", err, d.A.FailedMetrics, d.B.FailedMetrics)
	}
	for _, m := range d.Metrics {
		if m.Metric == metric.P99 || m.Metric == metric.P999 {
			t.Errorf("%s is compared", m.Metric)
		}
	}
	if d.Judge([]FailOn{{Metric: metric.P99, Above: true, Limit: 0.1}}); len(d.Failures) != 1 || !strings.Contains(d.Failures[0], "failed") {
		t.Errorf("--fail-on: %q", d.Failures)
	}
	if c.conclude(1); c.Of(metric.P99).N != 0 || c.Of(metric.P50).N != 5 || !slices.Contains(c.FailedMetrics, says) {
		t.Errorf("the cell has %+v, %q", c.Measures, c.FailedMetrics)
	}
	s := Search{}
	failing := LoadFigures{Valid: true, SLO: []result.Limit{{Expression: "p99<5ms", Note: "failed"}}}
	if why := s.reasons(Step{Time: 10e9}, &failing); !slices.Contains(why, "p99<5ms: failed") {
		t.Errorf("a trial with a failed p99 fails by %q", why)
	}
}

// A mean of the records that were served would look better than one of all.
func TestAMeanBesideRecordsThatFailedIsNone(t *testing.T) {
	r := servedOf(2000)
	r.Client.CPUCores = 1
	for unserved, want := range map[int64][]Metric{0: nil, 1: {metric.Mean}, 2: {metric.CPU, metric.Mean}} {
		r.Latency.Response.Unserved = unserved
		if l := FiguresOf(r); !slices.Equal(l.FailedMetrics, want) || l.Of(metric.P50) == 0 {
			t.Errorf("%d records unserved: %q", unserved, l.FailedMetrics)
		}
	}
}
