package inference

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

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

// AlikeBest returns the index of the group with the best median, and how every group
// stands beside it. With a probability of at least 1-alpha, all groups that are truly best are
// among the alike ones. A group without runs is never alike. The index is -1 if no group
// has runs.
//
// The test is Welch's on logarithms. Mann-Whitney's would leave all groups alike: three runs
// against three never give less than 0.1. Groups of one run, or two groups without any
// spread, are never told apart. The correction is Holm's for all pairs of groups that are
// left, because any of them could have seemed best by chance.
//
// Source: Hsu, Multiple Comparisons (1996), chapter 4, for comparing with the best;
// Welch, Biometrika 34 (1947) 28–35.
func AlikeBest(groups [][]float64, goal Goal, alpha float64) (best int, _ []Standing, _ error) {
	best = -1
	all := make([]Standing, len(groups))
	logarithms := make([]stats.Sample, len(groups))
	for i, g := range groups {
		l, err := logs(g)
		if err != nil {
			return -1, nil, err
		}
		logarithms[i].Xs = l
		all[i].Median = Median(g, alpha)
		if len(g) > 0 && (best < 0 || better(all[i].Median.Value, all[best].Median.Value, goal)) {
			best = i
		}
	}
	var ps []float64
	var others []int
	for i, l := range logarithms {
		if i != best && len(l.Xs) > 0 {
			var p float64
			all[i].ToBest, p = welch(logarithms[best], l, alpha)
			ps, others = append(ps, p), append(others, i)
		}
	}
	conclude(all, others, ps, best, goal, alpha)
	return best, all, nil
}

// conclude says which groups are alike the best one, from the p values of the others.
func conclude(all []Standing, others []int, ps []float64, best int, goal Goal, alpha float64) {
	pairs := func(others int) int { return others * (others + 1) / 2 }
	for i, p := range stepDown(ps, pairs) {
		s := &all[others[i]]
		s.P = p
		s.Alike = p > alpha || !better(1, s.ToBest.Value, goal)
	}
	if best >= 0 {
		all[best].ToBest = Estimate{Value: 1, Low: 1, High: 1, Coverage: 1, N: all[best].Median.N}
		all[best].P, all[best].Alike = 1, true
	}
}

// WithoutBlocks returns groups without what the runs of a block have in common: the n-th runs of all
// groups were made one after the other, so a slow minute is no noise between groups. Geometric means of groups, and the
// expected variance of their differences, stay. Groups are returned as they are when blocks are less than a quarter of their
// noise, because one odd run would then disturb all groups; when they are not all of one size; and when there are fewer than
// three: two groups would be each other's mirror image, with half the degrees of freedom.
//
// Source: a randomized complete block design on logarithms; Montgomery, Design and Analysis of Experiments (2013), 4.1.
func WithoutBlocks(groups [][]float64) ([][]float64, error) {
	var full [][]float64 // logarithms
	for _, g := range groups {
		l, err := logs(g)
		if err != nil {
			return nil, err
		}
		if len(l) > 0 {
			full = append(full, l)
		}
	}
	if len(full) < 3 || len(full[0]) < 2 || slices.ContainsFunc(full, func(l []float64) bool { return len(l) != len(full[0]) }) {
		return groups, nil
	}
	block := make([]float64, len(full[0])) // how far its runs are from the means of their groups
	for _, l := range full {
		mean := stats.Mean(l)
		for i := range l {
			block[i] += (l[i] - mean) / float64(len(full))
		}
	}
	wider := math.Sqrt(float64(len(full)) / float64(len(full)-1)) // the means of blocks took a part of the noise with them
	out := make([][]float64, len(groups))
	for i, g := range groups {
		l, _ := logs(g) // it succeeded above
		mean := 0.0
		if len(l) > 0 {
			mean = stats.Mean(l)
		}
		for j := range l {
			out[i] = append(out[i], math.Exp(mean+wider*(l[j]-mean-block[j])))
		}
	}
	before, err := Spread(groups...)
	if err != nil {
		return nil, err
	}
	if after, err := Spread(out...); err != nil || after*after > before*before*3/4 {
		return groups, err
	}
	return out, nil
}

// better reports whether a is better than b.
func better(a, b float64, goal Goal) bool {
	if goal == Lowest {
		return a < b
	}
	return a > b
}

// welch returns the ratio b/a of geometric means, and the p value of its being 1.
func welch(a, b stats.Sample, alpha float64) (Estimate, float64) {
	difference := b.Mean() - a.Mean()
	e := Estimate{Value: difference, Low: difference, High: difference, N: min(len(a.Xs), len(b.Xs))}
	r, err := stats.TwoSampleWelchTTest(a, b, stats.LocationDiffers)
	if err != nil {
		return e.ratio(), 1
	}
	half := quantile(1-alpha/2, r.DoF) * math.Sqrt(a.Variance()/a.Weight()+b.Variance()/b.Weight())
	e.Low, e.High, e.Coverage = difference-half, difference+half, 1-alpha
	return e.ratio(), r.P
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
