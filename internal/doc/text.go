package doc

import (
	"cmp"
	"io"
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
