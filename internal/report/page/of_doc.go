package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

// Doc writes the page of a document.
func Doc(w io.Writer, d *doc.Document) error {
	foot := "Made by " + d.Command + "."
	if d.Again != "" {
		foot = "Made by " + d.Again + " --output html."
	}
	if d.Foot != "" {
		foot += " " + d.Foot
	}
	return ofDoc(d, foot).Write(w)
}

// headOf returns the top of the page of a document.
func headOf(d *doc.Document) Head {
	h := Head{Command: d.Command, Subject: d.Subject, About: slices.Concat(d.About, d.Tags), Line: d.Line, Alerts: d.Alerts, Remarks: d.Remarks}
	if d.Question != "" {
		h.Remarks = slices.Insert(slices.Clone(h.Remarks), 0, d.Question)
	}
	for _, b := range d.Badges {
		h.Badges = append(h.Badges, Badge{b.Text, string(b.Tone)})
	}
	if len(d.Args) > 0 {
		args := make([]string, len(d.Args))
		for i, arg := range d.Args {
			args[i] = theme.Quoted(arg)
		}
		h.Line = strings.Join(args, " ")
	}
	return h
}

// ofDoc returns the page of a document.
func ofDoc(d *doc.Document, foot string) *Document {
	p := &Document{Title: d.Command + " ▸ " + d.Subject, Foot: foot, Head: headOf(d)}
	var notes Notes
	for _, n := range d.Answer {
		notes = append(notes, Note{n.Name, n.Text, ""})
	}
	p.Sections = []Section{{ID: "answer", Title: "Answer", Wide: true, Blocks: []Block{notes}}}
	for i := range d.Sections {
		if s := &d.Sections[i]; s.For.In(doc.InPage) {
			p.Sections = append(p.Sections, sectionOf(s))
		}
	}
	return p
}

func sectionOf(s *doc.Section) Section {
	of := Section{ID: s.ID, Title: s.Title, Wide: !s.Columns, Blocks: blocksOf(s.All())}
	for _, b := range of.Blocks {
		if t, ok := b.(Table); ok {
			of.Title = cmp.Or(of.Title, t.Caption)
		}
	}
	return of
}

// blocksOf returns the blocks of a page.
func blocksOf(all []doc.Block) (blocks Blocks) {
	for _, block := range all {
		switch b := block.(type) {
		case doc.Facts:
			blocks = append(blocks, factsOf(&b))
		case *doc.Table:
			switch {
			case !b.For.In(doc.InPage):
			case len(b.Rows) == 0 && b.Empty != "":
				blocks = append(blocks, Sentence(b.Empty))
			default:
				blocks = append(blocks, tableOf(b))
			}
		case doc.Code:
			blocks = append(blocks, Code(b))
		case doc.Details:
			if b.For.In(doc.InPage) {
				blocks = append(blocks, Details{Summary: b.Summary, Blocks: blocksOf(b.Blocks)})
			}
		case doc.Tiles:
			var tiles Tiles
			for _, t := range b {
				tiles = append(tiles, Tile{t.Name, t.Value, t.Unit, t.Notes, string(t.Tone)})
			}
			blocks = append(blocks, tiles)
		case doc.Events:
			blocks = append(blocks, eventsOf(&b))
		case *doc.Plot:
			blocks = append(blocks, Plot{b})
		case Block:
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// factsOf returns facts in columns if they have a title, and else as sentences.
func factsOf(f *doc.Facts) Block {
	columns, notes := Facts{Title: f.Title}, Notes{}
	for i := range f.Rows {
		one := &f.Rows[i]
		if !f.For.In(doc.InPage) || !one.For.In(doc.InPage) {
			continue
		}
		text := one.Text
		if one.Remark != "" {
			text += " (" + one.Remark + ")"
		}
		columns.add(one.Name, text)
		notes = append(notes, Note{one.Name, text, string(one.Tone)})
	}
	if f.Title == "" {
		return notes
	}
	return columns
}

// tableOf returns the table of a page: the columns with a head.
func tableOf(t *doc.Table) Table {
	p := Table{ID: t.ID, Caption: t.Caption, Note: t.Note}
	var drawn []*Shift
	for _, c := range t.Columns {
		if c.Head != "" && c.For.In(doc.InPage) {
			p.Heads = append(p.Heads, Column{Name: c.Head, Text: c.Kind != doc.Number})
		}
	}
	if t.Notes() {
		p.Heads = append(p.Heads, Column{Name: "note", Text: true})
	}
	for _, row := range t.Rows {
		var line []Cell
		for i, c := range t.Columns {
			if c.Head == "" || !c.For.In(doc.InPage) {
				continue
			}
			of := Cell{Text: row.Cells[i].Text, Note: row.Cells[i].Note, Bar: row.Cells[i].Bar, Class: string(row.Cells[i].Tone)}
			if s := row.Cells[i].Shift; s != nil {
				of.Shift = &Shift{Value: s.Value, Low: s.Low, High: s.High, Interval: s.Interval, Class: string(row.Tone)}
				drawn = append(drawn, of.Shift)
			}
			if c.Kind == doc.Words && i > 0 && of.Class == "" {
				of.Class = string(row.Tone)
			}
			line = append(line, of)
		}
		if t.Notes() {
			line = append(line, Cell{Text: row.Note})
		}
		p.Rows = append(p.Rows, line)
	}
	if len(drawn) > 0 {
		most := reach(drawn)
		for _, s := range drawn {
			s.Most = most
		}
		p.Note = fmt.Sprintf("Bars go from −%s to +%s; the line in the middle is no difference.", theme.Percent(most), theme.Percent(most))
	}
	return p
}
