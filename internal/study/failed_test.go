package study

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result"
)

// servedOf is a result whose p99 is a number or failed.
func servedOf(p99 result.Micros) *result.Result {
	var r result.Result
	r.Plan.Producers = 1
	r.Latency.Response = result.Latency{Count: 100, Mean: 900, P50: 1000, P90: 1500, P99: p99, P999: p99}
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
		if m.Metric == P99 || m.Metric == P999 {
			t.Errorf("%s is compared", m.Metric)
		}
	}
	if d.Judge([]FailOn{{Metric: P99, Above: true, Limit: 0.1}}); len(d.Failures) != 1 || !strings.Contains(d.Failures[0], "failed") {
		t.Errorf("--fail-on: %q", d.Failures)
	}
	if c.conclude(1); c.Latency.P99.N != 0 || c.Latency.P50.N != 5 || !slices.Contains(c.FailedMetrics, says) {
		t.Errorf("the cell has %+v, %q", c.Latency, c.FailedMetrics)
	}
	s := Search{SLO: []SLO{{Metric: P99, Below: 5000}}}
	if why := s.reasons(Step{Rate: 1000, Time: 10e9}, &b.runs[0].figures); !slices.Contains(why, "p99 failed") {
		t.Errorf("a trial with a failed p99 fails by %q", why)
	}
}

// A mean of the records that were served would look better than one of all.
func TestAMeanBesideRecordsThatFailedHoldsNoSLO(t *testing.T) {
	r := servedOf(2000)
	r.Latency.Response.Unserved, r.Valid = 1, true
	l := figuresOf("", "", r)
	s := Search{SLO: []SLO{{Metric: Mean, Below: 5000}}}
	if why := s.reasons(Step{Rate: 1000, Time: 10e9}, &l); !slices.Equal(why, []string{"mean failed"}) || l.Latency.P50 == 0 {
		t.Errorf("a mean beside a failed record fails by %q", why)
	}
	if r.Latency.Response.Unserved = 2; slices.Contains(figuresOf("", "", r).FailedMetrics, CPU) == slices.Contains(l.FailedMetrics, CPU) {
		t.Error("the CPU of a run counts up to 1 % of records that were not served")
	}
}
