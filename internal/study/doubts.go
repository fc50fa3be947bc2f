package study

import (
	"maps"
	"slices"

	"github.com/kt-bench/kt/internal/result"
)

// Doubted has the doubts about several runs.
type Doubted struct {
	Doubts   []result.Doubt `json:"doubts,omitempty"`          // of its runs; of a comparison also what differs beside the setting that is compared
	Accepted []string       `json:"accepted_doubts,omitempty"` // the ids of those that are left out
}

// Accept leaves out doubts with some ids.
func (d *Doubted) Accept(ids []string) {
	d.Doubts = slices.DeleteFunc(d.Doubts, func(o result.Doubt) bool { return slices.Contains(ids, o.ID) })
	d.Accepted = once(append(d.Accepted, ids...))
}

// doubts are those of runs, in the groups in which they repeat each other.
type doubts [][][]result.Doubt

// count returns each doubt once, with how many of the runs have it, and the text of the first. One run is a doubt of a group alone that has no other.
func (groups doubts) count() (all []result.Doubt) {
	of := 0
	for _, runs := range groups {
		of += len(runs)
		for _, own := range runs {
			var seen []string // several loads of a run may have one
			for _, d := range own {
				if slices.Contains(seen, d.ID) || d.ID == result.OneRun && len(runs) > 1 {
					continue
				}
				seen = append(seen, d.ID)
				i := slices.IndexFunc(all, func(o result.Doubt) bool { return o.ID == d.ID })
				if i < 0 {
					i, all = len(all), append(all, d)
				}
				all[i].Runs++
			}
		}
	}
	for i := range all {
		all[i].Of = of
	}
	return all
}

// doubt gathers the doubts of the runs that count, by cells; those of a search or of a trial are one group, whose runs say something together.
func (d *Document) doubt() error {
	cells := make(map[int][][]result.Doubt)
	for _, t := range d.turns {
		if !d.state.counts(t) || !d.state.isDone(t) {
			continue
		}
		loads, err := d.folder.figures(t)
		if err != nil {
			return err
		}
		cell, own := 0, []result.Doubt{}
		if d.GridDoc != nil {
			cell = t.Cell.Index
		}
		for _, l := range loads {
			own, d.Accepted = append(own, l.doubts...), append(d.Accepted, l.accepted...)
		}
		cells[cell] = append(cells[cell], own)
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		d.raised = append(d.raised, cells[cell])
	}
	d.Doubts, d.Accepted = d.raised.count(), once(d.Accepted)
	return nil
}
