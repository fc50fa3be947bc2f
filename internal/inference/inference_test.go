package inference_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

const alpha = 0.05

// source is a seeded source of runs.
type source struct{ *rand.Rand }

func seeded(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 0))} }

// runs returns n runs around level whose logarithms have a standard deviation of spread.
func (s source) runs(n int, level, spread float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * math.Exp(spread*s.NormFloat64())
	}
	return out
}

// series returns the throughput of each second around a level that moves. Spread is that of
// one second, and each second is correlated with the next.
func (s source) series(seconds int, spread, correlation float64, level func(second int) float64) []float64 {
	out := make([]float64, seconds)
	e := s.NormFloat64()
	for i := range out {
		out[i] = 1e6 * level(i) * (1 + spread*e)
		e = correlation*e + math.Sqrt(1-correlation*correlation)*s.NormFloat64()
	}
	return out
}

// share returns in how many of n trials something happened.
func share(n int, happens func() bool) float64 {
	var count int
	for range n {
		if happens() {
			count++
		}
	}
	return float64(count) / float64(n)
}

// tolerance is what chance adds to a share p in n trials, three standard deviations.
func tolerance(p float64, n int) float64 { return 3 * math.Sqrt(p*(1-p)/float64(n)) }

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

func TestMedianIntervalHasTheOrdersAndCoverageOfTheBinomialTable(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		N         int
		Low, High float64 // of the values 1 to n
		Coverage  float64
	}](t, "inference") {
		xs := make([]float64, r.N)
		for i := range xs {
			xs[i] = float64(r.N - i)
		}
		e := inference.Median(xs, alpha)
		if e.Value != float64(r.N+1)/2 || e.Low != r.Low || e.High != r.High || e.N != r.N {
			t.Errorf("Median of 1 to %d = %+v, want %v to %v", r.N, e, r.Low, r.High)
		}
		near(t, "coverage", e.Coverage, r.Coverage, 1e-4)
	}
	must.Match(t, (inference.Estimate{}), inference.Median(nil, alpha), "Median of nothing")
}

func TestMedianIntervalHoldsTheTruthAsOftenAsItSays(t *testing.T) {
	s := seeded(1)
	for _, n := range []int{3, 6, 10} {
		const trials = 4000
		var coverage float64
		held := share(trials, func() bool {
			e := inference.Median(s.runs(n, 100, 0.3), alpha)
			coverage = e.Coverage
			return e.Low <= 100 && 100 <= e.High
		})
		near(t, "share held", held, coverage, tolerance(coverage, trials))
	}
}
