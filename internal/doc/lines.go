package doc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// Options are how a document is written for a terminal.
type Options struct {
	Theme   *theme.Theme // nil: without colours
	Width   int          // of the terminal in columns, as 60 at least; 0: there is none
	Verbose bool         // details too
	Full    bool         // the whole command line
}

// Writer writes lines for a terminal.
type Writer struct {
	bytes.Buffer
	Options

	th *theme.Theme // marked: Line tells what it paints from what is data
}

// NewWriter returns an empty one.
func NewWriter(o Options) *Writer {
	if o.Theme == nil {
		o.Theme = theme.New(theme.Options{})
	}
	return &Writer{Options: o, th: o.Theme.Marked()}
}

// styles are the looks of tones.
var styles = map[Tone]theme.Style{
	Good: {FG: theme.Good}, Warn: {FG: theme.Warn, Bold: true}, Bad: {FG: theme.Bad, Bold: true}, Muted: {FG: theme.Muted}, Loud: {FG: theme.Text, Bold: true},
}

// Paint writes text in a tone, for Line.
func (t *Writer) Paint(tone Tone, text string) string { return t.th.Paint(styles[tone], text) }

// Line writes a line. It is the one way into the text, and cleans what users, peers, brokers and files gave.
func (t *Writer) Line(s string) {
	s = t.th.Clean(s)
	if t.th.ASCII() {
		s = strings.Map(ascii, comparisons.Replace(s))
	}
	t.WriteString(strings.TrimRight(s, " ") + "\n")
}

// comparisons are signs that need two characters in ASCII to say the same.
var comparisons = strings.NewReplacer("≤", "<=", "≥", ">=", "→", "->", "±", "+/-")

// ascii replaces kt's own characters by ASCII ones. Others stay: they are in names that the user gave, of files above all.
func ascii(r rune) rune {
	if a := theme.Fold(r); a != '?' {
		return a
	}
	return r
}

const (
	lineWidth = 100 // where sentences are broken
	margin    = 4   // the indent of tables and of most lines
	labelled  = margin + 12 + 1
	least     = 60 // a narrower terminal is of no use
)

// wrapAt returns where sentences are broken.
func (t *Writer) wrapAt() int {
	if t.Width == 0 {
		return lineWidth
	}
	return min(max(t.Width, least), lineWidth)
}

// limit returns how wide what is no sentence may get: a wide terminal has room for more of it.
func (t *Writer) limit() int { return max(t.Width, t.wrapAt()) }

// measured is text of as many characters as a terminal will show of it.
func (t *Writer) measured(s string) string {
	if t.th.ASCII() {
		return comparisons.Replace(s)
	}
	return s
}

// Row writes a label and what belongs to it: on one line, or on as many as it needs.
func (t *Writer) Row(label string, tone Tone, value string, one bool) {
	lines := []string{value}
	if value = t.measured(value); !one && t.th.Width(value) > t.limit()-labelled {
		lines = t.Wrap(value, t.wrapAt()-labelled)
	}
	for _, line := range lines {
		t.Line(strings.Repeat(" ", margin) + t.Paint(Muted, fmt.Sprintf("%-12s", label)) + " " + t.Paint(tone, line))
		label = ""
	}
}

// Paragraph writes text on as many lines as it needs, with so many spaces before each.
func (t *Writer) Paragraph(indent int, tone Tone, text string) {
	for _, line := range t.Wrap(t.measured(text), t.wrapAt()-indent) {
		t.Line(strings.Repeat(" ", indent) + t.Paint(tone, line))
	}
}

// remark is a Paragraph that is one line where there is no terminal.
func (t *Writer) remark(indent int, tone Tone, text string) {
	if t.Width > 0 {
		t.Paragraph(indent, tone, text)
	} else if text != "" {
		t.Line(strings.Repeat(" ", indent) + t.Paint(tone, text))
	}
}

// Alert writes a warning.
func (t *Writer) Alert(indent int, s string) {
	mark := string(t.th.Glyphs.Alert) + " "
	for _, line := range t.Wrap(t.measured(s), t.wrapAt()-indent-2) {
		t.Line(strings.Repeat(" ", indent) + t.Paint(Warn, mark+line))
		mark = "  "
	}
}

// Heading writes a command and its tags, which are below it where a narrow terminal has no room. A line ends between tags.
func (t *Writer) Heading(command, subject string, tags []string) {
	const noBreak = "\u00a0"
	what := command + " " + string(t.th.Glyphs.Arrow) + " " + subject
	longest, rest := 0, make([]string, len(tags))
	for i, tag := range tags {
		rest[i] = strings.ReplaceAll(t.Cut(tag, margin), " ", noBreak)
		longest = max(longest, utf8.RuneCountInString(rest[i]))
	}
	used := 4 + utf8.RuneCountInString(what)
	if t.Width > 0 && used+longest > t.wrapAt() {
		t.Paragraph(2, Loud, what)
		what, used = "", margin
	}
	separator := noBreak + string(t.th.Glyphs.Separator) + " "
	lines := t.Wrap(strings.Join(rest, separator), t.wrapAt()-used)
	for i, about := range append(lines, make([]string, max(0, 1-len(lines)))...) {
		if i > 0 {
			what = ""
		}
		about = strings.ReplaceAll(strings.TrimSuffix(about, strings.TrimSuffix(separator, " ")), noBreak, " ")
		t.Line("  " + t.Paint(Loud, what+strings.Repeat(" ", max(0, used-4-utf8.RuneCountInString(what)))) + "  " + t.Paint(Muted, about))
	}
}

// Wrap breaks text into lines of at most so many characters, at spaces. A longer word is a line of its own, and cut on a terminal. The
// spaces within a line stay.
func (t *Writer) Wrap(s string, width int) (lines []string) {
	for rest := strings.TrimSpace(s); rest != ""; {
		line := rest
		if t.th.Width(rest) > width {
			runes, end := 0, -1
			for i, r := range rest {
				if r == ' ' {
					if runes > width && end > 0 {
						break
					}
					end = i
				}
				runes++
			}
			if end > 0 {
				line = rest[:end]
			}
		}
		rest = strings.TrimLeft(rest[len(line):], " ")
		if line = strings.TrimRight(line, " "); t.Width > 0 && !strings.ContainsRune(line, ' ') {
			line = middle(line, width, t.th)
		}
		lines = append(lines, line)
	}
	return lines
}

// Cut cuts text that begins in a column, so that it fits a terminal; in a file or a pipe it is whole.
func (t *Writer) Cut(s string, column int) string {
	if t.Width == 0 {
		return s
	}
	return cut(s, t.limit()-column, t.th)
}

// cut shortens text to so many characters, and shows that it did.
func cut(s string, width int, th *theme.Theme) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:max(width-1, 0)]) + string(th.Glyphs.Ellipsis)
}

// middle shortens text to so many characters by what is in its middle: names of hosts differ at either end.
func middle(s string, width int, th *theme.Theme) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	head := width / 2
	return string(r[:head]) + string(th.Glyphs.Ellipsis) + string(r[len(r)-(width-head-1):])
}
