package inference

import (
	"cmp"
	"math"
	"slices"
)

// Gain returns by how much settings a are better than b, as a difference of logarithms, and the standard deviation of that.
func (s *Surface) Gain(a, b []int) (mean, deviation float64) {
	like := s.likeness(a)
	for i, other := range s.likeness(b) {
		like[i] = like[i].minus(other)
	}
	itself := s.alike(a, a).minus(s.alike(a, b)).minus(s.alike(a, b).minus(s.alike(b, b)))
	return s.value.meanOf(like) * s.unit, s.value.deviation(like, itself) * s.unit
}

// Holds returns how sure it is, from 0 to 1, that settings keep every limit.
func (s *Surface) Holds(a []int) float64 {
	sure, like := 1.0, s.likeness(a)
	for _, p := range s.limits {
		sure *= below((p.mean + p.meanOf(like)) / max(p.deviation(like, s.alike(a, a)), 1e-9))
	}
	return sure
}

// below is the share of a standard normal distribution that is below z.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Best returns the settings that seem best of those that were sampled, and of those that a walk from there leads to, which changes one or
// two settings at each step. Where none keeps the limits, it is the most likely to. left reports whether settings cannot be had.
func (s *Surface) Best(left func([]int) bool) (best []int) {
	var value, sure float64
	try := func(a []int) bool {
		v := s.value.meanOf(s.likeness(a))
		if best != nil && sure >= likely && v <= value+1e-9 || left(a) {
			return false
		}
		holds := s.Holds(a)
		if best != nil && min(holds, sure) < likely && holds <= sure+1e-9 {
			return false
		}
		best, value, sure = a, v, holds
		return true
	}
	for _, one := range s.samples {
		try(one.At)
	}
	for moved := best != nil; moved; {
		moved = false
		for _, a := range s.near(best) {
			moved = try(a) || moved
		}
	}
	return best
}

// near returns what differs from some settings in one or two of them.
func (s *Surface) near(a []int) (all [][]int) {
	for i := range a {
		for _, one := range s.others(a, i) {
			all = append(all, one)
			for j := range i {
				all = append(all, s.others(one, j)...)
			}
		}
	}
	return all
}

// others returns settings with each other level of one of them.
func (s *Surface) others(a []int, i int) (all [][]int) {
	for level := range s.settings[i].Levels {
		if level != a[i] {
			b := slices.Clone(a)
			b[i] = level
			all = append(all, b)
		}
	}
	return all
}

// Next returns up to n settings that are the most likely to be better than the best, each as if those before it were measured: of those
// that differ from it in one or two settings and of those that were sampled, and of what a walk from there leads to. none: nothing within
// reach is likely to be better by more than a share of tell. left reports whether settings cannot be had. It changes the surface.
//
// Source: expected improvement, times the chance that the limits hold (Gardner and others, Bayesian Optimization with
// Inequality Constraints, ICML 2014).
func (s *Surface) Next(best []int, n int, tell float64, left func([]int) bool) (next [][]int) {
	starts := s.near(best)
	if len(starts) > mostStarts {
		means := make(map[*int]float64) // by the place of the first level
		for _, a := range starts {
			means[&a[0]] = s.value.meanOf(s.likeness(a))
		}
		slices.SortStableFunc(starts, func(a, b []int) int { return cmp.Compare(means[&b[0]], means[&a[0]]) })
		starts = starts[:mostStarts]
	}
	for _, one := range s.samples {
		starts = append(starts, one.At)
	}
	s.believe(best)
	for range n {
		var at []int
		most := tell
		try := func(a []int) bool {
			if slices.Equal(a, best) || left(a) || slices.ContainsFunc(next, func(b []int) bool { return slices.Equal(a, b) }) {
				return false
			}
			gain, deviation := s.Gain(a, best)
			z := gain / max(deviation, 1e-9)
			expected := deviation * (z*below(z) + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
			if expected <= most {
				return false
			}
			if expected *= s.Holds(a); expected <= most {
				return false
			}
			most, at = expected*(1+1e-9), a
			return true
		}
		for _, a := range starts {
			try(a)
		}
		for moved := at != nil; moved; {
			moved = false
			for i, from := 0, at; i < len(from); i++ {
				for _, a := range s.others(from, i) {
					moved = try(a) || moved
				}
			}
		}
		if at == nil {
			break
		}
		next = append(next, at)
		s.believe(at)
	}
	return next
}
