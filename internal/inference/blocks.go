package inference

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Blocked is a value of a group that was measured in a block of runs: groups and blocks are
// numbered from 0. All runs of a block are close in time, so drift moves all of them.
type Blocked struct {
	Group, Block int
	Value        float64
}

// AlikeInBlocks does what AlikeBest does where not every block has every group, and where
// blocks may differ. It compares groups within blocks: directly, or over groups that
// two blocks share. Noise is taken to be the same in all groups. The ratio of two groups that no
// chain of blocks connects is not known, so these are never told apart.
//
// Source: least squares with effects of groups and of blocks on logarithms, the intra-block
// analysis of incomplete blocks (Yates, Annals of Eugenics 7 (1936) 121–140).
func AlikeInBlocks(runs []Blocked, goal Goal, alpha float64) (best int, _ []Standing, _ error) {
	fit, err := fitBlocks(runs, alpha)
	if err != nil {
		return -1, nil, err
	}
	best = -1
	all := make([]Standing, len(fit.values))
	for i, v := range fit.values {
		all[i].Median = Median(v, alpha)
		if len(v) > 0 && (best < 0 || fit.effect[i] != fit.effect[best] && better(fit.effect[i], fit.effect[best], goal)) {
			best = i
		}
	}
	var ps []float64
	var others []int
	for i, v := range fit.values {
		if i != best && len(v) > 0 {
			var p float64
			all[i].ToBest, p = fit.ratio(i, best)
			ps, others = append(ps, p), append(others, i)
		}
	}
	conclude(all, others, ps, best, goal, alpha)
	return best, all, nil
}

// blockFit is the fit of effects of groups, on logarithms.
type blockFit struct {
	values   [][]float64 // by group
	effect   []float64
	inverse  [][]float64 // times variance: the covariance of the effects
	variance float64
	freedom  float64
	limit    float64 // half an interval of 1-alpha, in standard errors
	alpha    float64
}

// loose is so small beside a run that block effects are free, and so large that groups that no chain of
// blocks connects still have a solution: with an enormous variance.
const loose = 1e-6

func fitBlocks(runs []Blocked, alpha float64) (*blockFit, error) {
	groups, blocks := 0, 0
	for _, r := range runs {
		groups, blocks = max(groups, r.Group+1), max(blocks, r.Block+1)
	}
	f := &blockFit{values: make([][]float64, groups), effect: make([]float64, groups), alpha: alpha}
	var values []float64
	for _, r := range runs {
		f.values[r.Group], values = append(f.values[r.Group], r.Value), append(values, r.Value)
	}
	y, err := logs(values)
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

// residuals sets the variance of what groups and blocks do not explain, and how far it lets an estimate be off.
func (f *blockFit) residuals(runs []Blocked, y, sizes, sums []float64) {
	f.freedom = float64(len(runs) + 1)
	for _, v := range f.values {
		f.freedom -= float64(min(len(v), 1))
	}
	for b := range sizes {
		f.freedom -= min(sizes[b], 1)
	}
	for _, r := range runs {
		sums[r.Block] -= f.effect[r.Group]
	}
	var squares float64
	for i, r := range runs {
		rest := y[i] - f.effect[r.Group] - sums[r.Block]/(sizes[r.Block]+loose)
		squares += rest * rest
	}
	f.variance = squares / max(1, f.freedom)
	f.limit = quantile(1-f.alpha/2, max(1, f.freedom))
}

// ratio returns the ratio of one group to another, and the p value of its being 1.
func (f *blockFit) ratio(i, to int) (Estimate, float64) {
	d := f.effect[i] - f.effect[to]
	e := Estimate{Value: d, Low: d, High: d, N: min(len(f.values[i]), len(f.values[to]))}
	error2 := f.variance * (f.inverse[i][i] + f.inverse[to][to] - 2*f.inverse[i][to])
	if f.freedom < 1 || error2 < 1e-24 {
		return e.ratio(), 1
	}
	half := f.limit * math.Sqrt(error2)
	e.Low, e.High, e.Coverage = d-half, d+half, 1-f.alpha
	return e.ratio(), 2 * stats.TDist{V: f.freedom}.CDF(-math.Abs(d)/math.Sqrt(error2))
}

func square(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

// invert inverts a symmetric, positive definite matrix in place, by Gauss and Jordan: such a matrix needs no
// exchange of rows.
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
