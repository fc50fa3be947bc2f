package study

import (
	"errors"
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/result/metric"
)

// Optimum is a search for the values of the factors with which a load is best by a metric and keeps limits, and the proof of what was
// found. The next runs follow from those that were made, and from nothing else.
//
// A screening tries values far apart. Then each block of runs has the best so far and what is the most likely to be better, until
// nothing within reach is. Each value that was changed is taken back alone, and what brings nothing goes. What is left is compared with
// the present settings and with Kafka's own, in turns.
type Optimum struct {
	By       Metric        `json:"by"`
	SLO      []metric.Expr `json:"slo,omitempty"` // what a run has to keep
	Present  []Flag        `json:"present"`       // the value that each factor has now
	Defaults []Flag        `json:"defaults"`      // those of Kafka
	Most     int           `json:"most_runs"`     // of the screening and the search
	Repeats  int           `json:"repeats"`       // of each value that is taken back
	Looks    []int         `json:"looks"`         // of the proof: repeats after which sides are compared
	Delta    float64       `json:"delta"`         // differences of at most this share do not matter

	Tune map[HostState]int `json:"tune,omitempty"` // settings of the brokers' hosts that kt tune knows and the search does not try; nil: it is not about them
}

// Phase is what a run of a search for the best settings is for.
type Phase string

// The phases.
const (
	Screen Phase = "screening"
	Seek   Phase = "search"
	Ablate Phase = "effects"  // each value is taken back alone, of a group all at once
	Apart  Phase = "settings" // each value of a group that is worth having is taken back alone
	Prove  Phase = "proof"
)

const (
	screened  = 18 // runs of the screening, beside those with the present settings
	between   = 6  // runs of it after which the present settings are run again
	blockSize = 4  // of the search
	mostRuns  = 60 // of both: see docs/optimize.md for what they find

	leastRepeats = 4 // of what is taken back, where time is short

	asItIs = "as it is" // what the present cell is called

	// tell is the expected gain, as a share, below which the search ends: a tenth of what matters.
	tell = 0.0008
)

// NewOptimum returns the search for the best values of some factors of a load.
func NewOptimum(l Load, factors []Factor, o Optimum) (*Study, error) {
	o.Most, o.Repeats, o.Looks = mostRuns, 6, []int{6, 12}
	s := &Study{Name: "optimize", About: "Which settings are best?", Loads: []Load{l}, Factors: factors, Repeats: 1, Order: Listed, Discard: 1, Optimum: &o}
	return s, errors.Join(s.problems()...)
}

// space is the factors as settings with levels. Factors of a group are one setting.
type space struct {
	optimum  *Optimum
	factors  []Factor
	settings []inference.Setting
	of       [][]int // the places of the factors of each setting
}

func (s *Study) space() *space {
	sp := &space{optimum: s.Optimum, factors: s.Factors}
	for i, f := range s.Factors {
		if at := slices.IndexFunc(sp.of, func(of []int) bool { return f.Group != "" && s.Factors[of[0]].Group == f.Group }); at >= 0 {
			sp.of[at] = append(sp.of[at], i)
			continue
		}
		sp.settings, sp.of = append(sp.settings, inference.Setting{Levels: len(f.Values), Ordered: f.isOrdered()}), append(sp.of, []int{i})
	}
	return sp
}

// together returns the levels of the settings, of those of the factors.
func (sp *space) together(levels []int) []int {
	return mapped(sp.of, func(of []int) int { return levels[of[0]] })
}

// each returns the levels of the factors, of those of the settings.
func (sp *space) each(settings []int) []int {
	levels := make([]int, len(sp.factors))
	for at, of := range sp.of {
		for _, i := range of {
			levels[i] = settings[at]
		}
	}
	return levels
}

// screened returns how many runs the screening has beside those with the present settings: two a cell of a few.
func (sp *space) screened() int {
	n := 2
	for _, setting := range sp.settings {
		n = min(n*setting.Levels, screened)
	}
	return n
}

// isOrdered reports whether the values are numbers, sizes or times in growing order.
func (f *Factor) isOrdered() bool {
	var all []int64
	for _, v := range f.Values {
		n, _, err := parseQuantity(v)
		if err != nil {
			return false
		}
		all = append(all, n)
	}
	return slices.IsSorted(all) && len(all) > 2
}

// at returns the levels of some values.
func (sp *space) at(values []Flag) []int {
	levels := make([]int, len(sp.factors))
	for i, f := range sp.factors {
		for _, v := range values {
			if v.Name == f.Name {
				levels[i] = max(0, slices.Index(f.Values, v.Value))
			}
		}
	}
	return levels
}

// cell returns the cell of some levels. Its number is that of the levels, as digits. It is called by what it changes.
func (sp *space) cell(levels []int) (c Cell) {
	for i, f := range sp.factors {
		c.Index = c.Index*len(f.Values) + levels[i]
		c.At = append(c.At, Flag{f.Name, f.Values[levels[i]]})
	}
	c.called = sp.optimum.Named(c.At)
	return c
}

// cells returns the present settings, Kafka's own and those that differ from the present in one value: they have every value that a
// run may have.
func (o *Optimum) cells(s *Study) []Cell {
	sp := s.space()
	present := sp.at(o.Present)
	all := [][]int{present, sp.at(o.Defaults)}
	for i, f := range s.Factors {
		for level := range f.Values {
			all = append(all, with(present, i, level))
		}
	}
	var cells []Cell
	for i, levels := range all {
		c := sp.cell(levels)
		if i == 1 {
			c.called = AgainstDefaults
		}
		if !slices.ContainsFunc(cells, func(o Cell) bool { return o.Index == c.Index }) {
			cells = append(cells, c)
		}
	}
	return cells
}

func with(levels []int, i, level int) []int {
	changed := slices.Clone(levels)
	changed[i] = level
	return changed
}

func (o *Optimum) next(d *Document) ([]Turn, error) {
	sp := d.Study.space()
	present := sp.at(o.Present)
	turns := func(phase Phase, blocks ...[][]int) (all []Turn) {
		made, before := 0, d.inPhase(phase)
		if len(d.turns) > 0 {
			made = d.turns[len(d.turns)-1].Repeat
		}
		for i, block := range blocks {
			for _, levels := range block {
				all = append(all, Turn{Cell: sp.cell(levels), Repeat: made + i + 1, Phase: phase, Step: before + len(all) + 1})
			}
		}
		for i := 0; i < len(all) && phase != Seek; i++ {
			all[i].Steps = before + len(all)
		}
		return all
	}
	if len(d.turns) == 0 {
		var first []Turn
		for range d.Study.Discard {
			first = append(first, Turn{Cell: sp.cell(present), Phase: Screen})
		}
		return append(first, turns(Screen, sp.screening(present, d.Study.Seed))...), nil
	}
	surface, found, err := o.found(d)
	if err != nil || surface == nil {
		return nil, err
	}
	switch d.turns[len(d.turns)-1].Phase {
	case Screen, Seek:
		n := min(blockSize, o.Most-d.inPhase(Screen, Seek)) - 1
		next := surface.Next(sp.together(found), max(n, 0), tell, d.cannotHave)
		if len(next) > 0 || n > 0 && len(d.runs(sp.cell(found).Index, Screen, Seek)) == 0 { // whether it can be had is known then
			return turns(Seek, append(mapped(next, sp.each), found)), nil
		}
		if back := sp.taken(found, present); len(back) > 0 {
			return turns(Ablate, inTurns(o.repeats(len(back)), append([][]int{found}, back...))...), nil
		}
		fallthrough
	case Ablate:
		if err := o.conclude(d); err != nil {
			return nil, err
		}
		if back := d.apart(found, present); len(back) > 0 {
			return turns(Apart, inTurns(o.repeats(len(sp.factors)), append([][]int{found}, back...))...), nil
		}
		fallthrough
	default: // the next look of the proof
		if err := o.conclude(d); err != nil || d.Optimum.Proven {
			return nil, err
		}
		sides := d.sides(found, present)
		made := d.inPhase(Prove) / len(sides)
		look := slices.IndexFunc(o.Looks, func(n int) bool { return n > made })
		if len(sides) < 2 || look < 0 {
			return nil, nil
		}
		return turns(Prove, inTurns(o.Looks[look]-made, sides)...), nil
	}
}

// screening returns the first block: values far apart, with the present ones between them.
func (sp *space) screening(present []int, seed uint64) (block [][]int) {
	for i, levels := range inference.Screening(sp.settings, sp.screened(), seed) {
		if i%between == 0 {
			block = append(block, present)
		}
		block = append(block, sp.each(levels))
	}
	return append(block, present)
}

// inTurns returns a block as often as it is repeated, every other time from its end.
func inTurns(repeats int, block [][]int) [][][]int {
	blocks := make([][][]int, repeats)
	for i := range blocks {
		if blocks[i] = slices.Clone(block); i%2 == 1 {
			slices.Reverse(blocks[i])
		}
	}
	return blocks
}

// taken returns some levels with each setting that is not present taken back alone.
func (sp *space) taken(found, present []int) (all [][]int) {
	for _, of := range sp.of {
		if back := slices.Clone(found); found[of[0]] != present[of[0]] {
			for _, i := range of {
				back[i] = present[i]
			}
			all = append(all, back)
		}
	}
	return all
}

// apart returns some levels with each factor taken back alone that is of a group which does not bring nothing.
func (d *Document) apart(found, present []int) (all [][]int) {
	for i, f := range d.Study.Factors {
		is := func(e Effect) bool { return e.Setting == f.Name && e.Group != "" && e.Brings != BringsNothing }
		if slices.ContainsFunc(d.Optimum.Effects, is) {
			all = append(all, with(found, i, present[i]))
		}
	}
	return all
}

// repeats returns how often each of several values is taken back: enough for runs that are all worse without it to show that, except
// where time is short.
func (o *Optimum) repeats(several int) int {
	n := o.Repeats
	for n > leastRepeats && inference.Detectable(1, n, n, effectAlpha(several)) == 0 {
		n++
	}
	return n
}

// effectAlpha is the share of false alarms of each of several values that are taken back: the proof has as many.
func effectAlpha(several int) float64 { return alpha / float64(2*several) }

func (d *Document) inPhase(phases ...Phase) (n int) {
	for _, t := range d.turns {
		if t.Repeat > 0 && slices.Contains(phases, t.Phase) {
			n++
		}
	}
	return n
}

// cannotHave reports whether levels of the settings are of a cell that was left out, as far as the runs of the document know it: the log may
// be of a later time, and the same runs have to follow from the same runs.
func (d *Document) cannotHave(settings []int) bool {
	if len(d.state.leftOut) == 0 {
		return false
	}
	sp := d.Study.space()
	index := sp.cell(sp.each(settings)).Index
	return d.state.leftOut[index] != "" && slices.ContainsFunc(d.turns, func(t Turn) bool { return t.Cell.Index == index })
}

// found returns the surface of the runs of the screening and the search, and what is best on it; nil: nothing was measured. What was left
// out is as what failed.
func (o *Optimum) found(d *Document) (*inference.Surface, []int, error) {
	surface, err := o.surface(d, Screen, Seek)
	if err != nil || surface == nil {
		return nil, nil, err
	}
	return surface, d.Study.space().each(surface.Best(d.cannotHave)), nil
}

// surface returns what the runs of some phases show; nil: nothing was measured.
func (o *Optimum) surface(d *Document, phases ...Phase) (*inference.Surface, error) {
	sp := d.Study.space()
	var samples []inference.Sample
	measured := false
	for _, t := range d.turns {
		if t.Repeat == 0 || !d.state.isDone(t) || !slices.Contains(phases, t.Phase) {
			continue
		}
		one := inference.Sample{At: sp.together(sp.at(t.Cell.At)), Value: math.Inf(-1)}
		if d.state.counts(t) {
			loads, err := d.folder.figures(t)
			if err != nil {
				return nil, err
			}
			one.Value, one.Slack = o.value(&loads[0]), slacks(loads)
		}
		samples, measured = append(samples, one), measured || !math.IsInf(one.Value, -1)
	}
	if !measured {
		return nil, nil
	}
	return inference.NewSurface(sp.settings, samples), nil
}

// broken is the slack of a limit whose value is not known, and the least that counts: what breaks it more is no worse.
const broken = 1

// value returns the metric of a run as a logarithm of which more is better; -Inf: it failed.
func (o *Optimum) value(l *LoadFigures) float64 {
	v, ok := l.Measures[o.By]
	if v = max(v, o.By.Of().Floor); !ok || v <= 0 || slices.Contains(l.FailedMetrics, o.By) {
		return math.Inf(-1)
	}
	if o.By.Of().HigherIsBetter {
		return math.Log(v)
	}
	return -math.Log(v)
}

// slacks returns how far each limit of a run was kept: the first is its rate, and that it is valid.
func slacks(loads []LoadFigures) []float64 {
	rate := broken * 1.0
	for i := range loads {
		if l := &loads[i]; !l.Valid || l.Target > 0 && l.Measures[metric.Rate] < kept*l.Target || l.Failed > 0 {
			rate = -broken
		}
	}
	all := []float64{rate}
	for i := range loads {
		for j := range loads[i].SLO {
			limit := &loads[i].SLO[j]
			e, err := metric.Parse(limit.Expression)
			slack := -broken * 1.0
			switch {
			case err != nil || limit.Value == nil || *limit.Value == metric.Failed:
			case e.Over > 0 || e.Than == 0:
				slack = map[bool]float64{true: broken, false: -broken}[limit.Held]
			default:
				slack = math.Log(e.Than / max(*limit.Value, e.Than*math.Exp(-broken)))
				if e.Op == ">" || e.Op == ">=" {
					slack = -slack
				}
				if slack = max(-broken, min(slack, broken)); limit.Held != (slack >= 0) {
					slack = map[bool]float64{true: 0.001, false: -0.001}[limit.Held]
				}
			}
			all = append(all, slack)
		}
	}
	return all
}
