package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// Compare writes the page of a comparison of two sets of runs.
func Compare(w io.Writer, d *study.CompareDocument, _ report.Options) error {
	doc := Document{
		Title: "kt compare ▸ B against A", Head: compareHead(d), Foot: "Made by kt compare. This page does not hold the runs: keep their files.",
		Sections: []Section{
			{ID: "differences", Title: "What the runs say", Wide: true, Blocks: []Block{sentences(d)}},
			{ID: "metrics", Title: "Metrics", Wide: true, Blocks: []Block{shifts(d.Metrics, "A", "B")}},
			{ID: "differs", Title: "What differs", Wide: true, Blocks: []Block{differing(d)}},
			{ID: "sides", Title: "Runs", Blocks: []Block{side("A", &d.A), side("B", &d.B), files(&d.A, &d.B)}},
		},
	}
	return doc.Write(w)
}

func compareHead(d *study.CompareDocument) Head {
	h := Head{Command: "kt compare", Subject: "B against A", About: []string{
		fmt.Sprintf("A: %s, %s", d.A.Name, theme.Plural(d.A.Runs, "run", "runs")), fmt.Sprintf("B: %s, %s", d.B.Name, theme.Plural(d.B.Runs, "run", "runs")),
	}}
	for _, f := range d.Failures {
		h.Alerts = append(h.Alerts, "--fail-on: "+f)
	}
	if n := d.A.Invalid + d.B.Invalid; n > 0 {
		h.Alerts = append(h.Alerts, theme.Plural(n, "run is", "runs are")+" not valid")
	}
	h.Alerts = append(h.Alerts, d.Beside...)
	if d.Queueing {
		h.Remarks = append(h.Remarks, "Latency is mostly queueing: a run had no target rate.")
	}
	return h
}

// changeClass has the looks of the verdicts. Their words say the same.
var changeClass = map[study.Change]string{
	study.Better: "good", study.Lesser: "bad", study.TooFew: "muted", study.Steadier: "good", study.Rougher: "bad",
}

// sentences are those of the metrics. Differences that are no noise come first.
func sentences(d *study.CompareDocument) (notes Notes) {
	for _, differ := range []bool{true, false} {
		for _, c := range d.Metrics {
			if (c.Verdict == study.Better || c.Verdict == study.Lesser) == differ {
				notes = append(notes, Note{string(c.Verdict), c.Sentence, ""})
			}
		}
	}
	return notes
}

// shifts is the table of the metrics, with a bar for each shift.
func shifts(metrics []study.Compared, a, b string) Table {
	t := Table{
		ID: "shifts", Caption: "Metrics of both sides: medians, and the shift with its interval",
		Heads: slices.Concat(texts("metric"), numbers(a, b, "runs", "shift", "interval"), texts("verdict")),
	}
	var drawn []*Shift
	for i := range metrics {
		c := &metrics[i]
		s, of := &Shift{Value: float64(c.Shift), Low: float64(c.Low), High: float64(c.High), Interval: c.Coverage > 0, Class: changeClass[c.Verdict]}, report.ShiftCells(c)
		row := cells(c.Metric.String(), of[0], of[1], fmt.Sprintf("%d, %d", c.A.N, c.B.N), of[2], cmp.Or(of[3], "–"), string(c.Verdict))
		if row[6].Class = s.Class; c.Shift.IsKnown() { // else there is nothing to draw
			row[4].Shift, drawn = s, append(drawn, s)
		}
		t.Rows = append(t.Rows, row)
	}
	most := reach(drawn)
	for _, s := range drawn {
		s.Most = most
	}
	t.Note = fmt.Sprintf("Bars go from −%s to +%s; the line in the middle is no difference.", theme.Percent(most), theme.Percent(most))
	return t
}

// differing is the table of settings and facts that differ.
func differing(d *study.CompareDocument) Block {
	var rows [][]Cell
	for _, f := range d.Differs {
		rows = append(rows, cells(f.What, strings.Join(f.A, ", "), strings.Join(f.B, ", ")))
	}
	return differs([]string{"what", "A", "B"}, rows)
}

// differs is a table of what differs, or a sentence if there is no row.
func differs(heads []string, rows [][]Cell) Block {
	if len(rows) == 0 {
		return Sentence("No setting and no fact of the environments differs.")
	}
	return Table{ID: "facts", Caption: "Settings and facts of the environments that differ", Heads: texts(heads...), Rows: rows}
}

// side says what is to be known of the runs of a side.
func side(letter string, s *study.SideDoc) Facts {
	return Facts{Title: letter + ": " + s.Name, Rows: [][2]string{{"has", strings.Join(report.SideSays(s), ", ")}}}
}

// files are the names of the runs of both sides.
func files(sides ...*study.SideDoc) Block {
	d := Details{Summary: "Files"}
	for _, s := range sides {
		d.Blocks = append(d.Blocks, Facts{Rows: [][2]string{{s.Name, strings.Join(s.Files, ", ")}}})
	}
	return d
}

// Sentence is an answer.
type Sentence string

// HTML returns the block.
func (s Sentence) HTML() (template.HTML, error) { return render("sentence", string(s)) }
