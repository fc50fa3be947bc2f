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
	for _, s := range d.Sections {
		if len(s.Facts) > 0 {
			b.WriteString("\n| | |\n| --- | --- |\n")
		}
		for _, f := range s.Facts {
			fmt.Fprintf(&b, "| %s | %s |\n", escaped(f.Name), escaped(f.Text))
		}
		for i := range s.Tables {
			s.Tables[i].markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
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
				b.WriteString("| " + escaped(of(i)) + " ")
			}
		}
		if t.Notes() {
			b.WriteString("| " + escaped(note) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	line(func(i int) string { return t.Columns[i].Head }, "note")
	line(func(int) string { return "---" }, "---")
	for _, row := range t.Rows {
		line(func(i int) string { return row.Cells[i].Text }, row.Note)
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
