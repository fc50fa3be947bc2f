package inference

import (
	"errors"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

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

// within reports whether the whole interval lies in low to high.
func (e Estimate) within(low, high float64) bool { return low <= e.Low && e.High <= high }

// ratio turns an estimate of a difference of logarithms into one of a ratio.
func (e Estimate) ratio() Estimate {
	exp := func(x float64) float64 { return min(math.Exp(x), max(x, math.MaxFloat64)) } // JSON has no infinity: only from nothing it is one
	e.Value, e.Low, e.High = exp(e.Value), exp(e.Low), exp(e.High)
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

// quantile returns the value of Student's distribution with df degrees of freedom that
// a share p of it lies below.
func quantile(p, df float64) float64 { return stats.InvCDF(stats.TDist{V: df})(p) }
