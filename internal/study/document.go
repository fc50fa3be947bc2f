package study

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// Schema is the version of Document. It changes when a field changes its meaning or goes away, not
// when one is added.
const Schema = 1

// Document has the results and the answers of a study. It is made of the study's folder alone.
type Document struct {
	Schema    int         `json:"schema"`
	ID        string      `json:"id"`
	Study     *Study      `json:"study"`
	Runs      int         `json:"runs_done"`
	Wanted    int         `json:"runs_wanted"` // without the cells that were left out
	Cells     []CellDoc   `json:"cells"`
	Answers   []Answer    `json:"answers"`
	Published []Published `json:"published"`

	NotEqual []string `json:"not_equal,omitempty"` // between the systems that were compared, each in a sentence

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

// CellFigures are the figures of one load in a cell, over its runs.
type CellFigures struct {
	Load string `json:"load,omitempty"`
	Measures[Spread]
	Faults

	Limits      []verdict.Limit `json:"limits"`       // of its runs, without repetition
	ClientBound bool            `json:"client_bound"` // kt or its host was the limit of a run: more was not offered
	Invalid     int             `json:"invalid_runs"`
}

// RunDoc is one run of a cell.
type RunDoc struct {
	Turn   int           `json:"turn"`
	Repeat int           `json:"repeat"`
	Loads  []LoadFigures `json:"loads"`
}

// Document reads the run files of a study and returns its results and answers.
func (f *Folder) Document() (*Document, error) {
	d := &Document{Schema: Schema, ID: f.ID, Study: f.Study, NotEqual: f.Study.unequal()}
	turns, ends, err := f.narrow()
	if err == nil {
		err = d.read(f, turns)
	}
	if err != nil {
		return nil, err
	}
	d.ends = ends
	d.answer()
	return d, d.publish()
}

// read reads the run files of some turns.
func (d *Document) read(f *Folder, turns []Turn) error {
	for _, c := range f.Study.cellsOf(turns) {
		cell := CellDoc{cell: c, At: c.values(), LeftOut: f.leftOut(c), Runs: []RunDoc{}}
		for _, t := range turns {
			if cell.LeftOut != "" || t.Cell.Index != c.Index || t.Repeat == 0 {
				continue
			}
			d.Wanted++
			if !f.isDone(t) {
				continue
			}
			d.Runs++
			figures, err := f.figures(t)
			if err != nil {
				return err
			}
			cell.Runs = append(cell.Runs, RunDoc{t.Number, t.Repeat, figures})
		}
		cell.conclude(len(f.Study.Loads))
		d.Cells = append(d.Cells, cell)
	}
	return nil
}

// readRun returns the figures of a run file.
func (f *Folder) readRun(t Turn, l Load) (LoadFigures, error) {
	path := f.path(t, l)
	file, err := merge.Open(path)
	if err != nil {
		return LoadFigures{}, fmt.Errorf("study %s: %w", f.ID, err)
	}
	defer file.Close()
	res, err := merge.Read(file, file.Size)
	if err != nil {
		return LoadFigures{}, fmt.Errorf("%s: %w", path, err)
	}
	name, err := filepath.Rel(f.dir, path)
	if err != nil {
		return LoadFigures{}, err
	}
	return figuresOf(l.Name, name, &res), nil
}

// conclude sums up the runs of a cell, load by load.
func (c *CellDoc) conclude(loads int) {
	slices.SortFunc(c.Runs, func(a, b RunDoc) int { return a.Repeat - b.Repeat })
	for i := range loads {
		figures := CellFigures{Faults: c.faults(i)}
		limits := make(map[verdict.Limit]bool)
		for _, r := range c.Runs {
			l := &r.Loads[i]
			figures.Load = l.Load
			limits[l.Limit] = true
			figures.ClientBound = figures.ClientBound || ofClient(l.Limit)
			if !l.Valid {
				figures.Invalid++
			}
		}
		figures.Limits = slices.Sorted(maps.Keys(limits))
		for _, m := range Metrics {
			*figures.Of(m) = spread(c.values(i, m))
		}
		if i == 0 {
			c.CellFigures = figures
		} else {
			c.Beside = append(c.Beside, figures)
		}
	}
}

// values returns a metric of a load in each run that has it.
func (c *CellDoc) values(load int, m Metric) (values []float64) {
	values, _ = c.blocked(load, m)
	return values
}

// blocked returns a metric of a load in each run that has it, with the blocks of the runs; none if it failed in one.
func (c *CellDoc) blocked(load int, m Metric) (values []float64, blocks []int) {
	for i := range c.Runs {
		l := &c.Runs[i].Loads[load]
		if slices.Contains(l.FailedMetrics, m) {
			return nil, nil
		}
		if l.Has(m) {
			values, blocks = append(values, *l.Of(m)), append(blocks, c.Runs[i].Repeat)
		}
	}
	return values, blocks
}
