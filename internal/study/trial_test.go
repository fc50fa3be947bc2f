package study

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// sides returns runs without a change and with it. The change multiplies the throughput and the roughness.
func sides(chance *rand.Rand, runs int, throughput, roughness float64) (a, b *Side) {
	side := func(x, r float64) *Side {
		s := new(Side)
		for range runs {
			var l LoadFigures
			l.Throughput = 100_000 * x * (1 + 0.02*chance.NormFloat64())
			l.Roughness = 0.05 * r * (1 + 0.2*chance.NormFloat64())
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

// Looking several times, at two metrics, a change that does nothing is called one in at most 5 % of trials.
func TestLooksAddNoFalseAlarms(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 15))
	const times = 600
	alarms := 0
	for range times {
		list, _ := ended(t, chance, 1, 1)
		if slices.ContainsFunc(list, func(e Effect) bool { return e.Verdict != Unchanged }) {
			alarms++
		}
	}
	if share := float64(alarms) / times; share > 0.05+0.018 { // two standard errors
		t.Errorf("%.3f of trials without an effect name one", share)
	}
}

// By Detectable's theory 20 runs a side at a third of alpha, with two metrics, show a shift of 2.6 % in a noise of
// 2 % with a power of 80 %; one of 5 % is shown nearly always, and by fewer runs.
func TestATrialShowsAnEffect(t *testing.T) {
	chance := rand.New(rand.NewPCG(2, 15))
	const times = 200
	shown, steadier, runs := 0, 0, 0
	for range times {
		list, n := ended(t, chance, 1.05, 0.5)
		if list[0].Verdict == Raised {
			shown++
		}
		if list[1].Verdict == Steadier {
			steadier++
		}
		runs += n
	}
	if shown < times*95/100 || steadier < times*95/100 {
		t.Errorf("of %d trials %d show a throughput 5 %% higher, and %d half the roughness", times, shown, steadier)
	}
	if mean := float64(runs) / times; mean >= 20 {
		t.Errorf("the trials took %.1f runs a side: none ended early", mean)
	}
	shown = 0
	for range times {
		a, b := sides(chance, 20, 1.026, 1)
		list, err := effects(a, b, 0.001, alpha/3)
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Verdict == Raised {
			shown++
		}
	}
	if share := float64(shown) / times; share < 0.7 || share > 0.99 {
		t.Errorf("a shift of 2.6 %% is shown in %.2f of trials, and theory says 0.8 or more", share)
	}
}

func TestTheWordsOfATrial(t *testing.T) {
	for _, tc := range []struct {
		metric  Metric
		verdict Change
		shift   float64
		want    Change
	}{
		{Throughput, Better, 0.1, Raised},
		{P99, Better, -0.1, Lowered},
		{Roughness, Lesser, 0.5, Rougher},
		{Roughness, Better, -0.5, Steadier},
		{Throughput, Same, 0.01, Unchanged},
		{Roughness, TooFew, 0.5, Unchanged},
	} {
		if got := changeOf(&Compared{Metric: tc.metric, Verdict: tc.verdict, Shift: tc.shift}); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.metric, tc.verdict, got, tc.want)
		}
	}
}

// A throughput that never varies is measured, and one that nothing came of is lower.
func TestATrialOfFlatAndOfDeadRuns(t *testing.T) {
	side := func(throughput float64) *Side {
		s := new(Side)
		for range 6 {
			s.runs = append(s.runs, sideRun{figures: LoadFigures{Measures: Measures[float64]{Throughput: throughput}, Stability: "flat", Limit: verdict.None}})
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
}
