package chart

import "math"

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

// Resample spreads samples, which are in order of time, over n places between
// two times. A place that no sample covers, or none but NaN, is NaN: a gap.
//
// A place takes the samples whose middle it holds; where there is none, the one
// that covers its own middle. So no sample is counted at two places while the
// places are longer than the samples, and none leaves holes when they are
// shorter.
func Resample(samples []Sample, from, to float64, n int, combine Combine) []float64 {
	out := make([]float64, max(n, 0))
	if n <= 0 || !(to > from) {
		for i := range out {
			out[i] = math.NaN()
		}
		return out
	}
	width := (to - from) / float64(n)
	next, cover := 0, 0
	for i := range out {
		a, b := from+width*float64(i), from+width*float64(i+1)
		sum, top, count := 0.0, math.Inf(-1), 0
		for ; next < len(samples) && mid(samples[next]) < b; next++ {
			if s := samples[next]; mid(s) >= a && !math.IsNaN(s.Value) {
				sum, top, count = sum+s.Value, max(top, s.Value), count+1
			}
		}
		if count > 0 {
			out[i] = combine(sum, top, count)
			continue
		}
		center := (a + b) / 2
		for cover < len(samples) && samples[cover].End <= center {
			cover++
		}
		out[i] = math.NaN()
		if cover < len(samples) && samples[cover].Start <= center {
			out[i] = samples[cover].Value
		}
	}
	return out
}

func mid(s Sample) float64 { return (s.Start + s.End) / 2 }
