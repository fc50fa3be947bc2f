package inference

import (
	"cmp"
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
	Value float64   // a logarithm; more is better; -Inf: it failed
	Slack []float64 // of each limit: the logarithm of what was left of it; below 0: it was broken; none: they are not known
}

// Surface is how a value depends on settings: a Gaussian process that is the sum of a mean, of an effect of each setting and of each
// pair of settings, of a rest, and of drift over time. Samples are in the order in which they were taken. How much each of these does
// is not known: each belief of it counts by how well it explains the samples. Values far below the others are those of settings that
// fail together, as where a buffer is too small: they say nothing of their neighbours' values, and are as a limit that broke.
//
// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1, and for sums of effects
// Duvenaud, Nickisch and Rasmussen, Additive Gaussian Processes (NIPS 2011).
type Surface struct {
	settings []Setting
	samples  []Sample
	levels   [][][]float64 // of each setting: how much two levels are alike, from 0 to 1
	like     [][]likeness  // of each sample: with those up to itself
	unit     float64       // of value: beliefs of the scales are of values whose upper half is within usual
	value    *process
	limits   []*process // what is left of each; the first one is that nothing fails together
}

// likeness is how much two samples are alike: in the mean, in settings one by one, in pairs of them, in all of them, and in time.
// Scales are variances of these parts.
type likeness [5]float64

const ofDrift = 4 // of the parts

func (l likeness) dot(o likeness) float64 {
	return l[0]*o[0] + l[1]*o[1] + l[2]*o[2] + l[3]*o[3] + l[4]*o[4]
}

func (l likeness) minus(o likeness) likeness {
	for i := range l {
		l[i] -= o[i]
	}
	return l
}

// process is the surface of one value.
type process struct {
	mean    float64
	beliefs []belief   // none: all values are equal
	pull    []likeness // of each sample: what its parts add to the mean of what is like it
}

// belief is a process whose scales are known.
type belief struct {
	scales likeness
	noise  float64     // a variance too
	weight float64     // of all beliefs it is 1
	factor [][]float64 // Cholesky's, of the covariance of the samples
	z      []float64
}

const (
	reach      = 0.4 // share of the levels of an ordered setting over which its effect changes
	driftReach = 15  // runs over which drift changes

	typicalNoise = 0.03 // of a run; beliefs of the scales have it in their middle
	unlikely     = 0.05 // weight against the best belief of one that does not count
	likely       = 0.5  // how sure it must be that the limits hold at the best settings

	mostStarts = 150 // of the settings that differ from the best in one or two: those that seem best are looked at

	usual     = 0.25 // from the middle of the values to the highest tenth
	fallen    = 0.3  // below the highest tenth: settings fail together
	standing  = 0.5  // what is left of that limit where they do not
	unsettled = 0.3  // the standard deviation of what is known of a value that fell
)

// NewSurface returns the surface that some samples show, at least one of which has a value.
func NewSurface(settings []Setting, samples []Sample) *Surface {
	s := &Surface{settings: settings, samples: samples, unit: 1}
	for _, one := range settings {
		like := square(one.Levels, one.Levels)
		for i := range like {
			for j := range like {
				d := float64(i-j) / float64(max(1, one.Levels-1)) / reach
				if like[i][j] = math.Exp(-d * d / 2); i != j && !one.Ordered {
					like[i][j] = 0
				}
			}
		}
		s.levels = append(s.levels, like)
	}
	for i := range samples {
		like := s.likeness(samples[i].At)[:i+1]
		for j := range like {
			d := float64(i-j) / driftReach
			like[j][ofDrift] = math.Exp(-d * d / 2)
		}
		s.like = append(s.like, like)
	}
	n, slacks := len(samples), 0
	values, doubt, stands, known := make([]float64, n), make([]float64, n), make([]float64, n), []float64(nil)
	for _, one := range samples {
		if slacks = max(slacks, len(one.Slack)); !math.IsInf(one.Value, -1) {
			known = append(known, one.Value)
		}
	}
	slices.Sort(known)
	high := known[len(known)-1-len(known)/10]
	s.unit = max(1, (high-middle(known))/usual)
	for i, one := range samples {
		if values[i], stands[i] = (one.Value-high)/s.unit, standing; values[i] < -fallen {
			values[i], doubt[i], stands[i] = -fallen, unsettled*unsettled, -standing
		}
	}
	s.value = s.fit(values, doubt)
	s.limits = append(s.limits, s.fit(stands, make([]float64, n)))
	for limit := range slacks {
		left, doubt := make([]float64, n), make([]float64, n)
		for i, one := range samples {
			if doubt[i] = 1; limit < len(one.Slack) {
				left[i], doubt[i] = one.Slack[limit], 0
			}
		}
		s.limits = append(s.limits, s.fit(left, doubt))
	}
	return s
}

// alike returns how much two settings are alike, at times that are far apart.
func (s *Surface) alike(a, b []int) likeness {
	sum, all, squares := 0.0, 1.0, 0.0
	for i, levels := range s.levels {
		c := levels[a[i]][b[i]]
		sum, squares, all = sum+c, squares+c*c, all*c
	}
	return likeness{1, sum, (sum*sum - squares) / 2, all}
}

// likeness returns how much settings are like those of each sample.
func (s *Surface) likeness(a []int) []likeness {
	all := make([]likeness, len(s.samples))
	for i := range all {
		all[i] = s.alike(a, s.samples[i].At)
	}
	return all
}

// fit returns the process that some values show. Each has a doubt, which is a variance beside that of the noise.
func (s *Surface) fit(ys, doubt []float64) *process {
	n := len(ys)
	sorted := slices.Sorted(slices.Values(ys))
	p := &process{mean: middle(sorted), pull: make([]likeness, n)}
	if sorted[0] == sorted[n-1] {
		return p
	}
	rest := make([]float64, n)
	for i, y := range ys {
		rest[i] = y - p.mean
	}
	best, sum, rows := math.Inf(-1), 0.0, square(n, n)
	for _, noise := range []float64{0.01, 0.02, 0.04, 0.08} {
		for _, main := range []float64{0.03, 0.1, 0.3} {
			for _, pair := range []float64{0.005, 0.03, 0.1} {
				for _, drift := range []float64{0, 0.1} {
					b := belief{scales: likeness{1, main * main, pair * pair, pair * pair / 4, drift * drift}, noise: noise * noise, factor: rows}
					b.weight = s.explain(&b, rest, doubt) - math.Pow(math.Log(noise/typicalNoise)/0.7, 2)/2 - math.Pow(math.Log(pair/typicalNoise)/1.5, 2)/2
					p.beliefs, best = append(p.beliefs, b), max(best, b.weight)
				}
			}
		}
	}
	p.beliefs = slices.DeleteFunc(p.beliefs, func(b belief) bool { return b.weight < best+math.Log(unlikely) })
	for _, b := range p.beliefs {
		sum += math.Exp(b.weight - best)
	}
	for i := range p.beliefs {
		b := &p.beliefs[i]
		b.weight, b.factor = math.Exp(b.weight-best)/sum, square(n, n)
		s.explain(b, rest, doubt)
		for i, v := range backward(b.factor, b.z) {
			for part, scale := range b.scales {
				p.pull[i][part] += b.weight * scale * v
			}
		}
	}
	return p
}

// explain fills in a belief, and returns the logarithm of the likelihood of some values.
func (s *Surface) explain(b *belief, values, doubt []float64) (fit float64) {
	b.z = slices.Clone(values)
	for i, like := range s.like {
		b.extend(i, like, doubt[i])
		fit -= math.Log(b.factor[i][i])
	}
	eliminate(b.factor, b.z)
	for _, z := range b.z {
		fit -= z * z / 2
	}
	return fit
}

// extend fills in the row of a sample.
func (b *belief) extend(i int, like []likeness, doubt float64) {
	row := b.factor[i][:i+1]
	for j := range row {
		row[j] = b.scales.dot(like[j])
	}
	row[i] += b.noise + doubt
	eliminate(b.factor[:i], row)
	for _, v := range row[:i] {
		row[i] -= v * v
	}
	row[i] = math.Sqrt(max(row[i], 1e-12))
}

// believe adds a sample that is as expected: the means stay, and less is open.
func (s *Surface) believe(a []int) {
	like := append(s.likeness(a), s.alike(a, a))
	for _, p := range append(slices.Clip(s.limits), s.value) {
		for i := range p.beliefs {
			b := &p.beliefs[i]
			b.factor, b.z = append(b.factor, make([]float64, len(like))), append(b.z, 0)
			b.extend(len(like)-1, like, 0)
		}
		p.pull = append(p.pull, likeness{})
	}
	s.samples = append(slices.Clip(s.samples), Sample{At: a})
}

// eliminate replaces the first values by the solution of factor x = values.
func eliminate(factor [][]float64, values []float64) {
	for i, row := range factor {
		row := row[:i+1]
		sum := values[i]
		for k, v := range values[:len(row)-1] {
			sum -= row[k] * v
		}
		values[i] = sum / row[i]
	}
}

// backward solves the transposed factor times x = b.
func backward(factor [][]float64, b []float64) []float64 {
	x := slices.Clone(b)
	for i := len(x) - 1; i >= 0; i-- {
		x[i] /= factor[i][i]
		for k, v := range factor[i][:i] {
			x[k] -= v * x[i]
		}
	}
	return x
}

// meanOf returns the mean of what is like the samples, without that of the process.
func (p *process) meanOf(like []likeness) (mean float64) {
	for i, pull := range p.pull {
		mean += pull.dot(like[i])
	}
	return mean
}

// deviation returns the standard deviation of what is like the samples, and like itself.
func (p *process) deviation(like []likeness, itself likeness) float64 {
	mean, variance, v := p.meanOf(like), 0.0, make([]float64, len(like))
	for i := range p.beliefs {
		b, of := &p.beliefs[i], 0.0
		for i := range like {
			v[i] = b.scales.dot(like[i])
		}
		eliminate(b.factor, v)
		left := b.scales.dot(itself)
		for i, x := range v {
			of, left = of+x*b.z[i], left-x*x
		}
		variance += b.weight * (max(left, 0) + (of-mean)*(of-mean))
	}
	return math.Sqrt(variance)
}

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
