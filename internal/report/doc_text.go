package report

import (
	"io"
	"slices"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

// formatsOf returns the formats of what has a document, but for the page.
func formatsOf[D any](of func(d *D) *doc.Document) map[string]DocumentFormat[D] {
	return map[string]DocumentFormat[D]{
		"text":     func(w io.Writer, d *D, o Options) error { return docText(w, of(d), o) },
		"json":     asJSON[D],
		"csv":      func(w io.Writer, d *D, _ Options) error { return of(d).CSV(w) },
		"markdown": func(w io.Writer, d *D, _ Options) error { return of(d).Markdown(w) },
	}
}

// Write writes a document in a form, or in JSON the value that it is of.
func Write(w io.Writer, form string, d *doc.Document, v any, o Options) error {
	switch form {
	case "json":
		return Indented(w, v)
	case "csv":
		return d.CSV(w)
	case "markdown":
		return d.Markdown(w)
	}
	return docText(w, d, o)
}

// docText writes a document for a terminal.
func docText(w io.Writer, d *doc.Document, o Options) error {
	return d.Text(w, doc.Options{Theme: o.Theme, Width: o.Width, Verbose: o.Verbose, Full: o.Full})
}

func (t *text) docHead(d *doc.Document) {
	t.heading(d.Command+" "+string(t.th.Glyphs.Arrow)+" "+d.Subject, d.Tags)
	if d.Line != "" {
		t.paragraph(d.Line)
	}
}

func (t *text) docSection(s doc.Section) {
	if len(s.Facts) > 0 {
		t.line("")
	}
	for _, f := range s.Facts {
		t.row(f.Name, tones[f.Tone], f.Text)
	}
	for i := range s.Tables {
		table := &s.Tables[i]
		if len(table.Rows) == 0 && table.Empty == "" {
			continue
		}
		t.line("")
		if i == 0 && s.Title != "" {
			t.line("  " + t.th.Paint(strong, s.Title))
		}
		if len(table.Rows) == 0 {
			t.line("  " + t.th.Paint(muted, table.Empty))
			continue
		}
		t.draw(t.gridOf(table))
	}
}

var tones = map[doc.Tone]theme.Style{doc.Good: good, doc.Bad: bad, doc.Muted: muted, doc.Loud: strong}

// gridOf returns the grid of a table: its columns with a head.
func (t *text) gridOf(table *doc.Table) *grid {
	g := &grid{left: make(map[int]bool), names: make(map[int]bool)}
	var leave []doc.Column
	bars := make(map[int]bool)
	for _, row := range table.Rows {
		for i := range row.Cells {
			bars[i] = bars[i] || row.Cells[i].Bar > 0
		}
	}
	for i, c := range table.Columns {
		if c.Head == "" {
			continue
		}
		at := len(g.heads)
		g.heads, g.left[at], g.names[at] = append(g.heads, c.Head), c.Kind != doc.Number, c.Kind == doc.Name
		if c.Leave > 0 {
			leave = append(leave, c)
		}
		if bars[i] {
			g.left[len(g.heads)] = true
			g.heads = append(g.heads, "")
		}
	}
	slices.SortStableFunc(leave, func(a, b doc.Column) int { return b.Leave - a.Leave })
	for _, c := range leave {
		g.leave = append(g.leave, c.Head)
	}
	for _, row := range table.Rows {
		var texts []string
		for i, c := range table.Columns {
			if c.Head != "" {
				texts = append(texts, row.Cells[i].Text)
				if bars[i] {
					texts = append(texts, t.bar(row.Cells[i].Bar, 1))
				}
			}
		}
		if g.add(tones[row.Tone], texts...); row.Note != "" {
			g.note(muted, row.Note)
		}
	}
	return g
}
