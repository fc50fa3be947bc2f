package inference

import (
	"math"
	"slices"
)

// Setting is what may be set to one of several levels, which are numbered from 0.
type Setting struct {
	Levels  int
	Ordered bool // a level is more like its neighbours than like others
}

// Sample is what was measured once with some settings: At has a level of each.
type Sample struct {
	At    []int
	Value float64   // a logarithm; more is better
	Slack []float64 // of each limit: the logarithm of what was left of it; below 0: it was broken
}

// Surface is how a value depends on settings: a Gaussian process that is the sum of a mean, of an effect of each setting and of each
// pair of settings, of a rest, and of drift over time. Samples are in the order in which they were taken.
//
// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1, and for sums of effects
// Duvenaud, Nickisch and Rasmussen, Additive Gaussian Processes (NIPS 2011).
type Surface struct {
	settings []Setting
	samples  []Sample
	value    *process
	slack    []*process // of each limit
}

// NewSurface returns the surface that explains some samples best. All have as many slacks.
func NewSurface(settings []Setting, samples []Sample) *Surface {
	s := &Surface{settings: settings, samples: samples}
	of := func(read func(Sample) float64) *process {
		ys := make([]float64, len(samples))
		for i, one := range samples {
			ys[i] = read(one)
		}
		return s.fit(ys)
	}
	s.value = of(func(one Sample) float64 { return one.Value })
	for i := range samples[0].Slack {
		s.slack = append(s.slack, of(func(one Sample) float64 { return one.Slack[i] }))
	}
	return s
}

// scales are standard deviations of logarithms: of the noise of a run, and of what settings, pairs, all of them and drift do.
type scales struct{ noise, main, pair, rest, drift float64 }

// process is a surface of one value with its scales.
type process struct {
	scales

	mean   float64
	factor [][]float64 // Cholesky's, of the covariance of the samples
	z      []float64
	fit    float64 // logarithm of the likelihood, with weak beliefs of the scales
}

const (
	reach      = 0.4 // share of the levels of an ordered setting over which its effect changes
	driftReach = 0.3 // share of the samples over which drift changes

	typicalNoise = 0.03 // of a run; beliefs of the scales have it in their middle
	apart        = 1e9  // from all samples in time: without their drift
)

// alike returns how much two levels are alike, from 0 to 1.
func (s Setting) alike(a, b int) float64 {
	switch {
	case a == b:
		return 1
	case !s.Ordered:
		return 0
	}
	d := float64(a-b) / float64(s.Levels-1) / reach
	return math.Exp(-d * d / 2)
}

func (s *Surface) covariance(h scales, a, b []int, time float64) float64 {
	sum, all, squares := 0.0, 1.0, 0.0
	for i, setting := range s.settings {
		c := setting.alike(a[i], b[i])
		sum, squares, all = sum+c, squares+c*c, all*c
	}
	time /= driftReach
	return 1 + h.main*h.main*sum + h.pair*h.pair*(sum*sum-squares)/2 + h.rest*h.rest*all + h.drift*h.drift*math.Exp(-time*time/2)
}

// fit returns the process of some values whose scales explain them best.
func (s *Surface) fit(ys []float64) (best *process) {
	for _, noise := range []float64{0.01, 0.02, 0.035, 0.05, 0.075, 0.1} {
		for _, main := range []float64{0.02, 0.06, 0.15, 0.3} {
			for _, pair := range []float64{0.005, 0.03, 0.1} {
				for _, drift := range []float64{0, 0.05} {
					p := s.process(scales{noise, main, pair, pair / 2, drift}, ys)
					p.fit -= math.Pow(math.Log(noise/typicalNoise)/0.7, 2)/2 + math.Pow(math.Log(pair/typicalNoise)/1.5, 2)/2
					if best == nil || p.fit > best.fit {
						best = p
					}
				}
			}
		}
	}
	return best
}

func (s *Surface) process(h scales, ys []float64) *process {
	n := len(ys)
	p := &process{scales: h, mean: middle(slices.Sorted(slices.Values(ys))), factor: square(n, n)}
	rest := make([]float64, n)
	for i := range n {
		for j := range i + 1 {
			p.factor[i][j] = s.covariance(h, s.samples[i].At, s.samples[j].At, float64(i-j)/float64(n))
		}
		p.factor[i][i] += h.noise * h.noise
		rest[i] = ys[i] - p.mean
	}
	cholesky(p.factor)
	p.z = p.forward(rest)
	for i, z := range p.z {
		p.fit -= z*z/2 + math.Log(p.factor[i][i])
	}
	return p
}

// cholesky makes a positive definite matrix, of which the lower half is given, its factor.
func cholesky(m [][]float64) {
	for i := range m {
		for j := range i + 1 {
			sum := m[i][j]
			for k := range j {
				sum -= m[i][k] * m[j][k]
			}
			if i == j {
				m[i][i] = math.Sqrt(max(sum, 1e-12))
			} else {
				m[i][j] = sum / m[j][j]
			}
		}
	}
}

// forward solves factor x = b.
func (p *process) forward(b []float64) []float64 {
	x := make([]float64, len(b))
	for i := range b {
		sum := b[i]
		for k := range i {
			sum -= p.factor[i][k] * x[k]
		}
		x[i] = sum / p.factor[i][i]
	}
	return x
}

// Gain returns by how much settings a are better than b, as a difference of logarithms, and the standard deviation of that.
func (s *Surface) Gain(a, b []int) (mean, deviation float64) {
	p := s.value
	k := make([]float64, len(s.samples))
	for i, one := range s.samples {
		k[i] = s.covariance(p.scales, a, one.At, apart) - s.covariance(p.scales, b, one.At, apart)
	}
	variance := s.covariance(p.scales, a, a, apart) + s.covariance(p.scales, b, b, apart) - 2*s.covariance(p.scales, a, b, apart)
	for i, v := range p.forward(k) {
		mean, variance = mean+v*p.z[i], variance-v*v
	}
	return mean, math.Sqrt(max(variance, 0))
}

// Holds returns how sure it is, from 0 to 1, that settings keep every limit.
func (s *Surface) Holds(a []int) float64 {
	sure := 1.0
	for _, p := range s.slack {
		k := make([]float64, len(s.samples))
		for i, one := range s.samples {
			k[i] = s.covariance(p.scales, a, one.At, apart)
		}
		mean, variance := p.mean, s.covariance(p.scales, a, a, apart)
		for i, v := range p.forward(k) {
			mean, variance = mean+v*p.z[i], variance-v*v
		}
		sure *= below(mean / math.Sqrt(max(variance, 1e-12)))
	}
	return sure
}

// below is the share of a standard normal distribution that is below z.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// likely is how sure it must be that the limits hold at the best settings.
const likely = 0.5

// Best returns the settings that seem best of those that were sampled, and of those that a walk of single steps from there leads to.
// Where none keeps the limits, it is the most likely to. left reports whether settings cannot be had.
func (s *Surface) Best(left func([]int) bool) []int {
	best := s.samples[0].At
	better := func(a []int) bool {
		x, y := s.Holds(a), s.Holds(best)
		if x < likely || y < likely {
			return x > y
		}
		gain, _ := s.Gain(a, best)
		return gain > 1e-9
	}
	for _, one := range s.samples {
		if better(one.At) {
			best = one.At
		}
	}
	for moved := true; moved; {
		moved = false
		for _, a := range s.near(best) {
			if !left(a) && better(a) {
				best, moved = a, true
			}
		}
	}
	return best
}

// near returns what differs from some settings in one of them.
func (s *Surface) near(a []int) (all [][]int) {
	for i, setting := range s.settings {
		for level := range setting.Levels {
			if level != a[i] {
				b := slices.Clone(a)
				b[i] = level
				all = append(all, b)
			}
		}
	}
	return all
}

// Next returns up to n settings that are the most likely to be better than the best: those that differ from it in one or two settings,
// and those that were sampled. none: nothing within reach is likely to be better by more than a share of tell. left reports whether
// settings cannot be had.
//
// Source: expected improvement, times the chance that the limits hold (Gardner and others, Bayesian Optimization with
// Inequality Constraints, ICML 2014).
func (s *Surface) Next(best []int, n int, tell float64, left func([]int) bool) (next [][]int) {
	type candidate struct {
		at   []int
		gain float64
	}
	var all []candidate
	seen := [][]int{best}
	add := func(a []int) {
		if left(a) || slices.ContainsFunc(seen, func(b []int) bool { return slices.Equal(a, b) }) {
			return
		}
		seen = append(seen, a)
		gain, deviation := s.Gain(a, best)
		z := gain / max(deviation, 1e-9)
		expected := deviation * (z*below(z) + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)) * s.Holds(a)
		all = append(all, candidate{a, expected})
	}
	for _, a := range s.near(best) {
		add(a)
	}
	for _, one := range s.samples {
		add(one.At)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		switch {
		case a.gain > b.gain:
			return -1
		case a.gain < b.gain:
			return 1
		}
		return 0
	})
	for _, c := range all[:min(n, len(all))] {
		if c.gain > tell {
			next = append(next, c.at)
		}
	}
	return next
}
