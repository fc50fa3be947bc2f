package study

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
)

// WholeDoc has what the parts of a study say, and the systems in it side by side.
type WholeDoc struct {
	Parts     []PartDoc     `json:"parts"`                  // those that were begun
	Systems   []plan.System `json:"systems,omitempty"`      // those that were compared
	Standings []Standing    `json:"side_by_side,omitempty"` // what each part found of each system
}

// PartDoc is what a part says: Find of a search, Study of another part.
type PartDoc struct {
	Name  string    `json:"name"`
	Study *Document `json:"study,omitempty"`
	Find  *Document `json:"find,omitempty"`
}

func (p *PartDoc) doc() *Document { return cmp.Or(p.Find, p.Study) }

// Standing is what a part found of one system: the highest peak of its searches, or the best of its cells.
type Standing struct {
	Part      string         `json:"part"`
	System    plan.System    `json:"system"`
	At        string         `json:"at,omitempty"`        // the other values of the cell, if the system has several
	By        Metric         `json:"by,omitempty"`        // what made it the best; "": the part asks nothing, and is about faults
	Peak      *PeakRate      `json:"peak,omitempty"`      // of a search
	Over      bool           `json:"over"`                // false: a search that was cut off, or runs are missing
	Cell      *CellFigures   `json:"cell,omitempty"`      // of another part
	Published []SystemFigure `json:"published,omitempty"` // by the tests that the part names
}

// whole makes the parts of a study one after the other, each by its own policy.
type whole struct{}

func (whole) next(*Document) ([]Turn, error) { return nil, nil }

func (whole) conclude(d *Document) error {
	d.WholeDoc = &WholeDoc{Parts: []PartDoc{}}
	if systems := d.Study.Systems(); len(systems) > 1 {
		d.Systems = systems
	}
	parts, err := d.folder.begun()
	if err != nil {
		return err
	}
	d.Over = len(parts) == len(d.Study.Parts)
	for _, p := range parts {
		said, err := p.Document()
		if err != nil {
			return fmt.Errorf("part %s: %w", p.part, err)
		}
		one := PartDoc{Name: p.part, Study: said}
		if said.FindDoc != nil {
			one.Study, one.Find = nil, said
		}
		d.Over = d.Over && said.Over
		d.Parts = append(d.Parts, one)
		d.compare(&one)
	}
	d.sort()
	return d.publishSystems()
}

// sort brings what was found into the order of the parts, and within each into that of the systems.
func (d *Document) sort() {
	var parts []string
	for _, s := range d.Standings {
		if !slices.Contains(parts, s.Part) {
			parts = append(parts, s.Part)
		}
	}
	slices.SortFunc(d.Standings, func(a, b Standing) int {
		return cmp.Or(slices.Index(parts, a.Part)-slices.Index(parts, b.Part), slices.Index(d.Systems, a.System)-slices.Index(d.Systems, b.System))
	})
}

// SystemFigure is what a published account measured of one system.
type SystemFigure struct {
	Source   string  `json:"source"` // the number of the published test
	Case     string  `json:"case"`
	Account  string  `json:"account"`                    // its author and year
	Link     string  `json:"link,omitempty"`             // "": not recorded
	MBSecond float64 `json:"mb_per_second,omitempty"`    // in millions of bytes
	P99      float64 `json:"latency_p99_us,omitempty"`   // at AtSecond
	AtSecond float64 `json:"at_mb_per_second,omitempty"` // the offered rate in millions of bytes
	Of       string  `json:"environment"`
}

// publishSystems adds the figures that the parts name.
func (d *Document) publishSystems() error {
	rows, err := publishedRows("systems.csv")
	if err != nil {
		return err
	}
	for i := range d.Standings {
		s := &d.Standings[i]
		for _, row := range rows {
			if row["system"] != string(s.System) || !slices.Contains(d.published(s.Part), row["case"]) {
				continue
			}
			var f SystemFigure
			f.Source, f.Case, _ = strings.Cut(row["case"], "/")
			if f.Account, f.Link, err = accountOf(f.Source); err != nil {
				return err
			}
			f.MBSecond, _ = strconv.ParseFloat(row["mb-per-second"], 64) // a test reads them all
			f.P99, _ = strconv.ParseFloat(row["latency-p99-us"], 64)
			f.AtSecond, _ = strconv.ParseFloat(row["at-mb-per-second"], 64)
			f.Of = row["environment"]
			s.Published = append(s.Published, f)
		}
	}
	return nil
}

// published returns the accounts that a part names.
func (d *Document) published(part string) []string {
	for _, s := range d.Study.Parts {
		if cmp.Or(s.Of, s.Name) == part {
			return s.Published
		}
	}
	return nil
}

// compare adds what a part found of each system, if several are compared.
func (d *Document) compare(p *PartDoc) {
	switch {
	case len(d.Systems) == 0:
	case p.Find != nil:
		d.compareFind(p.Find)
	default:
		for _, system := range d.Systems {
			if s, ok := p.Study.bestOf(system); ok {
				d.Standings = append(d.Standings, s)
			}
		}
	}
}

// compareFind adds the peak of a search. Of several searches of one part and system the highest stands.
func (d *Document) compareFind(f *Document) {
	s := Standing{Part: cmp.Or(f.Study.Of, f.Study.Name), System: f.Study.Systems()[0], By: metric.Rate, Peak: &f.Peak, Over: f.Over}
	i := slices.IndexFunc(d.Standings, func(o Standing) bool { return o.Part == s.Part && o.System == s.System })
	s.At = varying(f.Study.At, d.searchesOf(s.Part, s.System))
	switch {
	case i < 0:
		d.Standings = append(d.Standings, s)
	case d.Standings[i].Peak.RecordsPerSecond < f.Peak.RecordsPerSecond:
		d.Standings[i] = s
	}
}

// searchesOf returns the cells of the searches of a part on a system.
func (d *Document) searchesOf(part string, system plan.System) (cells [][]Flag) {
	for _, s := range d.Study.Parts {
		if cmp.Or(s.Of, s.Name) == part && s.Find != nil && systemOf(s.Loads[0]) == system {
			cells = append(cells, s.At)
		}
	}
	return cells
}

// bestOf returns the best cell of a system, by the first question of the study.
func (d *Document) bestOf(system plan.System) (Standing, bool) {
	s, by := Standing{Part: d.Study.Name, System: system, Over: d.Runs == d.Wanted}, Metric(metric.Rate)
	if len(d.Study.Ask) > 0 {
		s.By = d.Study.Ask[0].By
		by = s.By
	}
	var best *CellDoc
	var cells [][]Flag
	for i := range d.Cells {
		c := &d.Cells[i]
		if systemOf(d.Study.at(c.cell, d.Study.Loads[0])) != system {
			continue
		}
		cells = append(cells, c.cell.At)
		if c.LeftOut != "" || c.Of(by).N == 0 {
			continue
		}
		if best == nil || (c.Of(by).Median > best.Of(by).Median) == by.HigherIsBetter() {
			best = c
		}
	}
	if best == nil {
		return s, false
	}
	s.Cell = &best.CellFigures
	s.At = varying(best.cell.At, cells)
	return s, true
}

// varying writes the values of a cell that are set, and that are not the same in all of some cells.
func varying(at []Flag, cells [][]Flag) string {
	var set []string
	for i, f := range at {
		varies := slices.ContainsFunc(cells, func(c []Flag) bool { return c[i].Value != f.Value })
		if varies && f.Value != Default {
			set = append(set, f.Name+"="+f.Value)
		}
	}
	return strings.Join(set, " ")
}
