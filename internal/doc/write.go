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

// CSV writes the data of a document: of each row of its Data table what programs read. Of several tables each row begins with the
// name of its table, and has the columns of all.
func (d *Document) CSV(w io.Writer) error {
	var tables []*Table
	for i := range d.Sections {
		tables = dataIn(tables, d.Sections[i].All())
	}
	var names []string
	if len(tables) > 1 {
		names = []string{"table"}
	}
	for _, t := range tables {
		for _, c := range t.Columns {
			if c.Data != "" && !slices.Contains(names, c.Data) {
				names = append(names, c.Data)
			}
		}
	}
	c := csv.NewWriter(w)
	err := c.Write(clean(names))
	for _, t := range tables {
		for _, row := range t.Rows {
			fields := make([]string, len(names))
			if len(tables) > 1 {
				fields[0] = t.ID
			}
			for i, column := range t.Columns {
				if column.Data == "" {
					continue
				}
				text := row.Cells[i].Data
				if column.Kind != Number {
					text = cmp.Or(text, row.Cells[i].Text)
				}
				fields[slices.Index(names, column.Data)] = text
			}
			err = cmp.Or(err, c.Write(clean(fields)))
		}
	}
	c.Flush()
	return cmp.Or(err, c.Error())
}

// dataIn adds the tables of data in some blocks.
func dataIn(tables []*Table, all []Block) []*Table {
	for _, block := range all {
		switch b := block.(type) {
		case *Table:
			if b.Data {
				tables = append(tables, b)
			}
		case Details:
			tables = dataIn(tables, b.Blocks)
		}
	}
	return tables
}

func clean(fields []string) []string {
	for i := range fields {
		fields[i] = theme.Clean(fields[i])
	}
	return fields
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
