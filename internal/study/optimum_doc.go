package study

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// OptimumDoc has the best settings of a load, what each of them brings, and all that was tried.
type OptimumDoc struct {
	Best    Best     `json:"best"`
	Effects []Effect `json:"effects"` // of each value that the search changed, taken back alone
	Tried   []Tried  `json:"tried"`   // those that keep the limits first, and then by the metric
	Pareto  []int    `json:"pareto"`  // places in Tried: nothing that was tried is better than one of these in both Axes
	Axes    []Metric `json:"axes"`
	Proven  bool     `json:"proven"`         // the proof is over
	Tune    *TuneDoc `json:"tune,omitempty"` // nil: nothing that kt tune proposes was tried
}

// TuneDoc says which of the settings that kt tune knows do anything for the load, on the brokers' hosts as they are.
type TuneDoc struct {
	Did      []string          `json:"did"`      // by their IDs: it is worse without one of them
	Unsure   []string          `json:"not_told"` // the search has them among the best, and the runs cannot tell one of them
	Nothing  []string          `json:"nothing"`
	NotTried map[HostState]int `json:"not_tried"`
	Sentence string            `json:"sentence,omitempty"` // "": the search is not over
}

// tuned fills in what the settings that kt tune proposes did.
func (o *Optimum) tuned(d *Document) {
	t := &TuneDoc{Did: []string{}, Unsure: []string{}, Nothing: []string{}, NotTried: o.Tune}
	for _, f := range d.Study.Factors {
		id, is := strings.CutPrefix(f.Name, tunePrefix)
		i := slices.IndexFunc(d.Optimum.Effects, func(e Effect) bool { return e.Setting == f.Name && e.Brings != BringsNothing })
		switch {
		case !is:
		case i < 0:
			t.Nothing = append(t.Nothing, id)
		case d.Optimum.Effects[i].Brings == BringsGain:
			t.Did = append(t.Did, id)
		default: // that a limit breaks in more of the runs without it may be noise
			t.Unsure = append(t.Unsure, id)
		}
	}
	if d.Optimum.Tune = t; d.Over {
		t.Sentence = say("tuned", t)
	}
}

// Best are the settings that the search ends with.
type Best struct {
	Changes []Flag    `json:"changes"`         // values that differ from the present ones; none: the present settings are as good
	At      []Flag    `json:"settings"`        // the value of each factor
	Better  bool      `json:"better"`          // than the present settings, as the proof shows
	Keeps   bool      `json:"keeps_limits"`    // in the median run of the proof, or before it of the search
	Against []Against `json:"proof,omitempty"` // empty: there is nothing to compare with

	verdict.Verdict // of the runs with these settings: what the limit was

	Copied
}

// Against is the proof of the best settings against others.
type Against struct {
	Name    string     `json:"name"` // present, defaults, or all that the search changed
	At      []Flag     `json:"settings"`
	Other   Side       `json:"other"`
	Best    Side       `json:"best"`
	Effects []Compared `json:"effects"`
	Better  bool       `json:"better"`
	Clear   bool       `json:"clear"`
	Breaks  bool       `json:"breaks_limits"` // most runs with the others break a limit: the best are better if they keep them
}

// The names of what the best settings are compared with.
const (
	AgainstPresent  = "the present settings"
	AgainstDefaults = "Kafka's defaults"
	AgainstAll      = "all that the search changed"
)

// Effect is what a setting brings: runs with it against runs in which it alone is as it was.
type Effect struct {
	Setting string    `json:"setting"`         // or a group
	Group   string    `json:"group,omitempty"` // of the setting: "": none, or it is the group itself
	Value   string    `json:"value"`
	Before  string    `json:"before"`
	Brings  Brings    `json:"brings"`
	By      *Compared `json:"by,omitempty"` // nil: the runs are not made, or failed
}

// Brings says whether a setting is worth having.
type Brings string

// The kinds of settings.
const (
	BringsGain    Brings = "gain"
	BringsLimits  Brings = "limits" // without it a limit breaks
	BringsUnsure  Brings = "not told"
	BringsNothing Brings = "nothing" // and so it is taken back
)

// worthwhile is the share of the metric that a setting must seem to bring to stay, although the runs cannot tell it.
const worthwhile = 0.01

// Tried is a cell that was run.
type Tried struct {
	At []Flag `json:"settings"`
	CellFigures
	Runs int `json:"runs"`
	Kept int `json:"runs_that_keep_limits"`
}

// Keeps reports whether more than half of the runs keep the limits.
func (t *Tried) Keeps() bool { return 2*t.Kept > t.Runs }

// Changed returns the values of a cell that are not the present ones.
func (o *Optimum) Changed(at []Flag) []Flag {
	return slices.DeleteFunc(slices.Clone(at), func(f Flag) bool { return slices.Contains(o.Present, f) })
}

// Named returns what a cell is called: the values that are not the present ones.
func (o *Optimum) Named(at []Flag) string {
	return cmp.Or(Cell{At: o.Changed(at)}.String(), asItIs)
}

// sentence says what was found.
func (o *Optimum) sentence(d *Document) string {
	about := struct {
		*OptimumDoc
		ID               string
		By               Metric
		SLO, Unsure      []string
		Measured         int // settings that have a value of By
		Over, Kept, Ours bool
		PresentKeeps     bool
		Told             bool // the metric is better than with the present settings, whether limits are kept or not
	}{OptimumDoc: d.Optimum, ID: d.ID, By: o.By, SLO: d.Study.limits(), Over: d.Over, Ours: ofClient(d.Optimum.Best.Limit)}
	for i := range d.Optimum.Tried {
		t := &d.Optimum.Tried[i]
		about.PresentKeeps = about.PresentKeeps || t.Keeps() && len(o.Changed(t.At)) == 0
		if about.Kept = about.Kept || t.Keeps(); t.Measures[o.By].N > 0 {
			about.Measured++
		}
	}
	for _, a := range d.Optimum.Best.Against {
		about.Told = about.Told || a.Name == AgainstPresent && a.Clear && a.Effects[0].Verdict == Better
	}
	for _, e := range d.Optimum.Effects {
		if e.Brings == BringsUnsure && slices.Contains(d.Study.factorNames(), e.Setting) {
			about.Unsure = append(about.Unsure, e.Setting)
		}
	}
	return say("optimum", about)
}

// sides returns what the proof compares: the best settings first.
func (d *Document) sides(found, present []int) [][]int {
	sp, o := d.Study.space(), d.Study.Optimum
	best := slices.Clone(found)
	for i, f := range d.Study.Factors {
		if slices.ContainsFunc(d.Optimum.Effects, func(e Effect) bool { return e.Setting == f.Name && e.Brings == BringsNothing }) {
			best[i] = present[i]
		}
	}
	var sides [][]int
	for _, levels := range [][]int{best, found, present, sp.at(o.Defaults)} {
		if !slices.ContainsFunc(sides, func(o []int) bool { return slices.Equal(o, levels) }) {
			sides = append(sides, levels)
		}
	}
	return sides
}

// conclude says what was found so far.
func (o *Optimum) conclude(d *Document) (err error) {
	d.Optimum = &OptimumDoc{Effects: []Effect{}, Tried: []Tried{}, Pareto: []int{}}
	if err := o.tried(d); err != nil {
		return err
	}
	sp := d.Study.space()
	present := sp.at(o.Present)
	d.Optimum.Best.At, d.Optimum.Best.Changes, d.Optimum.Best.Limit = o.Present, []Flag{}, verdict.Unknown
	surface, found, err := o.found(d)
	if err != nil || surface == nil {
		d.Sentence = o.sentence(d)
		return err
	}
	if err := o.effects(d, found, present); err != nil {
		return err
	}
	sides := d.sides(found, present)
	best := sides[0]
	all := len(sides) > 1 && !slices.Equal(best, found) // some that seemed to bring nothing may bring it together
	if all {
		worse, err := o.against(d, AgainstAll, best, found)
		if err != nil {
			return err
		}
		if len(worse.Effects) > 0 && worse.Effects[0].Metric == o.By && worse.Effects[0].Verdict == Lesser {
			best = found
		} else {
			d.Optimum.Best.Against = append(d.Optimum.Best.Against, worse)
		}
	}
	for _, other := range []struct {
		name string
		at   []int
	}{{AgainstPresent, present}, {AgainstDefaults, sp.at(o.Defaults)}} {
		if slices.Equal(best, other.at) || slices.ContainsFunc(d.Optimum.Best.Against, func(a Against) bool { return slices.Equal(sp.at(a.At), other.at) }) {
			continue
		}
		a, err := o.against(d, other.name, best, other.at)
		if err != nil {
			return err
		}
		d.Optimum.Best.Against = append(d.Optimum.Best.Against, a)
	}
	o.best(d, sp, best)
	made := d.inPhase(Prove)
	d.Optimum.Proven = d.open() == nil && (made >= o.Looks[len(o.Looks)-1]*len(sides) || made > 0 && !slices.ContainsFunc(d.Optimum.Best.Against, func(a Against) bool { return !a.Clear }))
	if len(sides) == 1 {
		d.Optimum.Proven = d.Over
	}
	d.Optimum.Best.Better = d.Optimum.Proven && slices.ContainsFunc(d.Optimum.Best.Against, func(a Against) bool { return a.Name == AgainstPresent && a.Better })
	if o.Tune != nil {
		o.tuned(d)
	}
	d.Sentence = o.sentence(d)
	return nil
}

// best fills in the best settings.
func (o *Optimum) best(d *Document, sp *space, best []int) {
	c := sp.cell(best)
	d.Optimum.Best.At, d.Optimum.Best.Changes, d.Optimum.Best.Copied = c.At, o.Changed(c.At), d.Study.copied(c.At)
	for i := range d.Optimum.Tried {
		if t := &d.Optimum.Tried[i]; slices.Equal(t.At, c.At) {
			d.Optimum.Best.Keeps = t.Keeps()
		}
	}
	runs := d.runs(c.Index, Prove)
	if len(runs) == 0 {
		runs = d.runs(c.Index, Screen, Seek, Ablate)
	}
	if len(runs) > 0 {
		last := runs[len(runs)-1][0]
		d.Optimum.Best.Verdict = verdict.Verdict{Limit: last.Limit, Evidence: last.Evidence}
	}
}

// axes returns the metric, and a latency that is judged. A workload has those of its loads alone.
func (o *Optimum) axes(s *Study, cells []CellDoc) []Metric {
	var latencies []Metric
	for _, r := range o.rules() {
		if r.metric.Of().Unit == metric.Time {
			latencies = append(latencies, r.metric)
		}
	}
	latencies = append(latencies, metric.P99)
	for _, l := range s.Loads[0].Loads {
		latencies = append(latencies, named(l.Name, Metric(metric.P99)))
	}
	y := max(0, slices.IndexFunc(latencies, func(m Metric) bool {
		return slices.ContainsFunc(cells, func(c CellDoc) bool { return c.Measures[m].N > 0 })
	}))
	if latencies[y] == o.By {
		return []Metric{metric.CPU, o.By}
	}
	return []Metric{o.By, latencies[y]}
}

// limits returns what each run has to keep: also the limits of its loads.
func (s *Study) limits() []string {
	all := mapped(s.SLO(), metric.Expr.String)
	for _, l := range append(s.Loads[:1:1], s.Loads[0].Loads...) {
		for _, f := range l.Flags {
			if f.Name == "limit" {
				all = append(all, named(l.Name, f.Value))
			}
		}
	}
	return once(all)
}

// tried fills in the cells that were run, and which of them nothing is better than in both axes.
func (o *Optimum) tried(d *Document) error {
	cells, err := d.cells()
	if err != nil {
		return err
	}
	d.Optimum.Axes = o.axes(d.Study, cells)
	for i := range cells {
		c := &cells[i]
		if len(c.Runs) == 0 {
			continue
		}
		t := Tried{At: c.cell.At, CellFigures: c.CellFigures, Runs: len(c.Runs)}
		for _, r := range c.Runs {
			if keeps(r.Loads) {
				t.Kept++
			}
			if r.Loads[0].Target == 0 {
				d.Optimum.Axes[0] = metric.Rate
			}
		}
		d.Optimum.Tried = append(d.Optimum.Tried, t)
	}
	value := func(t *Tried) float64 { // less is better
		if s := t.Measures[o.By]; s.N > 0 {
			return s.Median * map[bool]float64{true: -1, false: 1}[o.By.Of().HigherIsBetter]
		}
		return math.Inf(1)
	}
	breaks := func(t *Tried) int { return map[bool]int{false: 1}[t.Keeps()] }
	slices.SortStableFunc(d.Optimum.Tried, func(a, b Tried) int { return cmp.Or(breaks(&a)-breaks(&b), cmp.Compare(value(&a), value(&b))) })
	better := func(a, b *Tried) bool { // in one axis, and not worse in the other
		strictly := false
		for _, m := range d.Optimum.Axes {
			x, y := a.Measures[m].Median, b.Measures[m].Median
			if m.Of().HigherIsBetter {
				x, y = -x, -y
			}
			if x > y {
				return false
			}
			strictly = strictly || x < y
		}
		return strictly
	}
	for i := range d.Optimum.Tried {
		t := &d.Optimum.Tried[i]
		has := t.Measures[d.Optimum.Axes[0]].N > 0 && t.Measures[d.Optimum.Axes[1]].N > 0
		if has && !slices.ContainsFunc(d.Optimum.Tried, func(o Tried) bool {
			return o.Measures[d.Optimum.Axes[0]].N > 0 && o.Measures[d.Optimum.Axes[1]].N > 0 && better(&o, t)
		}) {
			d.Optimum.Pareto = append(d.Optimum.Pareto, i)
		}
	}
	slices.SortFunc(d.Optimum.Pareto, func(i, j int) int {
		return cmp.Compare(d.Optimum.Tried[i].Measures[d.Optimum.Axes[0]].Median, d.Optimum.Tried[j].Measures[d.Optimum.Axes[0]].Median)
	})
	return nil
}
