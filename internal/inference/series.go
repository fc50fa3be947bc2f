package inference

import (
	"errors"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

const (
	batch = 5 // seconds, the five of MSER-5
	// Shortest is the length of the shortest series that can be judged, in seconds.
	Shortest = 30
)

// ErrShort says that a run is too short to judge how it went on.
var ErrShort = errors.New("shorter than 30 s")

// means returns the mean of each size values of series, without an incomplete last one.
func means(series []float64, size int) []float64 {
	out := make([]float64, 0, len(series)/size)
	for chunk := range slices.Chunk(series, size) {
		if len(chunk) == size {
			out = append(out, stats.Mean(chunk))
		}
	}
	return out
}

// Roughness returns the coefficient of variation of the 5-second means of a run's throughput
// in each second, 0 or more. It returns ErrShort, or ErrNotPositive if the mean is not.
func Roughness(series []float64) (float64, error) {
	if len(series) < Shortest {
		return 0, ErrShort
	}
	m := means(series, batch)
	mean := stats.Mean(m)
	if !(mean > 0) {
		return 0, ErrNotPositive
	}
	return stats.StdDev(m) / mean, nil
}

// Lag1 returns the correlation of each value with the next, -1 to 1. It returns 0 for
// a constant series. Beyond ±0.3 or so, values are far from independent.
//
// Source: Box and Jenkins, Time Series Analysis (1970), 2.1.
func Lag1(series []float64) float64 {
	if len(series) < 2 {
		return 0
	}
	mean := stats.Mean(series)
	var products, squares float64
	for i, x := range series {
		squares += (x - mean) * (x - mean)
		if i > 0 {
			products += (x - mean) * (series[i-1] - mean)
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}

// MSER5 returns how many values to cut off the start of a series so that the mean of the rest
// has the smallest standard error: a multiple of 5, at most half of the series. It
// reports false if a longer cut would be better still, or the series is shorter than Shortest.
// Then no warm-up is found: the series has none that ends, or noise hides it.
//
// Source: White, Cobb and Spratt, Proc. Winter Simulation Conference 2000, 755–760; the last
// five batches are no candidates (Hoad, Robinson and Davies, WSC 2008, 532–540).
func MSER5(series []float64) (cut int, found bool) {
	m := means(series, batch)
	if len(series) < Shortest {
		return 0, false
	}
	// From the end, so that each mean and sum of squares grows from the last (Welford).
	var mean, squares float64
	late, least := math.Inf(1), math.Inf(1) // of the second half, and of the first
	for d := len(m) - 1; d >= 0; d-- {
		n := float64(len(m) - d)
		delta := m[d] - mean
		mean += delta / n
		squares += delta * (m[d] - mean)
		switch variance := squares / (n * n); {
		case n <= batch:
		case 2*d > len(m):
			late = min(late, variance)
		case variance <= least:
			least, cut = variance, d*batch
		}
	}
	return cut, least <= late
}

// Change is the most likely moment at which the level of a series changed.
type Change struct {
	At     int     `json:"at"` // index of the first value of the new level
	P      float64 `json:"p"`  // of so much difference without a change
	Before float64 `json:"before"`
	After  float64 `json:"after"` // medians
}

// ChangePoint finds one change of level. P is approximate, and good below 0.5. Neighbours that
// are alike count as fewer values, by their Lag1 around the two levels. A series of less than
// four values gives P 1.
//
// Source: Pettitt, Applied Statistics 28 (1979) 126–135; ranks as in Verstraeten et al., Journal
// of Geophysical Research 111 (2006) D22109; effective number of values as in Yue and Wang,
// Water Resources Management 18 (2004) 201–218.
func ChangePoint(series []float64) Change {
	n := len(series)
	if n < 4 {
		return Change{P: 1}
	}
	var sum, largest float64
	at := 1
	for i, rank := range ranks(series) {
		sum += 2*rank - float64(n+1)
		if i+1 < n && math.Abs(sum) > largest {
			largest, at = math.Abs(sum), i+1
		}
	}
	before, after := stats.Sample{Xs: series[:at]}.Quantile(0.5), stats.Sample{Xs: series[at:]}.Quantile(0.5)
	rest := make([]float64, n)
	for i, x := range series {
		rest[i] = x - before
		if i >= at {
			rest[i] = x - after
		}
	}
	r := max(0, Lag1(rest))
	t := float64(n)
	exponent := 6 * largest * largest / (t*t*t + t*t) * (1 - r) / (1 + r)
	return Change{At: at, P: min(1, 2*math.Exp(-exponent)), Before: before, After: after}
}

// ranks returns the rank of each value from 1, the mean of theirs for equal ones.
func ranks(xs []float64) []float64 {
	sorted := slices.Sorted(slices.Values(xs))
	out := make([]float64, len(xs))
	for i, x := range xs {
		first, _ := slices.BinarySearch(sorted, x)
		past, _ := slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
		out[i] = float64(first+1+past) / 2
	}
	return out
}

// TheilSen returns the slope of y over x: the median of the slopes of all pairs. It takes
// memory for len(x)²/2 numbers. The zero Estimate is of less than two different x.
//
// Source: Theil (1950); Sen, Journal of the American Statistical Association 63 (1968)
// 1379–1389, with its interval.
func TheilSen(x, y []float64, alpha float64) Estimate {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 {
		return Estimate{}
	}
	slices.Sort(slopes)
	n, pairs := float64(len(x)), float64(len(slopes))
	c := stats.StdNormal.InvCDF(1-alpha/2) * math.Sqrt(n*(n-1)*(2*n+5)/18)
	low, high := int(math.Round((pairs-c)/2))-1, int(math.Round((pairs+c)/2))
	return Estimate{
		Value: middle(slopes), Low: slopes[max(low, 0)], High: slopes[min(high, len(slopes)-1)],
		Coverage: 1 - alpha, N: len(x),
	}
}
