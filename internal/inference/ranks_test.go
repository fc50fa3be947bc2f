package inference_test

import (
	"errors"
	"math"
	"math/bits"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

// The example of R's wilcox.test: Hollander and Wolfe (1973), page 69, permeability of
// membranes. R prints p-value = 0.2544 and, with conf.int, 0.305 in -0.15 to 0.76.
func TestRanksAgreeWithR(t *testing.T) {
	x := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	y := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	near(t, "p", inference.MannWhitney(x, y), 0.2544, 5e-5)
	e := inference.HodgesLehmann(y, x, alpha)
	near(t, "shift", e.Value, 0.305, 1e-9)
	near(t, "low", e.Low, -0.15, 1e-9)
	near(t, "high", e.High, 0.76, 1e-9)
}

func TestFewRunsCannotShowADifference(t *testing.T) {
	for _, r := range []struct {
		n     int
		least float64 // 2 / (2n choose n)
	}{{1, 1}, {2, 0.3333}, {3, 0.1}, {4, 0.0286}, {5, 0.0079}, {6, 0.0022}, {10, 1.083e-5}} {
		a, b := make([]float64, r.n), make([]float64, r.n)
		for i := range a {
			a[i], b[i] = float64(i+1), float64(i+100)
		}
		got := inference.MannWhitney(a, b)
		near(t, "p", got, r.least, r.least*0.02)
		near(t, "coverage", inference.HodgesLehmann(a, b, r.least/2).Coverage, 1-got, 1e-12)
	}
	must.Match(t, 1, inference.MannWhitney(nil, []float64{1}), "MannWhitney of nothing")
	must.Match(t, 1, inference.MannWhitney([]float64{2, 2}, []float64{2, 2}), "MannWhitney of equal values")
}

func TestTiesAreExact(t *testing.T) {
	all := []float64{1, 2, 2, 3, 3, 3, 4, 7}
	pick := func(mask int) (a, b []float64) {
		for i, x := range all {
			if mask>>i&1 == 1 {
				a = append(a, x)
			} else {
				b = append(b, x)
			}
		}
		return a, b
	}
	extreme := func(a, b []float64) (u float64) {
		for _, x := range a {
			for _, y := range b {
				switch {
				case x > y:
					u++
				case x == y:
					u += 0.5
				}
			}
		}
		return math.Abs(u - float64(len(a)*len(b))/2)
	}
	for _, mask := range []int{0b00001111, 0b00010111, 0b01010101, 0b10110001} {
		a, b := pick(mask)
		var more, total float64
		for other := range 1 << len(all) {
			if bits.OnesCount(uint(other)) == len(a) {
				total++
				if x, y := pick(other); extreme(x, y) >= extreme(a, b) {
					more++
				}
			}
		}
		near(t, "p", inference.MannWhitney(a, b), more/total, 1e-9)
	}
}

func TestIntervalExcludesNoShiftExactlyWhenTheTestDoes(t *testing.T) {
	s := seeded(2)
	for range 1000 {
		a, b := s.runs(4+s.IntN(6), 100, 0.02), s.runs(4+s.IntN(6), 103, 0.02)
		e := inference.HodgesLehmann(a, b, alpha)
		excluded, shown := e.Low > 0 || e.High < 0, inference.MannWhitney(a, b) <= alpha
		if excluded != shown {
			t.Fatalf("interval %+v, p %v of %v and %v", e, inference.MannWhitney(a, b), a, b)
		}
	}
}

func TestRatioIntervalHoldsTheTruth(t *testing.T) {
	s := seeded(3)
	const trials = 2000
	for _, n := range []int{4, 8, 60} {
		trials := trials / (1 + n/20)
		var coverage float64
		held := share(trials, func() bool {
			e := must.Have(inference.HodgesLehmannRatio(s.runs(n, 200, 0.05), s.runs(n, 220, 0.05), alpha))(t)
			coverage = e.Coverage
			return e.Low <= 1.1 && 1.1 <= e.High
		})
		near(t, "share held", held, coverage, tolerance(coverage, trials))
	}
	if _, err := inference.HodgesLehmannRatio([]float64{1, -1}, []float64{1}, alpha); !errors.Is(err, inference.ErrNotPositive) {
		t.Errorf("a ratio to -1 gives %v", err)
	}
}
