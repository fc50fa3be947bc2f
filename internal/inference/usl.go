package inference

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrFewPoints says that a curve was measured at too few different points to be fitted.
	ErrFewPoints = errors.New("too few points")
	// ErrNoPeak says that no peak lies within what was measured, or that it cannot be told
	// from noise. The fitted curve holds between the points measured and not beyond.
	ErrNoPeak = errors.New("no peak within what was measured")
)

// uslPoints is how many different N a fit needs (Gunther, Guerrilla Capacity Planning, 2007, chapter 5).
const uslPoints = 6

// Scaling is the Universal Scalability Law fitted to throughput X at N workers:
//
//	X(N) = gN / (1 + a(N-1) + bN(N-1))
type Scaling struct {
	Gamma float64  `json:"gamma"` // g: throughput of one worker
	Alpha float64  `json:"alpha"` // a: contention, the share of work that is serial
	Beta  float64  `json:"beta"`  // b: crosstalk, the cost of each pair of workers
	Noise float64  `json:"noise"` // relative standard deviation of X around the curve
	Peak  Estimate `json:"peak"`  // the N of the highest X; the zero Estimate if there is no peak
}

// At returns X(n).
func (s Scaling) At(n float64) float64 {
	return s.Gamma * n / (1 + s.Alpha*(n-1) + s.Beta*n*(n-1))
}

// USL fits the law to throughput x[i] at n[i] workers, several runs at one n allowed. It
// needs 6 different n, and points beyond the peak. It returns ErrFewPoints, ErrNotPositive,
// or the curve with ErrNoPeak. The peak is not extrapolated: its Value lies between the smallest
// and largest n. A High beyond the largest says that the fall is barely seen.
//
// N/X is a quadratic in N, so linear least squares fit it, weighted for noise that grows with X.
// The peak is at N² = (1-a)/b, the ratio of two of its coefficients, whose interval is
// Fieller's.
//
// Source: Gunther, Guerrilla Capacity Planning (2007); Fieller, Journal of the Royal
// Statistical Society B 16 (1954) 175–185.
func USL(n, x []float64, alpha float64) (Scaling, error) {
	if len(n) != len(x) {
		return Scaling{}, fmt.Errorf("%d numbers of workers and %d throughputs", len(n), len(x))
	}
	for i := range n {
		if !(n[i] > 0 && x[i] > 0) || math.IsInf(n[i]+x[i], 1) {
			return Scaling{}, ErrNotPositive
		}
	}
	levels := slices.Compact(slices.Sorted(slices.Values(n)))
	if len(levels) < uslPoints {
		return Scaling{}, fmt.Errorf("%w: %d, want %d", ErrFewPoints, len(levels), uslPoints)
	}
	c, v := quadratic(n, x)
	g := 1 / (c[0] + c[1] + c[2])
	s := Scaling{Gamma: g, Alpha: g * (c[1] + c[2]), Beta: g * c[2]}
	var squares float64
	for i := range n {
		e := x[i]/s.At(n[i]) - 1
		squares += e * e
	}
	df := float64(len(n) - 3)
	s.Noise = math.Sqrt(squares / df)
	e, found := peak(c, v, s.Noise*quantile(1-alpha/2, df))
	if !found || e.Value < levels[0] || e.Value > levels[len(levels)-1] {
		return s, fmt.Errorf("%w: N from %g to %g", ErrNoPeak, levels[0], levels[len(levels)-1])
	}
	s.Peak = e
	s.Peak.Coverage, s.Peak.N = 1-alpha, len(n)
	return s, nil
}

// quadratic fits N/X = c0 + c1 N + c2 N² by least relative errors. It returns c, and its covariance for a noise of 1.
func quadratic(n, x []float64) (c [3]float64, v [3][3]float64) {
	largest := slices.Max(n)
	scale := [3]float64{1, largest, largest * largest} // columns of one size keep the sums accurate
	m := square(3, 3)                                  // of the normal equations
	var sums [3]float64                                // their right sides
	for i := range n {
		u := n[i] / largest
		weight := x[i] / n[i]
		row := [3]float64{weight, weight * u, weight * u * u}
		for j := range row {
			sums[j] += row[j]
			for k := range row {
				m[j][k] += row[j] * row[k]
			}
		}
	}
	invert(m)
	for j := range v {
		for k := range v {
			c[j] += m[j][k] * sums[k] / scale[j]
			v[j][k] = m[j][k] / scale[j] / scale[k]
		}
	}
	return c, v
}

// peak returns the N of the highest X with Fieller's interval, and reports whether there
// is one. N/(c0 + c1 N + c2 N²) is highest where c0 = c2 N². The interval holds each N at which
// the two sides differ by at most t times the standard error of their difference.
func peak(c [3]float64, v [3][3]float64, t float64) (Estimate, bool) {
	// kM² - 2lM + m <= 0 for M = N²
	k, l, m := c[2]*c[2]-t*t*v[2][2], c[0]*c[2]-t*t*v[0][2], c[0]*c[0]-t*t*v[0][0]
	if c[0] <= 0 || c[2] <= 0 || k <= 0 {
		return Estimate{}, false
	}
	root := math.Sqrt(max(0, l*l-k*m))
	return Estimate{
		Value: math.Sqrt(c[0] / c[2]),
		Low:   math.Sqrt(max(0, (l-root)/k)),
		High:  math.Sqrt((l + root) / k),
	}, true
}
