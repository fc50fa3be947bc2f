package study

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
)

// Answer is the answer to a question, for one choice of the other factors.
type Answer struct {
	Factor    string            `json:"factor"`
	By        Metric            `json:"by"`
	At        map[string]string `json:"at,omitempty"`              // the other factors
	Best      string            `json:"best"`                      // "": nothing was measured
	LikeBest  []string          `json:"like_best"`                 // values that cannot be told from the best, with it
	Unsure    []Worse           `json:"unsure,omitempty"`          // of like_best: much worse in the mean, but the runs differ too much to be sure
	Worse     []Worse           `json:"worse,omitempty"`           // the others
	Unknown   []string          `json:"not_told,omitempty"`        // kt was the limit there: they may be better than they look
	Peak      *Peak             `json:"peak,omitempty"`            // of a scaling factor
	Repeats   int               `json:"repeats_to_tell,omitempty"` // how many would tell the first two apart
	SearchEnd SearchEnd         `json:"search_end,omitempty"`      // of the metric by which the best value of a factor is searched for; "": not over
	Sentence  string            `json:"sentence"`
}

// Worse is a value that is worse than the best one.
type Worse struct {
	Value string  `json:"value"`
	By    float64 `json:"by"`  // the share of the best: 0.12 is 12 % worse
	Low   float64 `json:"low"` // its interval; below 0: it may be better
	High  float64 `json:"high"`
}

// Peak is the number at which a rate no longer grows, by the Universal Scalability Law.
type Peak struct {
	N    float64 `json:"n"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	alpha      = 0.05 // the accepted share of false alarms: of studies without any difference in which kt names one
	unsureFrom = 0.1  // the share by which a value must look worse than the best one for a word on it, although it cannot be told from it
)

func (d *Document) answer() {
	d.Answers = []Answer{}
	for _, q := range d.asked() {
		for _, group := range d.groups(q.Factor()) {
			a := Answer{Factor: q.Factor(), By: q.By, At: d.others(group[0], q.Factor()), LikeBest: []string{}}
			if q.Best == "" {
				a.Sentence = d.scaling(&a, group)
			} else {
				a.Sentence = d.best(&a, group) + d.sayFailed(&a, group)
			}
			if f := d.Study.searched(); q.Best != "" && f != nil && f.Name == a.Factor && q.By == d.Study.searchedBy() {
				if steps, err := f.Search.steps(); err == nil { // else its bounds were never filled in
					a.SearchEnd = d.ends[fmt.Sprint(a.At)]
					a.Sentence += say("search", map[string]any{"End": a.SearchEnd, "Best": a.Best, "Fine": steps.kind.write(steps.fine), "ID": d.ID})
				}
			}
			d.Answers = append(d.Answers, a)
		}
	}
}

// groups returns the cells that differ in one factor alone, in the order of its values. In pairs all do.
func (d *Document) groups(factor string) (groups [][]*CellDoc) {
	for i := range d.Cells {
		c := &d.Cells[i]
		g := slices.IndexFunc(groups, func(g []*CellDoc) bool { return maps.Equal(d.others(g[0], factor), d.others(c, factor)) })
		if g < 0 {
			g, groups = len(groups), append(groups, nil)
		}
		groups[g] = append(groups[g], c)
	}
	return groups
}

// others returns the values of the other factors; in pairs none, because they differ within a group.
func (d *Document) others(c *CellDoc, factor string) map[string]string {
	others := maps.Clone(c.At)
	maps.DeleteFunc(others, func(name, _ string) bool { return name == factor || d.Study.Pair })
	return others
}

// Along returns the values that an answer compares, with their cells.
func (d *Document) Along(a *Answer) iter.Seq2[string, *CellDoc] {
	return func(yield func(string, *CellDoc) bool) {
		for i := range d.Cells {
			c := &d.Cells[i]
			if maps.Equal(d.others(c, a.Factor), a.At) && !yield(d.valueOf(c, a.Factor), c) {
				return
			}
		}
	}
}

// valueOf returns the value of a factor in a cell; in pairs all values that are no defaults, because they differ with it.
func (d *Document) valueOf(c *CellDoc, factor string) string {
	if !d.Study.Pair {
		return c.At[factor]
	}
	return cmp.Or(Cell{At: set(c.cell.At)}.String(), Default)
}

// best finds the best value of a factor, and those that cannot be told from it.
func (d *Document) best(a *Answer, cells []*CellDoc) string {
	r, err := d.rank(cells, a.Factor, a.By)
	if err != nil || r.best < 0 {
		return fmt.Sprintf("nothing was measured of %s", a.By)
	}
	best, widest := r.cells[r.best], 0.0
	for i, c := range r.cells {
		v, ratio := d.valueOf(c.CellDoc, a.Factor), c.ToBest
		widest = max(widest, ratio.Value-1, 1/ratio.Value-1)
		w := Worse{v, ratio.Value - 1, ratio.Low - 1, ratio.High - 1}
		if w.By < 0 {
			w = Worse{v, -w.By, -w.High, -w.Low}
		}
		switch {
		case !c.Alike:
			a.Worse = append(a.Worse, w)
		case i != r.best && w.By >= unsureFrom:
			a.Unsure = append(a.Unsure, w)
			fallthrough
		default:
			a.LikeBest = append(a.LikeBest, v)
		}
		if c.ClientBound {
			a.Unknown = append(a.Unknown, v)
		}
	}
	if len(a.Worse) == 0 && len(r.cells) > 1 { // would tell the best from the one that differs most, if the difference is as it seems
		if a.Repeats = inference.RepeatsOfBest(r.noise, widest, len(r.cells), r.alpha); a.Repeats > 0 {
			a.Repeats = max(a.Repeats, len(best.values)+1)
		}
	}
	a.Best = d.valueOf(best.CellDoc, a.Factor)
	unsure := valuesOf(a.Unsure)
	return say("best", map[string]any{
		"Answer": a, "Pair": d.Study.Pair, "Measured": len(r.cells), "Unsure": unsure,
		"Worse":    slices.SortedFunc(slices.Values(a.Worse), func(x, y Worse) int { return cmp.Compare(x.By, y.By) }),
		"Alike":    slices.DeleteFunc(slices.Clone(a.LikeBest), func(v string) bool { return slices.Contains(unsure, v) }),
		"Repeated": slices.ContainsFunc(r.cells, func(c ranked) bool { return len(c.values) > 1 }),
		"What":     map[bool]string{true: "lower", false: "higher"}[a.By.Of().HigherIsBetter],
		"Nothing":  slices.Max(best.values) <= a.By.Of().Floor, // and of nothing there is no percentage
	})
}

func valuesOf(worse []Worse) []string { return mapped(worse, func(w Worse) string { return w.Value }) }

// sayFailed says at which values runs got nothing through, or the metric failed.
func (d *Document) sayFailed(a *Answer, cells []*CellDoc) string {
	var dead, failed []string
	for _, c := range cells {
		values, v := c.of(0).values(a.By), d.valueOf(c, a.Factor)
		alive := slices.DeleteFunc(slices.Clone(values), func(one float64) bool { return one == 0 && a.By.Of().Floor == 0 })
		switch none := len(values) - len(alive); {
		case none > 0 && len(alive) > 0:
			v += fmt.Sprintf(" (%d of %d runs)", none, len(values))
			fallthrough
		case none > 0:
			dead = append(dead, v)
		case len(values) == 0 && len(c.FailedMetrics) > 0:
			failed = append(failed, v)
		}
	}
	return say("failed", map[string]any{"Dead": dead, "Failed": failed, "By": a.By})
}

// scaling says how a metric grows with a factor. Runs that got nothing through have no place on the curve.
func (d *Document) scaling(a *Answer, cells []*CellDoc) string {
	var n, x []float64
	measured := 0
	for _, c := range cells {
		value := c.At[a.Factor]
		at, err := plan.ParseNumber(value)
		if err != nil {
			return fmt.Sprintf("%s=%s is no number, so nothing can be said of how %s grows", a.Factor, value, a.By)
		}
		alive := slices.DeleteFunc(c.of(0).values(a.By), func(v float64) bool { return v <= 0 })
		if len(alive) == 0 {
			continue
		}
		n, x = append(n, slices.Repeat([]float64{at}, len(alive))...), append(x, alive...)
		if measured++; c.ClientBound {
			a.Unknown = append(a.Unknown, value)
		}
	}
	law, err := inference.USL(n, x, alpha)
	about := map[string]any{"Answer": a, "Measured": measured, "Err": err}
	switch {
	case err == nil:
		a.Peak = &Peak{law.Peak.Value, law.Peak.Low, law.Peak.High}
	case errors.Is(err, inference.ErrNoPeak):
		highest := slices.MaxFunc(slices.Sorted(slices.Values(n)), func(x, y float64) int { return cmp.Compare(law.At(x), law.At(y)) })
		about["Err"], about["Grows"], about["Falls"] = nil, highest == slices.Max(n), highest == slices.Min(n)
	}
	return say("scaling", about)
}

// ranking is how the cells of a group that were measured stand beside the best one.
type ranking struct {
	cells []ranked
	best  int     // below 0: nothing was measured
	noise float64 // of repeats: standard deviation of logarithms
	alpha float64 // of these cells
}

type ranked struct {
	*CellDoc
	inference.Standing

	values []float64
}

// rank compares cells of which one factor differs: those of a search within blocks, because they were not all in each.
func (d *Document) rank(cells []*CellDoc, factor string, by Metric) (r ranking, err error) {
	var runs []inference.Run
	var groups []int
	for i := range d.Cells {
		c := &d.Cells[i]
		one := ranked{CellDoc: c}
		for _, run := range c.Runs {
			v, ok := run.Loads[0].Measures[by]
			if ok {
				v = max(v, by.Of().Floor)
			}
			if v > 0 && c.of(0).values(by) != nil { // a run without any acknowledgement has no place beside others
				one.values, runs = append(one.values, v), append(runs, inference.Run{Group: i, Block: run.Repeat, Value: v})
			}
		}
		if len(one.values) > 0 && slices.Contains(cells, c) {
			r.cells, groups = append(r.cells, one), append(groups, i)
		}
	}
	search := d.Study.searched()
	fit, err := inference.NewFit(runs, search != nil && search.Name == factor)
	if err != nil {
		return ranking{best: -1}, err
	}
	answers := 0 // those that name a best value share the false alarms
	for _, q := range d.asked() {
		if q.Best != "" {
			answers += len(d.groups(q.Best))
		}
	}
	r.noise, r.alpha = fit.Noise, alpha/float64(max(answers, 1))
	best, standings := fit.Best(groups, map[bool]inference.Goal{true: inference.Highest, false: inference.Lowest}[by.Of().HigherIsBetter], r.alpha)
	r.best = best
	for i, s := range standings {
		r.cells[i].Standing = s
	}
	return r, nil
}
