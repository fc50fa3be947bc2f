package doc

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// CSV writes the data of a document: of each row of its Data tables what programs read. Tables of the same columns are one. Of others
// each row begins with the name of its table, and has the columns of all. A document without such a table gives its facts.
func (d *Document) CSV(w io.Writer) error {
	var tables []*Table
	facts := &Table{Columns: []Column{{Data: "name", Kind: Words}, {Data: "value", Kind: Words}}}
	for i := range d.Sections {
		for _, block := range flat(d.Sections[i].All(), everywhere) {
			switch b := block.(type) {
			case Facts:
				for _, f := range b.Rows {
					facts.Rows = append(facts.Rows, Row{Cells: Of(f.Name, f.Text)})
				}
			case *Table:
				if b.Data {
					tables = append(tables, b)
				}
			}
		}
	}
	if tables == nil {
		tables = []*Table{facts}
	}
	return csv.NewWriter(w).WriteAll(dataOf(tables))
}

// dataOf returns the rows that programs read of tables, with the names of the columns.
func dataOf(tables []*Table) [][]string {
	var names []string
	alike := true
	for _, t := range tables {
		alike = alike && slices.Equal(t.names(), tables[0].names())
		for _, name := range t.names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if !alike {
		names = slices.Insert(names, 0, "table")
	}
	rows := [][]string{names}
	for _, t := range tables {
		for _, row := range t.Rows {
			fields := make([]string, len(names))
			if !alike {
				fields[0] = t.ID
			}
			for i, c := range t.Columns {
				if c.Data == "" {
					continue
				}
				text := row.Cells[i].Data
				if c.Kind != Number && row.Cells[i].Text != Unknown {
					text = cmp.Or(text, row.Cells[i].Text)
				}
				fields[slices.Index(names, theme.Clean(c.Data))] = theme.Clean(text)
			}
			rows = append(rows, fields)
		}
	}
	return rows
}

// names returns the names of the columns that programs read.
func (t *Table) names() (names []string) {
	for _, c := range t.Columns {
		if c.Data != "" {
			names = append(names, theme.Clean(c.Data))
		}
	}
	return names
}

// Markdown writes a document for a wiki or a ticket.
func (d *Document) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", escaped(cmp.Or(d.Title, d.Question, d.Command+": "+d.Subject)))
	for _, line := range [][]string{d.Tags, d.About} {
		if len(line) > 0 {
			fmt.Fprintf(&b, "\n%s\n", escaped(strings.Join(line, ", ")))
		}
	}
	if line := commandLine(d.Args); line != "" {
		fmt.Fprintf(&b, "\n    %s\n", theme.Clean(line))
	}
	for _, alert := range d.Alerts {
		fmt.Fprintf(&b, "\n**%s**\n", escaped(alert))
	}
	for _, n := range d.Answer {
		fmt.Fprintf(&b, "\n%s\n", escaped(n.Text))
	}
	for _, text := range d.Remarks {
		fmt.Fprintf(&b, "\n- %s\n", escaped(text))
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		title := s.Title
		for _, block := range flat(s.All(), InMarkdown) {
			if !s.For.In(InMarkdown) {
				continue
			}
			if title != "" && !s.Captions {
				fmt.Fprintf(&b, "\n### %s\n", escaped(title))
			}
			title = ""
			switch block := block.(type) {
			case Facts:
				block.markdown(&b)
			case *Table:
				block.markdown(&b)
			case Code:
				b.WriteString("\n")
				for line := range strings.Lines(string(block)) {
					b.WriteString("    " + theme.Clean(strings.TrimRight(line, "\n")) + "\n")
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown writes the facts as a table. What goes on with a fact is in its cell.
func (f *Facts) markdown(b *strings.Builder) {
	b.WriteString("\n| | |\n| --- | --- |")
	for i := range f.Rows {
		fact := &f.Rows[i]
		text := escaped(fact.Text)
		if fact.Tone == Bad {
			text = "**" + text + "**"
		}
		if fact.Remark != "" {
			text += " (" + escaped(fact.Remark) + ")"
		}
		switch {
		case i > 0 && fact.Name == "":
			b.WriteString("; " + text)
			continue
		case i > 0:
			b.WriteString(" |")
		}
		fmt.Fprintf(b, "\n| %s | %s", escaped(fact.Name), text)
	}
	b.WriteString(" |\n")
}

func (t *Table) markdown(b *strings.Builder) {
	if len(t.Rows) == 0 {
		if t.Empty != "" {
			fmt.Fprintf(b, "\n%s\n", escaped(t.Empty))
		}
		return
	}
	line := func(of func(i int) string, note string) {
		for i, column := range t.Columns {
			if column.Head != "" && column.For.In(InMarkdown) {
				b.WriteString("| " + of(i) + " ")
			}
		}
		if t.Notes() {
			b.WriteString("| " + note + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	line(func(i int) string { return escaped(t.Columns[i].Head) }, "note")
	line(func(int) string { return "---" }, "---")
	for _, row := range t.Rows {
		line(func(i int) string {
			text := escaped(strings.TrimSpace(row.Cells[i].Text + " " + row.Cells[i].Note))
			if row.Cells[i].Tone == Bad {
				text = "**" + text + "**"
			}
			return text
		}, escaped(row.Note))
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", escaped(t.Note))
	}
}

// Notes reports whether a row has a note.
func (t *Table) Notes() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Note != "" })
}

// escaped returns text that Markdown shows as it is, on one line.
func escaped(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(theme.Clean(s))
}
