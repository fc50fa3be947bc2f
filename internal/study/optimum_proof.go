package study

import (
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/inference"
)

// runs returns the figures of the runs of a cell in some phases.
func (d *Document) runs(cell int, phases ...Phase) (all [][]LoadFigures) {
	for _, t := range d.turns {
		if t.Cell.Index == cell && d.state.counts(t) && d.state.isDone(t) && slices.Contains(phases, t.Phase) {
			if loads, err := d.folder.figures(t); err == nil { // tried has told the error
				all = append(all, loads)
			}
		}
	}
	return all
}

// side returns the runs of a cell in a phase to compare, and how many of them keep the limits.
func (d *Document) side(name string, c Cell, phase Phase) (s Side, kept int) {
	s = Side{Name: name}
	for _, loads := range d.runs(c.Index, phase) {
		s.loads = append(s.loads, &loads[0])
		if keeps(loads) {
			kept++
		}
	}
	return s.sum(), kept
}

func keeps(loads []LoadFigures) bool { return slices.Min(slacks(loads)) >= 0 }

// rules are what the proof compares.
func (o *Optimum) rules() (rules []rule) {
	metrics := []Metric{o.By}
	for _, e := range o.SLO {
		metrics = append(metrics, Metric(e.Metric.Name))
	}
	for _, m := range once(metrics) {
		rules = append(rules, rule{m, o.Delta, map[bool]words{true: moreIsBetter, false: lessIsBetter}[m.Of().HigherIsBetter]})
	}
	return rules
}

// against compares the best settings with others, in the runs of the proof. Looks and comparisons share the false alarms.
func (o *Optimum) against(d *Document, name string, best, other []int) (a Against, err error) {
	sp, level := d.Study.space(), alpha/float64(3*len(o.Looks))
	a = Against{Name: name, At: sp.cell(other).At}
	var kept, keptOther int
	a.Other, keptOther = d.side(o.Named(a.At), sp.cell(other), Prove)
	a.Best, kept = d.side(o.Named(sp.cell(best).At), sp.cell(best), Prove)
	a.Effects, err = compareAll(&a.Other, &a.Best, o.rules(), level)
	a.Breaks = a.Other.Runs > 0 && 2*keptOther <= a.Other.Runs
	keeps := 2*kept > a.Best.Runs
	saves := keeps && a.Breaks && inference.MannWhitney(shares(kept, a.Best.Runs), shares(keptOther, a.Other.Runs)) <= level
	a.Clear = saves || len(a.Effects) > 0 && a.Effects[0].Clear
	a.Better = saves || keeps && a.Clear && a.Effects[0].Verdict == Better
	return a, err
}

// shares returns a 1 for each of some runs that is of a kind, and a 0 for each of the others.
func shares(are, of int) []float64 {
	return append(slices.Repeat([]float64{1}, are), make([]float64, of-are)...)
}

// effects fills in what each changed value brings. Those of a group are taken back together, and then alone if that is worth it.
func (o *Optimum) effects(d *Document, found, present []int) error {
	sp := d.Study.space()
	back, at := sp.taken(found, present), 0
	pooled, err := o.surface(d, Screen, Seek, Ablate) // the runs of one value alone are few
	if err != nil {
		return err
	}
	for _, of := range sp.of {
		if found[of[0]] == present[of[0]] {
			continue
		}
		f := d.Study.Factors[of[0]]
		all, err := o.effect(d, Ablate, found, back[at], len(back), pooled)
		at++
		all.Setting, all.Value, all.Before = f.Name, f.Values[found[of[0]]], f.Values[present[of[0]]]
		if len(of) > 1 {
			all.Setting = f.Group
		}
		d.Optimum.Effects = append(d.Optimum.Effects, all)
		for _, i := range of[:len(of)*min(1, len(of)-1)] {
			one := all
			if all.Brings != BringsNothing && err == nil {
				one, err = o.effect(d, Apart, found, with(found, i, present[i]), len(sp.factors), nil)
			}
			one.Setting, one.Group, one.Value, one.Before = d.Study.Factors[i].Name, f.Group, all.Value, all.Before
			d.Optimum.Effects = append(d.Optimum.Effects, one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// effect compares the runs of a phase with levels that were found with those in which something is taken back, as one of several. What
// cannot be told stays if pooled, the surface of all runs, has it bring enough; nil: if these runs alone do.
func (o *Optimum) effect(d *Document, phase Phase, found, back []int, several int, pooled *inference.Surface) (e Effect, err error) {
	sp := d.Study.space()
	e.Brings = BringsUnsure
	with, kept := d.side("with it", sp.cell(found), phase)
	without, keptWithout := d.side("without it", sp.cell(back), phase)
	compared, err := compareAll(&without, &with, o.rules()[:1], effectAlpha(several))
	if err != nil {
		return e, err
	}
	limits := 2*kept > with.Runs && 2*keptWithout <= without.Runs && without.Runs > 0
	if len(compared) > 0 {
		e.By = &compared[0]
		gain := float64(e.By.Shift) * map[bool]float64{true: 1, false: -1}[o.By.Of().HigherIsBetter]
		if pooled != nil {
			gain, _ = pooled.Gain(sp.together(found), sp.together(back))
		}
		switch {
		case e.By.Clear && e.By.Verdict == Better:
			e.Brings = BringsGain
		case without.Runs >= o.Repeats && !limits && (gain < worthwhile || math.IsNaN(gain)):
			e.Brings = BringsNothing
		}
	}
	if limits && e.Brings != BringsGain {
		e.Brings = BringsLimits
	}
	return e, nil
}
