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

// CSV writes the data of a document: of each row of its Data table what programs read.
func (d *Document) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	for _, s := range d.Sections {
		for _, t := range s.Tables {
			if !t.Data {
				continue
			}
			write := func(of func(i int) string) error {
				var fields []string
				for i, column := range t.Columns {
					if column.Data != "" {
						fields = append(fields, theme.Clean(of(i)))
					}
				}
				return c.Write(fields)
			}
			err := write(func(i int) string { return t.Columns[i].Data })
			for _, row := range t.Rows {
				err = cmp.Or(err, write(func(i int) string {
					if t.Columns[i].Kind == Number {
						return row.Cells[i].Data
					}
					return cmp.Or(row.Cells[i].Data, row.Cells[i].Text)
				}))
			}
			if err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

// Markdown writes a document for a wiki or a ticket.
func (d *Document) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", escaped(cmp.Or(d.Title, d.Command+": "+d.Subject)))
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
		if s := &d.Sections[i]; s.For.In(InMarkdown) {
			markdown(&b, s.All())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdown(b *strings.Builder, all []Block) {
	for _, block := range all {
		switch block := block.(type) {
		case Details:
			if block.For.In(InMarkdown) {
				markdown(b, block.Blocks)
			}
		case Facts:
			if block.For.In(InMarkdown) {
				block.markdown(b)
			}
		case *Table:
			if block.For.In(InMarkdown) {
				block.markdown(b)
			}
		}
	}
}

// markdown writes the facts as a table. What goes on with a fact is in its cell.
func (f *Facts) markdown(b *strings.Builder) {
	end := "\n| | |\n| --- | --- |\n"
	for i := range f.Rows {
		fact := &f.Rows[i]
		if !fact.For.In(InMarkdown) {
			continue
		}
		text := escaped(fact.Text)
		if fact.Tone == Bad {
			text = "**" + text + "**"
		}
		if fact.Remark != "" {
			text += " (" + escaped(fact.Remark) + ")"
		}
		if fact.Name == "" && end == " |\n" {
			b.WriteString("; " + text)
			continue
		}
		fmt.Fprintf(b, "%s| %s | %s", end, escaped(fact.Name), text)
		end = " |\n"
	}
	if end == " |\n" {
		b.WriteString(end)
	}
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
			if column.Head != "" {
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
