package study

import (
	"slices"
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
	*GridDoc
	*FindDoc
	*TrialDoc
	*WholeDoc

	folder *Folder
	state  *state
	turns  []Turn // as far as they are known
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

// RunDoc is one run of a cell.
type RunDoc struct {
	Turn   int           `json:"turn"`
	Repeat int           `json:"repeat"`
	Loads  []LoadFigures `json:"loads"`
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
	}
	return grid{}
}

// known returns a document of the runs of a study, as far as those that were made decide them. It depends on nothing else,
// so a study that was cut off goes on as it would have.
func (f *Folder) known() (*Document, error) {
	d := &Document{Schema: Schema, ID: f.ID, Study: f.Study, folder: f, state: f.state()}
	for {
		more, err := f.Study.policy().next(d)
		if err != nil || len(more) == 0 {
			d.Over = err == nil
			return d, err
		}
		for _, t := range more {
			t.Number = len(d.turns) + 1
			d.turns = append(d.turns, t)
		}
		if d.open() != nil {
			return d, nil
		}
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
	if err == nil {
		d.NotEqual = f.Study.unequal()
		err = f.Study.policy().conclude(d)
	}
	return d, err
}

// Embedded reports whether runs of the study were of the broker inside kt.
func (d *Document) Embedded() bool {
	if d.WholeDoc != nil {
		return slices.ContainsFunc(d.Parts, func(p PartDoc) bool { return p.doc().Embedded() })
	}
	if d.folder != nil {
		for _, loads := range d.folder.read {
			if slices.ContainsFunc(loads, func(l LoadFigures) bool { return l.cluster == insideKt }) {
				return true
			}
		}
	}
	return false
}

// Faulty reports whether a fault was seen, or records failed or were lost.
func (d *Document) Faulty() bool {
	for i := range d.Cells {
		for _, r := range d.Cells[i].Runs {
			if slices.ContainsFunc(r.Loads, LoadFigures.isFaulty) {
				return true
			}
		}
	}
	return false
}

// cells returns the cells of the runs that are known, each with those that were made.
func (d *Document) cells() (cells []CellDoc, err error) {
	at := make(map[int]int) // the places of cells by their numbers
	for _, t := range d.turns {
		i, ok := at[t.Cell.Index]
		if !ok {
			i, at[t.Cell.Index] = len(cells), len(cells)
			cells = append(cells, CellDoc{cell: t.Cell, At: t.Cell.values(), LeftOut: d.state.leftOut[t.Cell.Index], Runs: []RunDoc{}})
		}
		if d.state.counts(t) && d.state.isDone(t) {
			loads, err := d.folder.figures(t)
			if err != nil {
				return nil, err
			}
			cells[i].Runs = append(cells[i].Runs, RunDoc{t.Number, t.Repeat, loads})
		}
	}
	for i := range cells {
		cells[i].conclude(len(d.Study.Loads))
	}
	slices.SortFunc(cells, func(a, b CellDoc) int { return d.Study.order(a.cell, b.cell) })
	return cells, nil
}

// of returns the figures of a load of the runs of a cell.
func (c *CellDoc) of(load int) (all figures) {
	for i := range c.Runs {
		all = append(all, &c.Runs[i].Loads[load])
	}
	return all
}

// conclude sums up the runs of a cell, load by load.
func (c *CellDoc) conclude(loads int) {
	slices.SortFunc(c.Runs, func(a, b RunDoc) int { return a.Repeat - b.Repeat })
	c.CellFigures = c.of(0).cell()
	for i := 1; i < loads; i++ {
		c.Beside = append(c.Beside, c.of(i).cell())
	}
}
