package inference

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Run is a value of a group that was measured in a block of runs: groups and blocks are numbered from 0. All runs of a block
// are close in time, so drift moves all of them.
type Run struct {
	Group, Block int
	Value        float64
}

// Fit has the effects of groups on the logarithms of values, and the noise between runs of a group.
//
// Source: least squares with effects of groups and of blocks, the intra-block analysis of incomplete blocks (Yates, Annals of
// Eugenics 7 (1936) 121–140).
type Fit struct {
	Noise float64 // standard deviation of logarithms

	values  [][]float64 // by group
	effect  []float64
	inverse [][]float64 // times the variance of noise: the covariance of the effects
	pooled  noise
	own     []noise // by group
	prior   float64 // degrees of freedom of the pooled noise in that of each group
}

// noise is an estimate of a variance.
type noise struct{ variance, freedom float64 }

const (
	// loose is small beside a run, so block effects are free. It is above 0, so groups that no chain of blocks connects
	// still have a solution: with an enormous variance.
	loose = 1e-6

	// blocksMatter is the largest share of the noise that may be left when that of blocks is taken away: blocks of little noise
	// stay in it, because one odd run would disturb all groups of its block.
	blocksMatter = 0.75
)

// NewFit fits runs, or returns ErrNotPositive. With inBlocks it compares groups only within blocks: directly, or over groups that
// two blocks share. A block need not have every group. Without inBlocks it does so for three groups or more, if blocks are at least a
// quarter of the noise.
func NewFit(runs []Run, inBlocks bool) (*Fit, error) {
	f, err := fitBlocks(runs)
	if err != nil || inBlocks {
		return f, err
	}
	whole := slices.Clone(runs)
	for i := range whole {
		whole[i].Block = 0
	}
	one, err := fitBlocks(whole)
	if len(f.values) < 3 || f.pooled.freedom < 1 || f.pooled.variance > blocksMatter*one.pooled.variance {
		f = one
	}
	return f, err
}

func fitBlocks(runs []Run) (*Fit, error) {
	groups, blocks := 0, 0
	for _, r := range runs {
		groups, blocks = max(groups, r.Group+1), max(blocks, r.Block+1)
	}
	f := &Fit{values: make([][]float64, groups), effect: make([]float64, groups), own: make([]noise, groups)}
	var values []float64
	for _, r := range runs {
		f.values[r.Group], values = append(f.values[r.Group], r.Value), append(values, r.Value)
	}
	y, err := logs(values, false)
	if err != nil || len(y) == 0 {
		return f, err
	}
	mean := stats.Mean(y)
	count, sizes, sums := square(groups, blocks), make([]float64, blocks), make([]float64, blocks)
	f.inverse = square(groups, groups)
	right := make([]float64, groups)
	for i, r := range runs {
		y[i] -= mean
		count[r.Group][r.Block]++
		sizes[r.Block]++
		sums[r.Block] += y[i]
		right[r.Group] += y[i]
		f.inverse[r.Group][r.Group]++
	}
	for i := range groups {
		if len(f.values[i]) == 0 {
			f.inverse[i][i] = 1 // any number: it stands alone
		}
		for b := range blocks {
			share := count[i][b] / (sizes[b] + loose)
			right[i] -= share * sums[b]
			for j := range groups {
				f.inverse[i][j] -= share * count[j][b]
			}
		}
	}
	invert(f.inverse)
	for i := range groups {
		for j := range groups {
			f.effect[i] += f.inverse[i][j] * right[j]
		}
	}
	f.residuals(runs, y, sizes, sums)
	return f, nil
}

// residuals sets the noise: the variance of what groups and blocks do not explain, of all groups and of each. Blocks take degrees of
// freedom from every group, in proportion.
func (f *Fit) residuals(runs []Run, y, sizes, sums []float64) {
	repeats := 0.0
	f.pooled.freedom = float64(len(runs) + 1)
	for _, v := range f.values {
		f.pooled.freedom -= float64(min(len(v), 1))
		repeats += float64(max(len(v)-1, 0))
	}
	for b := range sizes {
		f.pooled.freedom -= min(sizes[b], 1)
	}
	for _, r := range runs {
		sums[r.Block] -= f.effect[r.Group]
	}
	var squares float64
	for i, r := range runs {
		rest := y[i] - f.effect[r.Group] - sums[r.Block]/(sizes[r.Block]+loose)
		squares += rest * rest
		f.own[r.Group].variance += rest * rest
	}
	f.pooled.variance = squares / max(1, f.pooled.freedom)
	for i, v := range f.values {
		freedom := float64(max(len(v)-1, 0)) * max(0, f.pooled.freedom) / max(1, repeats)
		if f.own[i].freedom = freedom; freedom > 0 {
			f.own[i].variance /= freedom
		} else {
			f.own[i].variance = 0 // a run alone shows none
		}
	}
	f.Noise, f.prior = math.Sqrt(f.pooled.variance), f.priorFreedom()
}

// priorFreedom returns how many degrees of freedom the pooled noise has in that of each group: the more, the less groups differ in it.
//
// Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004) article 3, section 6.2. Two things differ,
// because simulations had too many false differences: the prior is the pooled variance, which is larger than his, and it has at
// most half as many degrees of freedom as there are groups.
func (f *Fit) priorFreedom() float64 {
	var logarithms []float64
	var expected float64 // variance of the logarithms when all groups have the same noise
	for _, o := range f.own {
		if o.freedom > 0 {
			bias := 1/o.freedom + 1/(3*o.freedom*o.freedom) // within 5 % of ln(d/2)-digamma(d/2)
			logarithms = append(logarithms, math.Log(max(o.variance, f.pooled.variance*1e-5, math.SmallestNonzeroFloat64))+bias)
			expected += trigamma(o.freedom / 2)
		}
	}
	k := float64(len(logarithms))
	if k < 4 { // too few to tell how they differ
		return math.MaxInt32 // the noise of all is that of each
	}
	excess := stats.Variance(logarithms) - expected/k
	d := k / 2
	for d > loose && trigamma(d/2) < excess {
		d /= 1.05
	}
	return d
}

// trigamma is for x above 0. Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 6.4.6 and 6.4.12.
func trigamma(x float64) (y float64) {
	for ; x < 6; x++ {
		y += 1 / (x * x)
	}
	return y + 1/x + 1/(2*x*x) + 1/(6*x*x*x) - 1/(30*math.Pow(x, 5)) + 1/(42*math.Pow(x, 7))
}

// ratio returns the ratio of one group to another, and the p value of its being 1. There are two tests, with the noise of the
// two groups alone and with that of all, and p is twice the smaller one (Bonferroni).
func (f *Fit) ratio(i, to int, alpha float64) (Estimate, float64) {
	d := f.effect[i] - f.effect[to]
	e := Estimate{Value: d, Low: d, High: d, N: min(len(f.values[i]), len(f.values[to]))}
	smallest := 1.0
	for _, prior := range []float64{0, f.prior} {
		x, y := f.noiseOf(i, prior), f.noiseOf(to, prior)
		wx, wy := x.variance/float64(len(f.values[i])), y.variance/float64(len(f.values[to]))
		freedom := min(f.pooled.freedom, (wx+wy)*(wx+wy)/(wx*wx/x.freedom+wy*wy/y.freedom)) // Welch, Biometrika 34 (1947) 28–35
		each := 1/float64(len(f.values[i])) + 1/float64(len(f.values[to]))
		deviation := math.Sqrt((wx + wy) / each * (f.inverse[i][i] + f.inverse[to][to] - 2*f.inverse[i][to]))
		if !(freedom >= 0.5 && deviation >= 1e-12) {
			continue
		}
		if p := 4 * (stats.TDist{V: freedom}).CDF(-math.Abs(d)/deviation); p < smallest || e.Coverage == 0 {
			half := quantile(1-alpha/2, freedom) * deviation
			smallest, e.Low, e.High, e.Coverage = min(1, p), d-half, d+half, 1-alpha
		}
	}
	return e.ratio(), smallest
}

// noiseOf returns the noise of a group, which has some degrees of freedom from that of all. It is never below its own. Half of the
// former count in a test, because they are an estimate too.
func (f *Fit) noiseOf(group int, prior float64) noise {
	own := f.own[group]
	shrunk := (prior*f.pooled.variance + own.freedom*own.variance) / (prior + own.freedom)
	return noise{max(own.variance, shrunk), prior/2 + own.freedom}
}

func square(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

// invert inverts a symmetric, positive definite matrix in place, by Gauss and Jordan: it needs no exchange of rows.
func invert(m [][]float64) {
	for k := range m {
		pivot := m[k][k]
		m[k][k] = 1
		for j := range m {
			m[k][j] /= pivot
		}
		for i := range m {
			if i == k {
				continue
			}
			factor := m[i][k]
			m[i][k] = 0
			for j := range m {
				m[i][j] -= factor * m[k][j]
			}
		}
	}
}

// Goal is which end of a metric is the good one.
type Goal int

// The two goals.
const (
	Highest Goal = iota // throughput
	Lowest              // latency
)

// Standing is one group beside the best one.
type Standing struct {
	Median Estimate `json:"median"`
	// ToBest is the ratio to the best group, of geometric means. Its interval is for this
	// group alone, not corrected for the number of groups.
	ToBest Estimate `json:"to_best"`
	P      float64  `json:"p"`     // corrected for the number of groups
	Alike  bool     `json:"alike"` // cannot be told from the best
}

// Best returns the index in groups of the best one, and how each of them stands beside it. The index is -1 if none
// has runs. With a probability of at least 1-alpha, all groups that are truly best are among the alike ones. A group without runs is
// never alike. Groups are never told apart if no repeats of any group differ, or if no chain of blocks connects them.
//
// The correction is Holm's for all pairs of groups that are left, because any of them could have seemed best by chance.
//
// Source: Hsu, Multiple Comparisons (1996), chapter 4, for comparing with the best.
func (f *Fit) Best(groups []int, goal Goal, alpha float64) (best int, _ []Standing) {
	best = -1
	all := make([]Standing, len(groups))
	for i, g := range groups {
		if g >= len(f.values) || len(f.values[g]) == 0 {
			continue
		}
		all[i].Median = Median(f.values[g], alpha)
		if best < 0 || f.effect[g] != f.effect[groups[best]] && better(f.effect[g], f.effect[groups[best]], goal) {
			best = i
		}
	}
	var ps []float64
	var others []int
	for i, g := range groups {
		if i != best && all[i].Median.N > 0 {
			var p float64
			all[i].ToBest, p = f.ratio(g, groups[best], alpha)
			ps, others = append(ps, p), append(others, i)
		}
	}
	for i, p := range stepDown(ps, func(others int) int { return others * (others + 1) / 2 }) {
		s := &all[others[i]]
		s.P, s.Alike = p, p > alpha || !better(1, s.ToBest.Value, goal)
	}
	if best >= 0 {
		all[best].ToBest = Estimate{Value: 1, Low: 1, High: 1, Coverage: 1, N: all[best].Median.N}
		all[best].P, all[best].Alike = 1, true
	}
	return best, all
}

// better reports whether a is better than b.
func better(a, b float64, goal Goal) bool {
	if goal == Lowest {
		return a < b
	}
	return a > b
}

// Holm returns the p values of several tests, corrected so that the chance of any false
// alarm among them all is at most alpha when each is held against alpha.
//
// Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65–70.
func Holm(ps []float64) []float64 {
	return stepDown(ps, func(left int) int { return left })
}

// stepDown multiplies each p value by the number of chances of a false alarm while it and all
// larger ones are left, from the smallest on. The result grows with p and is at most 1.
func stepDown(ps []float64, chances func(left int) int) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	out := make([]float64, len(ps))
	var largest float64
	for rank, i := range order {
		largest = max(largest, min(1, ps[i]*float64(chances(len(ps)-rank))))
		out[i] = largest
	}
	return out
}
