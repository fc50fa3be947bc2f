package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// overhead is what a run takes beside its load: its topic is made and deleted, clients connect, and records drain.
const overhead = time.Second

// first returns the runs that a search begins with, those that do not count too.
func (o *Optimum) first(s *Study) []Turn {
	turns, _ := o.next(&Document{Study: s}) // nothing is read of runs
	return turns
}

// runs returns how many runs a search makes at least and at most.
func (o *Optimum) runs(s *Study) (least, most int) {
	sides := 4
	least = len(o.first(s))
	if slices.Equal(o.Present, o.Defaults) {
		sides--
	} else {
		least += 2 * o.Looks[0]
	}
	sp := s.space()
	back := (1 + len(sp.settings)) * o.repeats(len(sp.settings))
	if len(sp.settings) < len(s.Factors) { // those of groups, alone
		back += (1 + len(s.Factors)) * o.repeats(len(s.Factors))
	}
	return least, s.Discard + o.Most + back + sides*o.Looks[len(o.Looks)-1]
}

// goesWith reports whether a load takes the values of a cell when one more of them is another one: acks=1 allows what acks=all does not.
func (s *Study) goesWith(c Cell, l Load, plansOf func(Load) ([]plan.Plan, error)) bool {
	sp := s.space()
	levels := sp.at(c.At)
	for i, f := range s.Factors {
		for level := range f.Values {
			other := sp.cell(with(levels, i, level))
			if _, err := plansOf(s.planned(other, l)); err == nil && len(s.Optimum.Changed(other.At)) > len(s.Optimum.Changed(c.At)) {
				return true
			}
		}
	}
	return false
}

// needs reports whether a search for the best settings cannot go on without a run: it is of the present settings, or of a cell whose other
// runs were made, from which other runs followed.
func (d *Document) needs(t Turn) bool {
	return d.Study.Optimum != nil && (t.Cell.Index == d.turns[0].Cell.Index || slices.ContainsFunc(d.turns, func(o Turn) bool {
		return o.Cell.Index == t.Cell.Index && d.state.done[o.Number]
	}))
}

// Fit makes a search so small that all its runs take at most a time. plansOf is as that of a Runner.
func (s *Study) Fit(budget time.Duration, plansOf func(Load) ([]plan.Plan, error)) error {
	o, f := s.Optimum, new(Forecast)
	one, err := f.loads(plansOf, s.planned(s.Cells()[0], s.Loads[0]), nil)
	if err != nil || math.IsNaN(one.seconds) {
		return cmp.Or(err, errors.New("--budget: how long a run takes is not known, because the load ends after its records: add --run-time"))
	}
	run := time.Duration(one.seconds*float64(time.Second)) + overhead + s.Rest.Std()
	screening, looks := len(o.first(s))-s.Discard, o.Looks
	for _, size := range []struct{ looks, repeats, from, to int }{ // the less, the less is found, or proved
		{len(looks), o.Repeats, mostRuns, 2 * mostRuns / 3},
		{1, o.Repeats, mostRuns, screening},
		{1, leastRepeats, 2 * mostRuns / 3, screening},
	} {
		o.Looks, o.Repeats = looks[:size.looks], size.repeats
		for o.Most = size.from; o.Most >= size.to; o.Most-- {
			if _, most := o.runs(s); time.Duration(most)*run <= budget {
				return nil
			}
		}
	}
	o.Most = screening
	_, most := o.runs(s)
	return fmt.Errorf("--budget %s: a search over %s takes up to %d runs of %s, so at least %s: give it more, or let it have shorter runs (--run-time, --rest) or fewer settings (--over)",
		theme.Duration(budget), theme.Plural(len(s.Factors), "setting", "settings"), most, theme.Duration(run), theme.Duration(time.Duration(most)*run))
}
