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
	noise     float64 // of repeats: standard deviation of logarithms
	alpha     float64 // of these cells
}

// rank compares cells of which one factor differs. The runs of all cells of the study tell how much repeats differ. The cells of a
// search are compared within blocks, because they were not all in each of them.
func (d *Document) rank(cells []*CellDoc, factor string, by Metric) (r ranking, err error) {
	var runs []inference.Run
	var groups []int
	for i := range d.Cells {
		c := &d.Cells[i]
		var alive []float64
		for _, run := range c.Runs {
			l := &run.Loads[0]
			v := *l.Of(by)
			if by == Roughness && l.Has(by) {
				v = max(v, smoothest)
			}
			if v > 0 && c.of(0).values(by) != nil { // a run without any acknowledgement has no place beside others
				alive, runs = append(alive, v), append(runs, inference.Run{Group: i, Block: run.Repeat, Value: v})
			}
		}
		if len(alive) > 0 && slices.Contains(cells, c) {
			r.cells, r.values, groups = append(r.cells, c), append(r.values, alive), append(groups, i)
		}
	}
	search := d.Study.searched()
	fit, err := inference.NewFit(runs, search != nil && search.Name == factor)
	if err != nil {
		return ranking{best: -1}, err
	}
	goal := inference.Lowest
	if by.HigherIsBetter() {
		goal = inference.Highest
	}
	r.noise, r.alpha = fit.Noise, alpha/float64(d.questions())
	r.best, r.standings = fit.Best(groups, goal, r.alpha)
	return r, nil
}

// questions returns how many answers of a study name a best value. They share the false alarms.
func (d *Document) questions() (n int) {
	for _, q := range d.Study.Ask {
		if q.Best != "" {
			n += len(d.groups(q.Factor()))
		}
	}
	return max(n, 1)
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
func (r *ranking) repeatsToTell() int {
	widest := 0.0
	for _, s := range r.standings {
		widest = max(widest, s.ToBest.Value-1, 1/s.ToBest.Value-1)
	}
	if n := inference.RepeatsOfBest(r.noise, widest, len(r.cells), r.alpha); n > 0 {
		return max(n, len(r.values[r.best])+1)
	}
	return 0
}
