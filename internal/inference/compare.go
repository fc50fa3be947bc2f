package inference

import (
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
)

// Verdict is what a comparison shows of b against a.
type Verdict string

// The four verdicts.
const (
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
	Alike  Verdict = "alike"           // the difference is at most delta, whatever it is
	TooFew Verdict = "not enough runs" // neither a difference nor likeness is shown
)

// Comparison is two sets of runs in one metric.
type Comparison struct {
	Verdict Verdict  `json:"verdict"`
	Ratio   Estimate `json:"ratio"` // b/a
	P       float64  `json:"p"`
	// Seen is the smallest relative effect that these runs would have shown with 80 %
	// power, given their noise. 0: none, as there are too few.
	Seen float64 `json:"seen"`
	// Repeats is the number of runs a side that shows an effect of delta with 80 % power.
	// 0: not known.
	Repeats int `json:"repeats"`
}

// Compare judges whether b is higher than a, lower, or alike within a share delta
// (0.03: ±3 %), with at most a share alpha of false alarms.
//
// An interval wholly within ±delta is alike, even if it excludes 1: the difference is
// real and does not matter. Three runs a side can be alike; to differ takes four. Delta 0
// never gives alike. One run a side gives the ratio with Coverage 0 and TooFew. A value of 0 is a run that got nothing
// done, and Seen and Repeats are not known beside it. The ratio of 0 to a value is 0, that of a value to 0 infinite, and that
// of 0 to 0 is 1. Half of each of the first two give NaN. Other values that are not positive give ErrNotPositive.
//
// Source: MannWhitney for a difference; HodgesLehmann of the logarithms for the ratio; for likeness two one-sided tests, which ask for
// 1-2·alpha of coverage (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15
// (1987) 657–680).
//
// Several metrics of the same runs are several chances of a false alarm: see Holm.
func Compare(a, b []float64, delta, alpha float64) (Comparison, error) {
	la, err := logs(a, true)
	if err != nil {
		return Comparison{}, err
	}
	lb, err := logs(b, true)
	if err != nil {
		return Comparison{}, err
	}
	spread, _ := Spread(a, b) // 0 beside a value of 0
	c := Comparison{
		Verdict: TooFew, Ratio: HodgesLehmann(la, lb, alpha).ratio(), P: MannWhitney(a, b),
		Seen: Detectable(spread, len(a), len(b), alpha), Repeats: Repeats(spread, delta, alpha),
	}
	switch {
	case delta > 0 && c.Ratio.Coverage > 1-2.001*alpha && 1/(1+delta) <= c.Ratio.Low && c.Ratio.High <= 1+delta:
		c.Verdict = Alike
	case c.P > alpha:
	case c.Ratio.Value > 1:
		c.Verdict = Higher
	case c.Ratio.Value < 1:
		c.Verdict = Lower
	}
	return c, nil
}

// ErrNotPositive says that a value has no logarithm, so no relative effect exists.
var ErrNotPositive = errors.New("not a positive number")

// Estimate is a number between the bounds of its confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Coverage is the probability that such an interval holds the truth, 0 to 1.
	// With few runs it is less than was asked for, and 0 with one.
	Coverage float64 `json:"coverage"`
	N        int     `json:"n"` // how many values it was made of; 0: no estimate
}

// ratio turns an estimate of a difference of logarithms into one of a ratio.
func (e Estimate) ratio() Estimate {
	if e.N > 0 {
		exp := func(x float64) float64 { return min(math.Exp(x), max(x, math.MaxFloat64)) } // JSON has no infinity: only from nothing it is one
		e.Value, e.Low, e.High = exp(e.Value), exp(e.Low), exp(e.High)
	}
	return e
}

// Median returns the median of xs with the interval between two of its values, which
// assumes no distribution. At 95 % it takes 6 values; with fewer, the interval is
// the whole range and Coverage says what that is worth: 75 % for three values.
//
// Source: Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 3.2.
func Median(xs []float64, alpha float64) Estimate {
	n := len(xs)
	if n == 0 {
		return Estimate{}
	}
	sorted := slices.Sorted(slices.Values(xs))
	below := stats.BinomialDist{N: n, P: 0.5} // how many of n values lie below the true median
	k := 1                                    // the interval ends at the k-th value from each side
	for 2*(k+1) <= n && 2*below.CDF(float64(k)) <= alpha {
		k++
	}
	return Estimate{
		Value: middle(sorted), Low: sorted[k-1], High: sorted[n-k],
		Coverage: max(0, 1-2*below.CDF(float64(k-1))), N: n,
	}
}

// middle returns the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// logs returns the logarithms of xs, or ErrNotPositive. With nothing, values may be 0, whose logarithm is -Inf.
func logs(xs []float64, nothing bool) ([]float64, error) {
	out := make([]float64, len(xs))
	for i, x := range xs {
		if !(x > 0 || nothing && x == 0) || math.IsInf(x, 1) {
			return nil, ErrNotPositive
		}
		out[i] = math.Log(x)
	}
	return out, nil
}

// quantile returns the value of Student's distribution with df degrees of freedom that a share p of it lies below.
func quantile(p, df float64) float64 { return stats.InvCDF(stats.TDist{V: df})(p) }

// MannWhitney returns the p value of the two-sided test of whether a or b tends to be larger, without assuming a
// distribution. It is exact up to 50 values a side, or 25 with ties, as in benchstat. With fewer than 4 against 4 values it
// cannot fall to 0.05. An empty side gives 1.
//
// Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947) 50–60.
func MannWhitney(a, b []float64) float64 {
	r, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
	if err != nil { // a side is empty, or all values are equal
		return 1
	}
	return min(1, r.P)
}

// HodgesLehmann returns how much larger b is than a: the median of all differences. Its
// interval holds 0 exactly when MannWhitney gives more than alpha, if there are no ties.
//
// Source: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598–611;
// interval by Moses, see Hollander and Wolfe, Nonparametric Statistical Methods, 4.3.
func HodgesLehmann(a, b []float64, alpha float64) Estimate {
	if len(a) == 0 || len(b) == 0 {
		return Estimate{}
	}
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			d := 0.0 // also of two infinite values
			if x != y {
				d = y - x
			}
			differences = append(differences, d)
		}
	}
	slices.Sort(differences)
	c, size := critical(len(a), len(b), alpha)
	if c == 0 {
		c, size = 1, 2*uniform(len(a), len(b)).CDF(0)
	}
	return Estimate{
		Value: middle(differences), Low: differences[c-1], High: differences[len(differences)-c],
		Coverage: max(0, 1-size), N: min(len(a), len(b)),
	}
}

// uniform is the distribution of Mann-Whitney's U when nothing differs.
func uniform(n1, n2 int) stats.UDist { return stats.UDist{N1: n1, N2: n2} }

// critical returns the largest c for which P(U < c) is at most alpha/2, and the test's real size. 0: so few values never differ.
func critical(n1, n2 int, alpha float64) (c int, size float64) {
	half := n1 * n2 / 2
	if max(n1, n2) > stats.MannWhitneyExactLimit {
		sigma := math.Sqrt(float64(n1*n2*(n1+n2+1)) / 12)
		z := stats.StdNormal.InvCDF(1 - alpha/2)
		return max(0, int(float64(n1*n2)/2-z*sigma+0.5)), alpha
	}
	u := uniform(n1, n2)
	c = sort.Search(half, func(c int) bool { return 2*u.CDF(float64(c)) > alpha })
	if c == 0 {
		return 0, 0
	}
	return c, 2 * u.CDF(float64(c-1))
}

const (
	// Power is the probability with which an effect that counts as detectable is seen.
	Power = 0.8

	// efficiency is the number of runs a t-test would need for each run of
	// Mann-Whitney's test under normal noise: 3/π (Lehmann, Nonparametrics, 1975, 2.4).
	efficiency = 3 / math.Pi

	// exactRuns is the number of runs a side from which the normal approximation is good.
	exactRuns = 20
)

// Spread returns the noise between runs of the same settings: the standard deviation of
// logarithms within the groups, which is close to their coefficient of variation. It
// returns 0 if no group has two runs.
func Spread(groups ...[]float64) (float64, error) {
	var sum, df float64
	for _, g := range groups {
		l, err := logs(g, false)
		if err != nil {
			return 0, err
		}
		if len(l) > 1 {
			sum += stats.Variance(l) * float64(len(l)-1)
			df += float64(len(l) - 1)
		}
	}
	if df == 0 {
		return 0, nil
	}
	return math.Sqrt(sum / df), nil
}

// Detectable returns the smallest relative effect that MannWhitney of n1 and n2 runs with
// that spread shows with 80 % power: 0.05 is a rise by 5 %. It returns 0 if none can be
// shown with so few runs, or the spread is not known.
//
// Source: the t-test's power for a sample smaller by Mann-Whitney's efficiency, as G*Power
// calculates it (Faul et al., Behavior Research Methods 39 (2007) 175–191). The size is
// that of the exact test, which is much below alpha when there are few runs.
func Detectable(spread float64, n1, n2 int, alpha float64) float64 {
	c, size := critical(n1, n2, alpha)
	if c == 0 || spread <= 0 {
		return 0
	}
	df := float64(n1+n2)*efficiency - 2
	t := quantile(1-size/2, df) + quantile(Power, df)
	return min(math.MaxFloat64, math.Expm1(t*spread*math.Sqrt((1/float64(n1)+1/float64(n2))/efficiency)))
}

// Repeats returns how many runs a side MannWhitney needs to show a relative effect with
// 80 % power. It returns 0 if the effect or the spread is not positive.
//
// Source: as Detectable; from 20 runs on the normal approximation (Noether, Journal of
// the American Statistical Association 82 (1987) 645–647).
func Repeats(spread, effect, alpha float64) int {
	if spread <= 0 || effect <= 0 {
		return 0
	}
	z := stats.StdNormal.InvCDF(1-alpha/2) + stats.StdNormal.InvCDF(Power)
	needed := int(math.Ceil(min(2*math.Pow(z*spread/math.Log1p(effect), 2)/efficiency, math.MaxInt32)))
	for n := max(needed, 2); n <= exactRuns; n++ { // the exact test never needs fewer
		if seen := Detectable(spread, n, n, alpha); seen > 0 && seen <= effect {
			return n
		}
	}
	return max(needed, exactRuns+1)
}

// RepeatsOfBest returns how many runs of each of some groups [Fit.Best] needs to tell one from the best with 80 % power. It
// returns 0 if the effect or the spread is not positive, or if a thousand are too few.
func RepeatsOfBest(spread, effect float64, groups int, alpha float64) int {
	pairs := float64(groups * (groups - 1) / 2)
	p := 1 - alpha/(4*pairs) // two sides, two tests
	for n := 2; n <= 1000 && spread > 0 && effect > 0; n++ {
		df := float64(groups * (n - 1))
		if (quantile(p, df)+quantile(Power, df))*spread*math.Sqrt(2/float64(n)) <= math.Log1p(effect) {
			return n
		}
	}
	return 0
}
