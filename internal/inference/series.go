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

// Label is how the throughput of one run went on.
type Label string

// The four labels of Barrett et al.
const (
	Flat     Label = "flat"     // steady from the first second on
	WarmUp   Label = "warm-up"  // steady later, and not lower than at first
	Slowdown Label = "slowdown" // lower later than at first, steady or still falling
	None     Label = "none"     // never steady
)

const (
	roughest    = 0.05 // largest coefficient of variation of 5-second means that is steady
	drifting    = 0.02 // smallest change over the whole series that is a drift
	trendPoints = 500  // most points of a trend, whose memory grows with their square
	changeShows = 0.05 // largest p of a change of level that counts
	driftShows  = 0.01 // alpha of the drift's interval, small because neighbours are alike
)

// Steadiness is the label of a run, and the numbers that it follows from.
type Steadiness struct {
	Label Label `json:"label"`
	// WarmUp is how many seconds to leave out so that the rest is steady. It is 0 if
	// nothing has to be left out, and if no rest is steady.
	WarmUp    int      `json:"warmup_seconds"`
	Roughness float64  `json:"roughness"` // of all, or of the rest that is steady
	Drift     Estimate `json:"drift"`     // share of the mean by which it rises over the same seconds
	Change    Change   `json:"change"`    // of all seconds
}

// Stability labels a run by its throughput in each second. Steady means that 5-second means
// vary by at most 5 %, and that no drift of more than 2 % over the whole time can be told from
// noise. The start that may be left out ends where MSER5 or ChangePoint says, and
// at least Shortest seconds must follow. It returns ErrShort or ErrNotPositive.
//
// A run that falls clearly until its end is a slowdown here, and would be none in the paper.
//
// Source: labels of Barrett et al., Virtual Machine Warmup Blows Hot and Cold, OOPSLA 2017.
func Stability(series []float64) (Steadiness, error) {
	all, steady, err := judge(series)
	if err != nil {
		return Steadiness{}, err
	}
	all.Label, all.Change = Flat, ChangePoint(series)
	if steady {
		return all, nil
	}
	first, _ := MSER5(series) // whatever it found is judged by the rest
	cuts := []int{first}
	if all.Change.P <= changeShows {
		cuts = append(cuts, all.Change.At)
	}
	slices.Sort(cuts)
	for _, cut := range cuts {
		rest, steady, err := judge(series[cut:])
		if err != nil || !steady {
			continue
		}
		rest.Label, rest.WarmUp, rest.Change = WarmUp, cut, all.Change
		if stats.Mean(series[:cut]) > (1+drifting)*stats.Mean(series[cut:]) {
			rest.Label = Slowdown
		}
		return rest, nil
	}
	all.Label = None
	if all.Drift.High < 0 && all.Drift.Value < -drifting {
		all.Label = Slowdown
	}
	return all, nil
}

// judge returns the numbers of a series, and reports whether it is steady.
func judge(series []float64) (s Steadiness, steady bool, _ error) {
	r, err := Roughness(series)
	if err != nil {
		return s, false, err
	}
	size := max(batch, (len(series)+trendPoints-1)/trendPoints)
	y := means(series, size)
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i * size)
	}
	s.Roughness, s.Drift = r, TheilSen(x, y, driftShows)
	scale := float64(len(series)) / stats.Mean(series) // of a slope to a share of the mean over the whole series
	s.Drift.Value, s.Drift.Low, s.Drift.High = s.Drift.Value*scale, s.Drift.Low*scale, s.Drift.High*scale
	shown := s.Drift.Low > 0 || s.Drift.High < 0
	steady = r <= roughest && !(shown && max(s.Drift.Value, -s.Drift.Value) > drifting)
	return s, steady, nil
}
