package study

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// sides returns runs without a change and with it. The change multiplies the throughput and the roughness.
func sides(chance *rand.Rand, runs int, throughput, roughness float64) (a, b *Side) {
	side := func(x, r float64) *Side {
		s := new(Side)
		for range runs {
			l := LoadFigures{Measures: make(Measures[float64])}
			l.Measures[metric.Rate] = 100_000 * x * (1 + 0.02*chance.NormFloat64())
			l.Measures[metric.Roughness] = 0.05 * r * (1 + 0.2*chance.NormFloat64())
			s.runs = append(s.runs, sideRun{figures: l})
		}
		return s
	}
	return side(1, 1), side(throughput, roughness)
}

// ended makes runs until the answer is clear, and returns the last comparison with the runs a side.
func ended(t *testing.T, chance *rand.Rand, throughput, roughness float64) ([]Effect, int) {
	t.Helper()
	most := defaultLooks[len(defaultLooks)-1]
	a, b := sides(chance, most, throughput, roughness)
	for i, alpha := range inference.Looks(len(defaultLooks), alpha) {
		n := defaultLooks[i]
		list, err := effects(&Side{runs: a.runs[:n]}, &Side{runs: b.runs[:n]}, 0.03, alpha)
		if err != nil {
			t.Fatal(err)
		}
		if n == most || !slices.ContainsFunc(list, func(e Effect) bool { return !e.Clear }) {
			return list, n
		}
	}
	panic("unreachable")
}

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
			s.runs = append(s.runs, sideRun{figures: LoadFigures{Measures: Measures[float64]{metric.Rate: throughput, metric.Roughness: 0}, Stability: "flat", Limit: verdict.None}})
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
	for from, want := range map[float64]string{0: "throughput is higher than nothing", 1000: "throughput is lower: -100% (-100% to -100%)"} {
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
