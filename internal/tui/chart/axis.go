package chart

import (
	"iter"
	"math"
)

// Axis maps values to heights.
type Axis struct {
	Min, Max float64
	Log      bool
	Ticks    []float64 // from the lowest up
}

// Linear returns an axis from 0 to a round number that is at least top, in about n
// steps.
func Linear(top float64, n int) Axis {
	a := Axis{Max: RoundUp(top)}
	most := 4 // steps of which each tick is a round number
	if mantissa := a.Max / math.Pow(10, math.Floor(math.Log10(a.Max)+1e-9)); mantissa > 2.2 && mantissa < 2.8 || mantissa > 4.5 && mantissa < 5.5 {
		most = 5
	}
	for _, d := range []int{most, 2, 1} {
		if d > max(n, 1) {
			continue
		}
		for i := 0; i <= d; i++ {
			a.Ticks = append(a.Ticks, a.Max*float64(i)/float64(d))
		}
		break
	}
	return a
}

// RoundUp returns the next number of the kind 1, 2, 2.5 or 5 times a power of ten; 1
// for what is not a positive number.
func RoundUp(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) || v > 1e300 || v < 1e-300 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Decades returns a logarithmic axis over whole decades that holds both values, and
// two decades at least: in less, noise fills the chart.
func Decades(lo, hi float64) Axis {
	const smallest, largest = 1e-9, 1e9
	lo, hi = clampPositive(lo, smallest, largest), clampPositive(hi, smallest, largest)
	from := int(math.Floor(math.Log10(min(lo, hi)) + 1e-9))
	to := int(math.Ceil(math.Log10(max(lo, hi)) - 1e-9))
	if to-from < 2 {
		to = from + 2
	}
	a := Axis{Log: true, Min: math.Pow10(from), Max: math.Pow10(to)}
	for e := from; e <= to; e++ {
		a.Ticks = append(a.Ticks, math.Pow10(e))
	}
	return a
}

func clampPositive(v, smallest, largest float64) float64 {
	if !(v > smallest) {
		return smallest
	}
	return min(v, largest)
}

// Pos returns where a value lies between the ends of the axis, from 0 to 1; what is
// outside is taken to the nearer end. NaN stays NaN.
func (a Axis) Pos(v float64) float64 {
	p := (v - a.Min) / (a.Max - a.Min)
	if a.Log {
		p = math.Log(v/a.Min) / math.Log(a.Max/a.Min)
		if v <= 0 {
			p = 0
		}
	}
	if math.IsNaN(v) || math.IsNaN(p) {
		return math.NaN()
	}
	return min(max(p, 0), 1)
}

// visibleTicks returns the ticks that have a row of their own in a chart of so many
// rows, by row from the top. Where they crowd, only every second stays, or every
// third, and so on; on a linear axis such that the lowest does.
func (a Axis) visibleTicks(rows int) map[int]float64 {
	const apart = 2 // rows, so that labels can be told from each other
	shown := make(map[int]float64, len(a.Ticks))
	if rows < 1 || len(a.Ticks) == 0 {
		return shown
	}
	steps, step := len(a.Ticks)-1, 1
	for step < steps && (steps*apart > (rows-1)*step || !a.Log && steps%step != 0) {
		step++
	}
	for i := len(a.Ticks) - 1; i >= 0; i -= step {
		row := tickRow(a.Pos(a.Ticks[i]), rows)
		if _, taken := shown[row]; !taken {
			shown[row] = a.Ticks[i]
		}
	}
	return shown
}

// tickRow returns the row of a position: 1 is the middle of the first row, 0 that of
// the last.
func tickRow(pos float64, rows int) int {
	if math.IsNaN(pos) {
		return rows - 1
	}
	return int(math.Round((1 - pos) * float64(rows-1)))
}

// Sample is a value that held for some time.
type Sample struct {
	Start, End float64 // seconds
	Value      float64 // NaN: none
}

// Combine is how the samples that fall on one place become one.
type Combine func(sum, max float64, n int) float64

// Mean is for rates.
func Mean(sum, _ float64, n int) float64 { return sum / float64(n) }

// Max is for latencies: a mean would hide the spike that is looked for.
func Max(_, max float64, _ int) float64 { return max }

// Places spreads n samples, of which span returns the times and which are in order of time, over places between two times. It yields
// each place with the range of its samples, which may be empty.
//
// A place takes the samples whose middle it holds; where there is none, the one that covers its own middle. So no sample is counted
// at two places while the places are longer than the samples, and none leaves holes when they are shorter.
func Places(n int, span func(i int) (start, end float64), from, to float64, places int) iter.Seq2[int, [2]int] {
	return func(yield func(int, [2]int) bool) {
		width := (to - from) / float64(places)
		middle := func(i int) float64 { start, end := span(i); return (start + end) / 2 }
		next, cover := 0, 0
		for place := range places {
			a, b := from+width*float64(place), from+width*float64(place+1)
			for next < n && middle(next) < min(a, b) {
				next++
			}
			held := [2]int{next, next}
			for ; next < n && middle(next) < b; next++ {
				held[1] = next + 1
			}
			if held[0] == held[1] {
				for ; cover < n; cover++ {
					if start, end := span(cover); end > (a+b)/2 {
						if start <= (a+b)/2 {
							held = [2]int{cover, cover + 1}
						}
						break
					}
				}
			}
			if !yield(place, held) {
				return
			}
		}
	}
}

// Resample combines the samples of each of n places between two times. A place without one, or with none but NaN, is NaN: a gap.
func Resample(samples []Sample, from, to float64, n int, combine Combine) []float64 {
	out := make([]float64, max(n, 0))
	for i := range out {
		out[i] = math.NaN()
	}
	if n <= 0 || !(to > from) {
		return out
	}
	span := func(i int) (start, end float64) { return samples[i].Start, samples[i].End }
	for i, held := range Places(len(samples), span, from, to, n) {
		sum, top, count := 0.0, math.Inf(-1), 0
		for _, s := range samples[held[0]:held[1]] {
			if !math.IsNaN(s.Value) {
				sum, top, count = sum+s.Value, max(top, s.Value), count+1
			}
		}
		if count > 0 {
			out[i] = combine(sum, top, count)
		}
	}
	return out
}
