package doc

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// grid is a table on a terminal. Its columns are as wide as their widest cells.
type grid struct {
	columns []Column
	rows    [][]Cell // the first has the heads
	widths  []int    // leftOut: there is no room for it
	gap     int      // spaces between columns

	sentences []Cell // of the last column, if it is of sentences
}

const (
	leftOut   = -1
	barWidth  = 40 // of the longest bar
	longName  = 20 // to which names are cut first
	shortName = 8  // to which names and words are cut at most
	short     = 30 // the room that a sentence needs beside the other columns
)

// Table writes a table: the columns with a head, with two spaces between them, or one if it is too wide then. On a terminal that is too
// narrow for that it leaves columns out, and cuts names and then words. Numbers stay whole.
func (t *Writer) Table(table *Table) {
	if len(table.Rows) == 0 {
		t.Paragraph(2, Muted, table.Empty)
		return
	}
	g := t.gridOf(table)
	for k, row := range g.rows {
		t.sentences(g, k, strings.Repeat(" ", margin)+t.joined(g, row))
		if k == 0 {
			continue
		}
		of := &table.Rows[k-1]
		t.remark(margin+5, cmp.Or(of.NoteTone, Muted), of.Note)
	}
	t.remark(margin, Muted, table.Note)
}

// gridOf returns the columns with a head, and one for the bars of those that have them.
func (t *Writer) gridOf(table *Table) *grid {
	g, full := &grid{rows: make([][]Cell, 1+len(table.Rows))}, "█"
	if t.th.ASCII() {
		full = "#"
	}
	for i, c := range table.Columns {
		if c.Head == "" || !c.For.In(t.in()) {
			continue
		}
		if c.Kind == Sentence {
			g.sentences = []Cell{{Text: c.Head, Tone: Muted}}
			for _, row := range table.Rows {
				g.sentences = append(g.sentences, row.Cells[i])
			}
			continue
		}
		g.columns = append(g.columns, c)
		g.rows[0] = append(g.rows[0], Cell{Text: c.Head, Tone: Muted})
		bars := c.Bars && slices.ContainsFunc(table.Rows, func(r Row) bool { return r.Cells[i].Bar > 0 })
		if bars {
			g.columns, g.rows[0] = append(g.columns, Column{Kind: Words, Leave: c.Leave}), append(g.rows[0], Cell{})
		}
		for k, row := range table.Rows {
			cell := row.Cells[i]
			if cell.Text = t.measured(cell.Text); cell.Tone == Plain {
				cell.Tone = row.Tone
			}
			if cell.Note != "" {
				cell.Text += " " + cell.Note
			}
			if g.rows[k+1] = append(g.rows[k+1], cell); bars {
				g.rows[k+1] = append(g.rows[k+1], Cell{Text: strings.Repeat(full, int(table.Share(i, cell.Bar)*barWidth+0.5)), Tone: row.Tone})
			}
		}
	}
	g.columns[0].Kind = max(g.columns[0].Kind, Name) // the names of the rows
	t.layout(g)
	return g
}

// sentences writes a line of a table, and the sentence of its row on as many lines as it needs.
func (t *Writer) sentences(g *grid, k int, line string) {
	if g.sentences == nil || g.sentences[k].Text == "" {
		t.Line(line)
		return
	}
	text, tone, room := g.sentences[k].Text, g.sentences[k].Tone, t.limit()-margin-g.across()-2
	switch {
	case t.Width == 0:
		t.Line(line + "  " + t.Paint(tone, text))
	case room < short:
		if t.Line(line); k > 0 {
			t.Paragraph(margin+4, tone, text)
		}
	default:
		for _, part := range t.Wrap(t.measured(text), min(room, lineWidth)) {
			t.Line(line + "  " + t.Paint(tone, part))
			line = strings.Repeat(" ", margin+g.across())
		}
	}
}

// joined is one line of a table.
func (t *Writer) joined(g *grid, row []Cell) string {
	var b strings.Builder
	for i, c := range row {
		if g.widths[i] == leftOut {
			continue
		}
		shown := t.cut(c.Text, g.widths[i], g.columns[i].Kind == Name)
		space := strings.Repeat(" ", g.widths[i]-utf8.RuneCountInString(shown))
		if shown != "" {
			shown = t.Paint(c.Tone, shown)
		}
		if i > 0 {
			b.WriteString(strings.Repeat(" ", g.gap))
		}
		if g.columns[i].Kind == Number {
			b.WriteString(space + shown)
		} else {
			b.WriteString(shown + space)
		}
	}
	return b.String()
}

// layout finds the widths of the columns and the gap between them. Where there is no terminal every column is as wide as it needs to be.
func (t *Writer) layout(g *grid) {
	g.widths, g.gap = make([]int, len(g.columns)), 2
	for i := range g.widths {
		for _, row := range g.rows {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(row[i].Text))
		}
	}
	room := t.limit() - margin
	if g.across() <= room {
		return
	}
	if g.gap = 1; t.Width == 0 || g.across() <= room {
		return
	}
	for i, c := range g.columns {
		if c.Kind == Name {
			g.widths[i] = min(g.widths[i], longName)
		}
	}
	leave := 0
	for _, c := range g.columns {
		leave = max(leave, c.Leave)
	}
	for ; leave > 0; leave-- {
		for i, c := range g.columns {
			if c.Leave == leave && g.across() > room {
				g.widths[i] = leftOut
			}
		}
	}
	if g.gap = 2; g.across() > room {
		g.gap = 1
	}
	for _, kinds := range [][]Kind{{Name}, {Name, Words}} {
		for over := g.across() - room; over > 0; over-- {
			longest, width := -1, shortName
			for i, n := range g.widths {
				if slices.Contains(kinds, g.columns[i].Kind) && n > width {
					longest, width = i, n
				}
			}
			if longest < 0 {
				break
			}
			g.widths[longest]--
		}
	}
}

// across returns how wide a line is.
func (g *grid) across() int {
	sum := -g.gap
	for _, n := range g.widths {
		if n != leftOut {
			sum += n + g.gap
		}
	}
	return sum
}

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
		s = strings.Map(func(r rune) rune { // other characters stay: they are in names that the user gave, of files above all
			if a := theme.Fold(r); a != '?' {
				return a
			}
			return r
		}, comparisons.Replace(s))
	}
	t.WriteString(strings.TrimRight(s, " ") + "\n")
}

// comparisons are signs that need two characters in ASCII to say the same.
var comparisons = strings.NewReplacer("≤", "<=", "≥", ">=", "→", "->", "±", "+/-")

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
			line = t.cut(line, width, true)
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
	return t.cut(s, t.limit()-column, false)
}

// cut shortens text to so many characters, and shows where: at its end, or in its middle, because names of hosts differ at either end.
func (t *Writer) cut(s string, width int, inMiddle bool) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	head := max(width-1, 0)
	if inMiddle {
		head = width / 2
	}
	return string(r[:head]) + string(t.th.Glyphs.Ellipsis) + string(r[len(r)-max(width-head-1, 0):])
}
