package doc

import (
	"slices"
	"strings"
	"unicode/utf8"
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
		tone := of.NoteTone
		if tone == Plain {
			tone = Muted
		}
		t.remark(margin+5, tone, of.Note)
	}
	t.remark(margin, Muted, table.Note)
}

// gridOf returns the columns with a head, and one for the bars of those that have them.
func (t *Writer) gridOf(table *Table) *grid {
	g := &grid{rows: make([][]Cell, 1+len(table.Rows))}
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
				g.rows[k+1] = append(g.rows[k+1], Cell{Text: t.bar(table.Share(i, cell.Bar)), Tone: row.Tone})
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
	case room < short && k == 0:
		t.Line(line)
	case room < short:
		t.Line(line)
		t.Paragraph(margin+4, tone, text)
	default:
		for _, part := range t.Wrap(t.measured(text), min(room, lineWidth)) {
			t.Line(line + "  " + t.Paint(tone, part))
			line = strings.Repeat(" ", margin+g.across())
		}
	}
}

// bar draws a share.
func (t *Writer) bar(share float64) string {
	full := "█"
	if t.th.ASCII() {
		full = "#"
	}
	return strings.Repeat(full, int(share*barWidth+0.5))
}

// joined is one line of a table.
func (t *Writer) joined(g *grid, row []Cell) string {
	var b strings.Builder
	for i, c := range row {
		if g.widths[i] == leftOut {
			continue
		}
		shown := cut(c.Text, g.widths[i], t.th)
		if g.columns[i].Kind == Name {
			shown = middle(c.Text, g.widths[i], t.th)
		}
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
	for leave := g.leave(); leave >= 0 && g.across() > room; leave = g.leave() {
		g.widths[leave] = leftOut
	}
	if g.gap = 2; g.across() > room {
		g.gap = 1
	}
	for _, kinds := range [][]Kind{{Name}, {Name, Words}} {
		for over := g.across() - room; over > 0; over-- {
			longest := -1
			for i, n := range g.widths {
				if slices.Contains(kinds, g.columns[i].Kind) && n > shortName && (longest < 0 || n > g.widths[longest]) {
					longest = i
				}
			}
			if longest < 0 {
				break
			}
			g.widths[longest]--
		}
	}
}

// leave returns the column that is left out next; -1: none.
func (g *grid) leave() int {
	next := -1
	for i, c := range g.columns {
		if c.Leave > 0 && g.widths[i] != leftOut && (next < 0 || c.Leave > g.columns[next].Leave) {
			next = i
		}
	}
	return next
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
