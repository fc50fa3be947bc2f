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
		s := &Shift{Value: c.Shift, Low: c.Low, High: c.High, Interval: c.Coverage > 0, Class: changeClass[c.Verdict]}
		drawn = append(drawn, s)
		row := cells(c.Metric.String(), report.Figure(c.Metric, c.A.Median), report.Figure(c.Metric, c.B.Median), fmt.Sprintf("%d, %d", c.A.N, c.B.N),
			report.Signed(c.Shift), cmp.Or(report.ShiftInterval(c), "–"), string(c.Verdict))
		row[4].Shift, row[6].Class = s, s.Class
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
		return Sentence("Settings and environments are alike.")
	}
	return Table{ID: "facts", Caption: "Settings and facts of the environments that differ", Heads: texts(heads...), Rows: rows}
}

// side says what is to be known of the runs of a side.
func side(letter string, s *study.SideDoc) Facts {
	f := Facts{Title: letter + ": " + s.Name}
	some := func(name string, n int64) {
		if n > 0 {
			f.add(name, theme.Count(n))
		}
	}
	some("runs", int64(s.Runs))
	some("not valid", int64(s.Invalid))
	some("kt was the limit", int64(s.ClientBound))
	some("records failed or unknown", s.Failed)
	f.add("left out", strings.Join(s.FailedMetrics, ", "))
	return f
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
