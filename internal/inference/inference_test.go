package inference_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aclements/go-moremath/stats"

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
	must.True(t, math.Abs(got-want) <= tolerance, "%s = %v, want %v ± %v", what, got, want, tolerance)
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
		must.True(t, e.Value == float64(r.N+1)/2 && e.Low == r.Low && e.High == r.High && e.N == r.N,
			"Median of 1 to %d = %+v, want %v to %v", r.N, e, r.Low, r.High)
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

var trials = flag.Int("trials", 100, "simulated studies of each number in the table of TestStudies")

// welch reports whether a group is told from the best one when each has its own noise alone, with a correction for all pairs.
func welch(groups [][]float64) bool {
	best, smallest := 0, 1.0
	samples := make([]stats.Sample, len(groups))
	for i, g := range groups {
		for _, v := range g {
			samples[i].Xs = append(samples[i].Xs, math.Log(v))
		}
		if inference.Median(g, alpha).Value > inference.Median(groups[best], alpha).Value {
			best = i
		}
	}
	for i := range groups {
		if r, err := stats.TwoSampleWelchTTest(samples[best], samples[i], stats.LocationDiffers); i != best && err == nil {
			smallest = min(smallest, r.P)
		}
	}
	return smallest*float64(len(groups)*(len(groups)-1)/2) <= alpha
}

// noises are how repeats differ in the simulated studies: the standard deviation in a cell, and the share of runs that lose 30 %.
var noises = []struct {
	name     string
	spread   func(i, cells int) float64
	outliers float64
}{
	{"2 % in each", func(int, int) float64 { return 0.02 }, 0},
	{"from 1 to 5 %", func(i, cells int) float64 { return 0.01 * math.Pow(5, float64(i)/float64(cells-1)) }, 0},
	{"2 %, of one cell 10 %", func(i, cells int) float64 { return map[bool]float64{true: 0.1, false: 0.02}[i == cells-1] }, 0},
	{"2 %, and one run of ten loses 30 %", func(int, int) float64 { return 0.02 }, 0.1},
}

// TestStudies writes the table of docs/studies.md: the shares of studies that tell a value from the best one, with the noise of each
// cell alone and as it is now, without an effect and when one cell is 10 % better.
func TestStudies(t *testing.T) {
	s := seeded(13)
	var table strings.Builder
	for _, cells := range []int{2, 3, 4, 9} {
		for kind, noise := range noises {
			var columns [4][]string // without and with an effect, before and now
			for _, n := range []int{2, 3, 5} {
				for effect, better := range []float64{1, 1.1} {
					var before, now int
					for range *trials {
						groups := make([][]float64, cells)
						for i := range groups {
							level := map[bool]float64{true: better, false: 1}[i == 0]
							groups[i] = s.runs(n, level, noise.spread(i, cells))
							for j := range groups[i] {
								if s.Float64() < noise.outliers {
									groups[i][j] *= 0.7
								}
							}
						}
						_, standings := must.Both(alikeBest(groups, inference.Highest, alpha))(t)
						for _, st := range standings {
							if !st.Alike {
								now++
								break
							}
						}
						if welch(groups) {
							before++
						}
					}
					for i, count := range []int{before, now} {
						columns[2*effect+i] = append(columns[2*effect+i], fmt.Sprintf("%.0f", 100*float64(count)/float64(*trials)))
					}
					if told := float64(now) / float64(*trials); effect == 0 && told > alpha+tolerance(alpha, *trials) {
						t.Errorf("%d cells of %d runs, %s: %v of the studies name a difference, and there is none", cells, n, noise.name, told)
					} else if effect == 1 && kind == 0 && cells > 2 && now < before {
						t.Errorf("%d cells of %d runs, %s: %d of %d see an effect, and %d do by their own noise", cells, n, noise.name, now, *trials, before)
					}
				}
			}
			fmt.Fprintf(&table, "| %d | %s |", cells, noise.name)
			for _, c := range columns {
				fmt.Fprintf(&table, " %s |", strings.Join(c, ", "))
			}
			table.WriteString("\n")
		}
	}
	t.Log("\n" + table.String())
}

// The first example of the tests of R's package usl, which finds a = b = 0.02.
func TestUSLAgreesWithR(t *testing.T) {
	s := must.Have(inference.USL([]float64{1, 2, 4, 6, 8, 10}, []float64{1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557}, alpha))(t)
	near(t, "g", s.Gamma, 1, 1e-4)
	near(t, "a", s.Alpha, 0.02, 1e-4)
	near(t, "b", s.Beta, 0.02, 1e-4)
	near(t, "peak", s.Peak.Value, 7, 1e-3)
	near(t, "X(7)", s.At(7), 3.5714, 1e-3)
}

// SPEC SDM91 of Gunther's book. R's usl, which weights absolute errors, finds a peak at 96.5.
func TestUSLIntervalHoldsTheBooksPeak(t *testing.T) {
	s := must.Have(inference.USL([]float64{1, 18, 36, 72, 108, 144, 216}, []float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2}, alpha))(t)
	near(t, "peak", s.Peak.Value, 96.5, 5)
	must.True(t, s.Peak.Low <= 96.5 && s.Peak.High >= 96.5 && s.Noise >= 0.03 && s.Noise <= 0.15, "%+v", s)
}

func TestUSLIntervalHoldsThePeak(t *testing.T) {
	r := seeded(20)
	n := []float64{1, 5, 10, 20, 40, 60, 80}
	for _, peak := range []float64{20, 40} {
		truth := inference.Scaling{Gamma: 50000, Alpha: 0.02, Beta: 0.98 / peak / peak}
		const trials = 2000
		held := share(trials, func() bool {
			x := make([]float64, len(n))
			for i := range n {
				x[i] = truth.At(n[i]) * (1 + 0.03*r.NormFloat64())
			}
			s, err := inference.USL(n, x, alpha)
			return err == nil && s.Peak.Low <= peak && peak <= s.Peak.High
		})
		near(t, "share held", held, 0.95, 0.01+tolerance(0.05, trials))
	}
}

func TestUSLRefusesToExtrapolate(t *testing.T) {
	n := []float64{1, 2, 4, 8, 16, 32}
	curve := func(s inference.Scaling) []float64 {
		x := make([]float64, len(n))
		for i := range n {
			x[i] = s.At(n[i])
		}
		return x
	}
	for _, r := range []struct {
		what string
		n, x []float64
		want error
	}{
		{"linear", n, []float64{10, 20, 40, 80, 160, 320}, inference.ErrNoPeak},
		{"saturates", n, curve(inference.Scaling{Gamma: 10, Alpha: 0.1}), inference.ErrNoPeak},
		{"peak at 100, beyond the last point", n, curve(inference.Scaling{Gamma: 10, Alpha: 0.01, Beta: 0.99e-4}), inference.ErrNoPeak},
		{"falls from the first point on", n, curve(inference.Scaling{Gamma: 10, Alpha: 1.2, Beta: 0.01}), inference.ErrNoPeak},
		{"a fall within noise", n, []float64{10, 19, 41, 62, 60, 70}, inference.ErrNoPeak},
		{"five points", n[:5], []float64{1, 2, 3, 3, 2}, inference.ErrFewPoints},
		{"six runs at three points", []float64{1, 1, 2, 2, 4, 4}, []float64{1, 1, 2, 2, 3, 3}, inference.ErrFewPoints},
		{"no throughput", n, []float64{1, 2, 3, 4, 0, 1}, inference.ErrNotPositive},
	} {
		s, err := inference.USL(r.n, r.x, alpha)
		must.True(t, errors.Is(err, r.want) && s.Peak == (inference.Estimate{}), "%s: %+v, %v, want %v", r.what, s, err, r.want)
	}
	s, _ := inference.USL(n, curve(inference.Scaling{Gamma: 10, Alpha: 0.1}), alpha)
	near(t, "curve without a peak", s.At(20), 10*20/2.9, 1e-6)
	_, err := inference.USL(n, n[:3], alpha)
	must.True(t, err != nil, "three throughputs for six numbers of workers are accepted")
}
