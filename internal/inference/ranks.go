package inference

import (
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
)

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

// HodgesLehmannRatio returns how many times larger b is than a: HodgesLehmann of the
// logarithms. Values must not be negative. The ratio of 0 to a value is 0, that of a value to 0 infinite, and that
// of 0 to 0 is 1. Half of each of the first two give NaN.
func HodgesLehmannRatio(a, b []float64, alpha float64) (Estimate, error) {
	la, err := logs(a, true)
	if err != nil {
		return Estimate{}, err
	}
	lb, err := logs(b, true)
	if err != nil || len(a) == 0 || len(b) == 0 {
		return Estimate{}, err
	}
	return HodgesLehmann(la, lb, alpha).ratio(), nil
}

// uniform is the distribution of Mann-Whitney's U when nothing differs.
func uniform(n1, n2 int) stats.UDist { return stats.UDist{N1: n1, N2: n2} }

// critical returns the largest c for which P(U < c) is at most alpha/2, and the test's
// real size, which is twice that probability. It returns 0 if so few values never show
// a difference.
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
