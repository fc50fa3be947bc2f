package doc

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

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
		for _, block := range Shown(s.Blocks, InMarkdown) {
			if !s.For.In(InMarkdown) {
				continue
			}
			if title != "" && !s.Captions {
				fmt.Fprintf(&b, "\n### %s\n", escaped(title))
			}
			title = ""
			switch block := block.(type) {
			case *Facts:
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
