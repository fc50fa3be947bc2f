package inference

import (
	"cmp"
	"slices"
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
