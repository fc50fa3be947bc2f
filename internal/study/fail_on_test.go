package study

import (
	"testing"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
)

// Four runs a side tell nothing of five metrics, so the shift decides; of five runs the test decides.
func TestFailOnOfFewRuns(t *testing.T) {
	for n, want := range map[int]int{1: 1, 4: 1, 5: 0} {
		f, err := ParseFailOn("rate<-3%")
		if err != nil {
			t.Fatal(err)
		}
		c := Compared{Metric: metric.Rate, Shift: -0.5, Verdict: TooFew}
		c.A.N, c.B.N = n, n
		d := &CompareDocument{Metrics: []Compared{c}}
		d.Judge([]FailOn{f})
		if len(d.Failures) != want {
			t.Errorf("%d runs a side: %d failures, want %d", n, len(d.Failures), want)
		}
	}
}

// What no run may be is judged by each run of B, and what is not known of one is not passed over.
func TestFailOnOfWhatNoRunMayBe(t *testing.T) {
	none, some := 0.0, 3.0
	for name, tc := range map[string]struct {
		value *float64
		held  bool
		want  int
	}{"no errors": {&none, false, 0}, "errors": {&some, true, 1}, "not known": {nil, false, 1}} {
		f, err := ParseFailOn("errors>0")
		if err != nil || f.Metric != "" {
			t.Fatal(f, err)
		}
		b := &Side{runs: make([]sideRun, 2)}
		b.runs[1].figures.SLO = []result.Limit{{Expression: "errors>0", Value: tc.value, Unit: metric.Records, Held: tc.held}}
		d := &CompareDocument{b: b}
		if d.Judge([]FailOn{f}); len(d.Failures) != tc.want {
			t.Errorf("%s: %q", name, d.Failures)
		}
	}
}
