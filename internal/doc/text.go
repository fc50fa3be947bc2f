package doc

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// Text writes a document for a terminal.
func (d *Document) Text(w io.Writer, o Options) error {
	t := NewWriter(o)
	t.Line("")
	t.Head(d)
	for _, n := range d.Answer {
		t.Paragraph(2, cmp.Or(n.Tone, Loud), n.Text)
	}
	for i := range d.Sections {
		t.Section(&d.Sections[i])
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
	t.later("read again", d.Again)
	t.later("check", d.Check)
	_, err := w.Write(t.Bytes())
	return err
}

// Head writes what a document is of, and what is to be read before any figure.
func (t *Writer) Head(d *Document) {
	t.Heading(d.Command, d.Subject, d.Tags)
	t.Paragraph(2, Muted, d.Question)
	t.Paragraph(2, Muted, strings.Join(d.About, ", "))
	t.command(d.Args)
	t.Paragraph(2, Muted, d.Line)
	for _, alert := range d.Alerts {
		t.Alert(2, alert)
	}
}

// command writes a command line: cut to one line, or with Full on as many as the terminal needs, in a form that a shell takes.
func (t *Writer) command(args []string) {
	line := commandLine(args)
	switch {
	case line == "":
		return
	case t.Width == 0, !t.Full:
		t.Line("  " + t.Paint(Muted, t.Cut(line, 2)))
		return
	}
	line = " "
	for i, arg := range args {
		if arg = theme.Quoted(arg); i > 0 && t.th.Width(line+" "+arg) > t.limit()-len(` \`) {
			t.Line(t.Paint(Muted, line+` \`))
			line = "   "
		}
		line += " " + arg
	}
	t.Line(t.Paint(Muted, line))
}

// commandLine returns a command line in a form that a shell takes.
func commandLine(args []string) string {
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, theme.Quoted(arg))
	}
	return strings.Join(quoted, " ")
}

// later writes a command for later, on one line to be copied.
func (t *Writer) later(label, command string) {
	if t.Width > 0 && labelled+t.th.Width(command) > t.limit() {
		t.Row(label, Muted, "", true)
		label = strings.Repeat(" ", margin)
		t.Line(label + t.Paint(Muted, command))
		return
	}
	if command != "" {
		t.Line(strings.Repeat(" ", margin) + t.Paint(Muted, label+strings.Repeat(" ", 13-len(label))+command))
	}
}

// in are the outputs that a terminal is.
func (t *Writer) in() Output {
	if t.Verbose {
		return InText | InDetails
	}
	return InText
}

// Section writes a part of a document: its blocks with an empty line before each, and its title before the first.
func (t *Writer) Section(s *Section) {
	titled := s.Title != "" && !s.Captions
	for _, block := range Shown(s.Blocks, t.in()) {
		if !s.For.In(t.in()) {
			continue
		}
		if t.Line(""); titled {
			t.Paragraph(2, Loud, s.Title)
			titled = false
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
