package study

import (
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/inference"
)

// ranking is how the cells of a group that were measured stand beside the best one.
type ranking struct {
	cells     []*CellDoc
	values    [][]float64 // of each cell
	best      int         // below 0: nothing was measured
	standings []inference.Standing
}

// rank compares cells of which one factor differs. The cells of a search are compared within blocks, because they
// were not all in each of them.
func (d *Document) rank(cells []*CellDoc, factor string, by Metric) (r ranking, err error) {
	var runs []inference.Blocked
	var inAll [][]int // the blocks of each cell
	search := d.Study.searched()
	inBlocks := search != nil && search.Name == factor
	for _, c := range cells {
		values, blocks := c.blocked(0, by)
		var alive []float64
		var in []int
		for i, v := range values {
			if v > 0 { // a run without any acknowledgement has no place beside others
				alive, in = append(alive, v), append(in, blocks[i])
				runs = append(runs, inference.Blocked{Group: len(r.cells), Block: blocks[i], Value: v})
			}
		}
		if len(alive) > 0 {
			r.cells, r.values, inAll = append(r.cells, c), append(r.values, alive), append(inAll, in)
		}
	}
	goal := inference.Lowest
	if by.HigherIsBetter() {
		goal = inference.Highest
	}
	if inBlocks {
		r.best, r.standings, err = inference.AlikeInBlocks(runs, goal, alpha)
		return r, err
	}
	if !slices.ContainsFunc(inAll, func(in []int) bool { return !slices.Equal(in, inAll[0]) }) { // else the n-th runs are of several blocks
		if r.values, err = inference.WithoutBlocks(r.values); err != nil {
			return ranking{best: -1}, err
		}
	}
	r.best, r.standings, err = inference.AlikeBest(r.values, goal, alpha)
	return r, err
}

// worse returns how much worse a value is than the best one, as a share of it.
func worse(value string, toBest inference.Estimate) Worse {
	by := func(ratio float64) float64 { return math.Copysign(1, toBest.Value-1) * (ratio - 1) }
	w := Worse{Value: value, By: by(toBest.Value), Low: by(toBest.Low), High: by(toBest.High)}
	w.Low, w.High = min(w.Low, w.High), max(w.Low, w.High)
	return w
}

// repeatsToTell returns how many repeats would tell the best cell from the one that differs most from
// it, if the difference is as it seems; 0: it is not known.
func repeatsToTell(values [][]float64, best int) int {
	noise, err := inference.Spread(values...)
	if err != nil || noise == 0 {
		return 0
	}
	widest, top := 0.0, inference.Median(values[best], alpha).Value
	for _, v := range values {
		m := inference.Median(v, alpha).Value
		widest = max(widest, max(m, top)/min(m, top)-1)
	}
	pairs := len(values) * (len(values) - 1) / 2
	return max(inference.Repeats(noise, widest, alpha/float64(pairs)), len(values[best])+1)
}
