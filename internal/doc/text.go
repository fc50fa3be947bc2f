package doc

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// Text writes a document for a terminal: its head, and each section with an empty line before each block, and its title before the first.
func (d *Document) Text(w io.Writer, o Options) error {
	t := NewWriter(o)
	t.Line("")
	t.Head(d)
	for _, n := range d.Answer {
		t.Paragraph(2, cmp.Or(n.Tone, Loud), n.Text)
	}
	for _, s := range d.Parts(t.in()) {
		for i, block := range s.Blocks {
			if t.Line(""); i == 0 && !s.Captions {
				t.Paragraph(2, Loud, s.Title)
			}
			switch b := block.(type) {
			case *Facts:
				t.facts(b.Rows)
			case Code:
				for line := range strings.Lines(string(b)) {
					t.Line(strings.Repeat(" ", margin) + line)
				}
			case *Table:
				if s.Captions && !b.Bare {
					t.Paragraph(margin, Muted, b.Caption)
				}
				t.Table(b)
			}
		}
	}
	if len(d.Remarks) > 0 {
		t.Line("")
	}
	for _, text := range d.Remarks {
		t.Paragraph(2, Muted, text)
	}
	if d.Again+d.Check != "" {
		t.Line("")
	}
	for _, later := range [][2]string{{"read again", d.Again}, {"check", d.Check}} { // on one line to be copied
		switch label, command := later[0], later[1]; {
		case command == "":
		case t.Width > 0 && labelled+t.th.Width(command) > t.limit():
			t.Row(label, Muted, "", true)
			t.Line(strings.Repeat(" ", margin) + t.Paint(Muted, command))
		default:
			t.Row(label, Muted, command, true)
		}
	}
	_, err := w.Write(t.Bytes())
	return err
}

// Head writes what a document is of, and what is to be read before any figure.
func (t *Writer) Head(d *Document) {
	t.Heading(d.Command, d.Subject, d.Tags)
	t.Paragraph(2, Muted, d.Question)
	t.Paragraph(2, Muted, strings.Join(d.About, ", "))
	switch line := " "; {
	case len(d.Args) == 0:
	case t.Width == 0 || !t.Full:
		t.Line("  " + t.Paint(Muted, t.Cut(d.CommandLine(), 2)))
	default: // on as many lines as the terminal needs, in a form that a shell takes
		for i, arg := range d.Args {
			if arg = theme.Quoted(arg); i > 0 && t.th.Width(line+" "+arg) > t.limit()-len(` \`) {
				t.Line(t.Paint(Muted, line+` \`))
				line = "   "
			}
			line += " " + arg
		}
		t.Line(t.Paint(Muted, line))
	}
	t.Paragraph(2, Muted, d.Line)
	for _, alert := range d.Alerts {
		for i, line := range t.Wrap(t.measured(alert), t.wrapAt()-4) {
			t.Line("  " + t.Paint(Warn, []string{string(t.th.Glyphs.Alert) + " ", "  "}[min(i, 1)]+line))
		}
	}
}

// in are the outputs that a terminal is.
func (t *Writer) in() Output {
	if t.Verbose {
		return InText | InDetails
	}
	return InText
}

// facts writes a row for each fact.
func (t *Writer) facts(facts []Fact) {
	for _, f := range facts {
		text, room := f.Text, t.limit()-labelled
		for _, shorter := range f.Shorter {
			if t.Width > 0 && t.th.Width(t.measured(text)) > room {
				text = shorter
			}
		}
		if more := text + "   " + t.Paint(Muted, "("+f.Remark+")"); f.Remark != "" && (t.Width == 0 || t.th.Width(t.measured(more)) <= room) {
			text = more
		}
		t.Row(f.Name, f.Tone, text, t.Width == 0 && len(f.Shorter) > 0) // figures are on one line, which is easier to search
	}
}

// Markdown writes a document for a wiki or a ticket.
func (d *Document) Markdown(w io.Writer) error {
	var b strings.Builder
	line := func(format, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n"+format+"\n", text)
		}
	}
	fmt.Fprintf(&b, "## %s\n", escaped(cmp.Or(d.Question, d.Command+": "+d.Subject)))
	line("%s", escaped(strings.Join(d.Tags, ", ")))
	line("%s", escaped(strings.Join(d.About, ", ")))
	line("    %s", theme.Clean(d.CommandLine()))
	for _, alert := range d.Alerts {
		line("**%s**", escaped(alert))
	}
	for _, n := range d.Answer {
		line("%s", escaped(n.Text))
	}
	for _, text := range d.Remarks {
		line("- %s", escaped(text))
	}
	for _, s := range d.Parts(InMarkdown) {
		if !s.Captions {
			line("### %s", escaped(s.Title))
		}
		for _, block := range s.Blocks {
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
	for i, fact := range f.Rows {
		text := marked(fact.Text, fact.Tone)
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
		fmt.Fprintf(b, "\n%s\n", escaped(t.Empty))
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
			return marked(strings.TrimSpace(row.Cells[i].Text+" "+row.Cells[i].Note), row.Cells[i].Tone)
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

// marked returns text for Markdown, in bold if it is bad.
func marked(text string, tone Tone) string {
	if tone == Bad {
		return "**" + escaped(text) + "**"
	}
	return escaped(text)
}

// escaped returns text that Markdown shows as it is, on one line.
func escaped(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(theme.Clean(s))
}
