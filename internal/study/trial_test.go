//go:build !race

package study

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

func TestTheWordsOfATrial(t *testing.T) {
	for _, tc := range []struct {
		metric  Metric
		verdict Change
		shift   float64
		want    Change
	}{
		{metric.Rate, Better, 0.1, Raised},
		{metric.P99, Better, -0.1, Lowered},
		{metric.Roughness, Lesser, 0.5, Rougher},
		{metric.Roughness, Better, -0.5, Steadier},
		{metric.Rate, Same, 0.01, Unchanged},
		{metric.Roughness, TooFew, 0.5, Unchanged},
	} {
		if got := changeOf(&Compared{Metric: tc.metric, Verdict: tc.verdict, Shift: Share(tc.shift)}); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.metric, tc.verdict, got, tc.want)
		}
	}
}

// A throughput that never varies is measured, and one that nothing came of is lower.
func TestATrialOfFlatAndOfDeadRuns(t *testing.T) {
	side := func(throughput float64) *Side {
		s := new(Side)
		for range 6 {
			s.runs = append(s.runs, &LoadFigures{Measures: Measures[float64]{metric.Rate: throughput, metric.Roughness: 0}, Stability: "flat", Limit: verdict.None})
		}
		return s
	}
	for _, tc := range []struct {
		changed float64
		want    Change
	}{{1000, Unchanged}, {0, Lowered}} {
		list, err := effects(side(1000), side(tc.changed), 0.03, 0.05)
		if err != nil || len(list) != 2 {
			t.Fatalf("%v, %d metrics", err, len(list))
		}
		if list[0].Verdict != tc.want || list[1].Verdict != Unchanged || !list[1].Clear {
			t.Errorf("throughput %v: %s, %s", tc.changed, list[0].Sentence, list[1].Sentence)
		}
	}
	for from, want := range map[float64]string{0: "rate is higher than nothing", 1000: "rate is lower: -100% (-100% to -100%)"} {
		if list, err := effects(side(from), side(1000-from), 0.03, 0.05); err != nil || list[0].Sentence != want {
			t.Errorf("from %v: %v, %q, want %q", from, err, list[0].Sentence, want)
		}
	}
}

func TestATrialSaysWhatFailed(t *testing.T) {
	d := &TrialDoc{Changed: SideDoc{Name: "linger=20ms", Runs: 5, FailedMetrics: []string{"p99: failed in 2 of 5 runs"}}, Effects: []Effect{{}}}
	if text := d.say(); !strings.Contains(text, "; with it p99: failed in 2 of 5 runs") || strings.Contains(text, "without it") {
		t.Errorf("%q", text)
	}
}
