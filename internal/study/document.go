package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
)

// Schema is the version of Document. It changes when a field changes its meaning or goes away, not
// when one is added.
const Schema = 1

// Document has what a study says. It is made of the study's folder alone. The policy of the study fills a section.
type Document struct {
	Schema   int      `json:"schema"`
	ID       string   `json:"id"`
	Study    *Study   `json:"study"`
	Over     bool     `json:"over"`                // false: runs are missing
	Sentence string   `json:"sentence,omitempty"`  // what a search or a trial has found
	NotEqual []string `json:"not_equal,omitempty"` // between the systems that were compared, each in a sentence

	Doubted
	*GridDoc
	*FindDoc
	*TrialDoc
	*WholeDoc
	Optimum *OptimumDoc `json:"optimum,omitempty"` // of a search for the best settings

	Embedded bool `json:"-"` // runs of the study were of the broker inside kt

	folder  *Folder
	state   *state
	turns   []Turn        // as far as they are known
	raised  doubts        // of its runs, or of those of its parts
	systems []plan.System // if there are several
}

// GridDoc has the cells of a study, and the answers to its questions.
type GridDoc struct {
	Runs      int         `json:"runs_done"`
	Wanted    int         `json:"runs_wanted"` // without the cells that were left out
	Cells     []CellDoc   `json:"cells"`
	Answers   []Answer    `json:"answers"`
	Published []Published `json:"published"`

	ends map[string]SearchEnd // by the values of the other factors
}

// CellDoc is a cell with its runs.
type CellDoc struct {
	cell Cell

	At      map[string]string `json:"at"`
	LeftOut string            `json:"left_out,omitempty"` // why it was not made
	CellFigures
	Beside []CellFigures `json:"beside,omitempty"` // the other loads of its runs
	Runs   []RunDoc      `json:"runs"`
}

// RunDoc is one run: what its loads did, or of a forecast the values of its cell.
type RunDoc struct {
	Turn   int               `json:"turn"`
	Repeat int               `json:"repeat"`
	At     map[string]string `json:"at,omitzero"`
	Loads  []LoadFigures     `json:"loads,omitzero"`
}

// policy decides which runs a study makes, and what they say. Each is in a file of its own.
type policy interface {
	// next returns the runs that follow those of a document, which were made; none: the study is over.
	next(d *Document) ([]Turn, error)
	// conclude fills the section of the policy.
	conclude(d *Document) error
}

func (s *Study) policy() policy {
	switch {
	case len(s.Parts) > 0:
		return whole{}
	case s.Find != nil:
		return s.Find
	case s.Trial != nil:
		return s.Trial
	case s.Optimum != nil:
		return s.Optimum
	}
	return grid{}
}

// known returns a document of the runs of a study, as far as those that were made decide them, and nothing else.
func (f *Folder) known() (*Document, error) {
	d := &Document{Schema: Schema, ID: f.ID, Study: f.Study, folder: f, state: f.state(), turns: slices.Clip(f.done)}
	for {
		more, err := f.Study.policy().next(d)
		if err != nil || len(more) == 0 {
			d.Over = err == nil
			return d, err
		}
		for _, t := range more {
			t.Number = len(d.turns) + 1
			if cell, begun := d.state.begun[t.Number]; begun && d.state.done[t.Number] && cell != t.Cell.Index { // else its figures were taken for others
				return d, fmt.Errorf("run %d of study %s was made with other settings than follow from the runs before it: another version of kt may have made it; go on with that one", t.Number, d.ID)
			}
			d.turns = append(d.turns, t)
		}
		if d.open() != nil {
			return d, nil
		}
		f.done = d.turns
	}
}

// open returns the first run that is not made; nil: all are that are known.
func (d *Document) open() *Turn {
	if i := slices.IndexFunc(d.turns, func(t Turn) bool { return !d.state.isDone(t) }); i >= 0 {
		return &d.turns[i]
	}
	return nil
}

// count returns how many of the runs that count are done, and how many there are as far as it is known.
func (d *Document) count() (done, wanted int) {
	for _, t := range d.turns {
		if d.state.counts(t) {
			if wanted++; d.state.isDone(t) {
				done++
			}
		}
	}
	return done, wanted
}

// Document reads the run files of a study and returns what they say.
func (f *Folder) Document() (*Document, error) {
	d, err := f.known()
	if systems := f.Study.Systems(); len(systems) > 1 {
		d.systems = systems
		d.NotEqual = mapped(systems, func(system plan.System) string { return say(string(system), nil) })
	}
	if err == nil {
		err = f.Study.policy().conclude(d)
	}
	if err == nil {
		err = d.doubt()
	}
	d.Embedded = d.Embedded || f.embedded
	return d, err
}

// Faulty reports whether a fault was seen, or records failed or were lost.
func (d *Document) Faulty() (faulty bool) {
	for _, c := range d.Cells {
		for _, r := range c.Runs {
			for _, l := range r.Loads {
				lost := slices.ContainsFunc(l.effects()[:3], func(n *int64) bool { return n != nil && *n > 0 })
				faulty = faulty || lost || l.Outage != nil && l.Outage.BeganWith != ""
			}
		}
	}
	return faulty
}

// cells returns the cells of the runs that are known, each with those that were made.
func (d *Document) cells() (cells []CellDoc, err error) {
	at := make(map[int]int) // the places of cells by their numbers
	for _, t := range d.turns {
		i, ok := at[t.Cell.Index]
		if !ok {
			i, at[t.Cell.Index] = len(cells), len(cells)
			cells = append(cells, CellDoc{cell: t.Cell, At: t.Cell.Values(), LeftOut: d.state.leftOut[t.Cell.Index], Runs: []RunDoc{}})
		}
		if d.state.counts(t) && d.state.isDone(t) {
			loads, err := d.folder.figures(t)
			if err != nil {
				return nil, err
			}
			cells[i].Runs = append(cells[i].Runs, RunDoc{Turn: t.Number, Repeat: t.Repeat, Loads: loads})
		}
	}
	for i := range cells {
		cells[i].conclude()
	}
	slices.SortFunc(cells, func(a, b CellDoc) int { return d.Study.order(a.cell, b.cell) })
	return cells, nil
}

// of returns the figures of a load of the runs of a cell.
func (c *CellDoc) of(load int) figures {
	return mapped(c.Runs, func(r RunDoc) *LoadFigures { return &r.Loads[load] })
}

// WholeDoc has what the parts of a study say, and the systems in it side by side.
type WholeDoc struct {
	Parts      []PartDoc     `json:"parts"`                     // those that were begun
	Systems    []plan.System `json:"systems,omitempty"`         // those that were compared
	SideBySide []SystemBest  `json:"side_by_side,omitempty"`    // what each part found of each system
	OneLess    *OneLess      `json:"one_broker_less,omitempty"` // of a search that was made again while a broker was stopped
}

// PartDoc is what a part says: Find of a search, Study of another part.
type PartDoc struct {
	Name  string    `json:"name"`
	Study *Document `json:"study,omitempty"`
	Find  *Document `json:"find,omitempty"`
}

// SystemBest is what a part found of one system: the highest peak of its searches, or the best of its cells.
type SystemBest struct {
	Part      string         `json:"part"`
	System    plan.System    `json:"system"`
	At        string         `json:"at,omitempty"`        // the other values of the cell, if the system has several
	By        Metric         `json:"by,omitempty"`        // what made it the best; "": the part asks nothing, and is about faults
	Peak      *PeakRate      `json:"peak,omitempty"`      // of a search
	Over      bool           `json:"over"`                // false: a search that was cut off, or runs are missing
	Cell      *CellFigures   `json:"cell,omitempty"`      // of another part
	Published []SystemFigure `json:"published,omitempty"` // by the tests that the part names
}

// SystemFigure is what a published test measured of one system.
type SystemFigure struct {
	PublishedCase

	MBSecond float64 `json:"mb_per_second,omitempty" yaml:"mb-per-second"`       // in millions of bytes
	P99      float64 `json:"latency_p99_us,omitempty" yaml:"latency-p99-us"`     // at AtSecond
	AtSecond float64 `json:"at_mb_per_second,omitempty" yaml:"at-mb-per-second"` // the offered rate in millions of bytes
	Of       string  `json:"environment" yaml:"environment"`
}

// whole makes the parts of a study one after the other, each by its own policy.
type whole struct{}

func (whole) next(*Document) ([]Turn, error) { return nil, nil }

func (whole) conclude(d *Document) error {
	d.WholeDoc = &WholeDoc{Parts: []PartDoc{}, Systems: d.systems}
	parts, err := d.folder.begun()
	if err != nil {
		return err
	}
	d.Over = len(parts) == len(d.Study.Parts)
	for _, p := range parts {
		said, err := p.Document()
		if err != nil {
			return fmt.Errorf("part %s: %w", p.Study.Name, err)
		}
		one := PartDoc{Name: p.Study.Name, Study: said}
		if said.FindDoc != nil {
			one.Study, one.Find = nil, said
		}
		d.raised, d.Accepted = append(d.raised, said.raised...), append(d.Accepted, said.Accepted...)
		d.Parts, d.Over, d.Embedded = append(d.Parts, one), d.Over && said.Over, d.Embedded || said.Embedded
	}
	if d.OneLess = oneLess(d.Parts); d.OneLess != nil {
		d.Sentence = say("one less", d.OneLess)
	}
	return d.compare()
}

// candidate is a cell or a search that may be the best of its part on a system.
type candidate struct {
	SystemBest

	at    []Flag
	value float64 // of By: the higher the better; -Inf: it only tells what varies
}

// candidates returns the cells of a part, or its search.
func (d *Document) candidates() (all []candidate) {
	s := SystemBest{Part: cmp.Or(d.Study.Of, d.Study.Name), Over: d.Over}
	if d.FindDoc != nil {
		s.System, s.By, s.Peak = systemOf(d.Study.Loads[0]), metric.Rate, &d.Peak
		return []candidate{{s, d.Study.At, d.Peak.RecordsPerSecond}}
	}
	if len(d.Study.Ask) > 0 {
		s.By = d.Study.Ask[0].By
	}
	by := cmp.Or(s.By, metric.Rate)
	for i := range cmp.Or(d.GridDoc, new(GridDoc)).Cells {
		c := &d.Cells[i]
		s.System, s.Cell = systemOf(d.Study.at(c.cell, d.Study.Loads[0])), &c.CellFigures
		value := c.Measures[by].Median * map[bool]float64{true: 1, false: -1}[by.Of().HigherIsBetter]
		if c.Measures[by].N == 0 {
			value = math.Inf(-1)
		}
		all = append(all, candidate{s, c.cell.At, value})
	}
	return all
}

// compare brings the best of each part on each system side by side, if several are compared.
func (d *Document) compare() error {
	var all []candidate
	for _, p := range d.Parts {
		all = append(all, cmp.Or(p.Find, p.Study).candidates()...)
	}
	for _, part := range d.Study.Parts {
		rows, err := publishedRows(part.Published)
		if err != nil {
			return err
		}
		for _, system := range d.Systems {
			is := func(s SystemBest) bool { return s.Part == cmp.Or(part.Of, part.Name) && s.System == system }
			mine := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return !is(c.SystemBest) })
			if len(mine) == 0 || slices.ContainsFunc(d.SideBySide, is) {
				continue
			}
			best := slices.MaxFunc(mine, func(a, b candidate) int { return cmp.Compare(a.value, b.value) })
			if math.IsInf(best.value, -1) {
				continue
			}
			best.At = Cell{At: slices.DeleteFunc(set(best.at), func(f Flag) bool { // what is the same in all tells nothing
				return !slices.ContainsFunc(mine, func(c candidate) bool { return !slices.Contains(c.at, f) })
			})}.String()
			for _, row := range rows {
				if row.System == string(system) {
					best.Published = append(best.Published, row.SystemFigure)
				}
			}
			d.SideBySide = append(d.SideBySide, best.SystemBest)
		}
	}
	return nil
}

// Systems returns the systems that the runs of a study are made on, in the order of plan's.
func (s *Study) Systems() (systems []plan.System) {
	for _, part := range s.Parts {
		systems = append(systems, part.Systems()...)
	}
	for _, c := range s.Cells() {
		for _, l := range s.Loads {
			systems = append(systems, systemOf(s.at(c, l)))
		}
	}
	slices.Sort(systems)
	return slices.Compact(systems)
}

func systemOf(l Load) plan.System {
	p := plan.Plan{URL: l.value("url")} // "": Kafka, whose brokers are elsewhere
	return p.System()
}

func (c *CellDoc) conclude() {
	slices.SortFunc(c.Runs, func(a, b RunDoc) int { return a.Repeat - b.Repeat })
	c.CellFigures = c.of(0).cell()
	for i := 1; len(c.Runs) > 0 && i < len(c.Runs[0].Loads); i++ {
		c.Beside = append(c.Beside, c.of(i).cell())
	}
}
