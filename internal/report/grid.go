package report

import (
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// grid is a table whose columns are as wide as what they hold. The first column is
// flush left, and so is each that says so; the others are numbers, flush right.
type grid struct {
	heads []string
	left  map[int]bool // other columns that are flush left
	rows  [][]gridCell
}

// gridCell is one field of a row: text without escape sequences, and its look.
type gridCell struct {
	text  string
	style theme.Style
}

// add adds a row of one look.
func (g *grid) add(s theme.Style, texts ...string) {
	var row []gridCell
	for _, text := range texts {
		row = append(row, gridCell{text, s})
	}
	g.rows = append(g.rows, row)
}

// all are the rows with the names of the columns on top.
func (g *grid) all() [][]gridCell {
	var heads []gridCell
	for _, head := range g.heads {
		heads = append(heads, gridCell{head, muted})
	}
	return append([][]gridCell{heads}, g.rows...)
}

// draw writes the table, with two spaces between columns, or one if it is too wide then.
func (t *text) draw(g *grid) {
	rows := g.all()
	widths, sum := make([]int, len(g.heads)), 0
	for i := range widths {
		for _, row := range rows {
			if t.th.ASCII() { // now, for it takes more characters
				row[i].text = comparisons.Replace(row[i].text)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
		sum += widths[i]
	}
	gap := "  "
	if 4+sum+len(gap)*(len(widths)-1) > lineWidth {
		gap = " "
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString("    ")
		for i, c := range row {
			space, painted := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)), c.text
			if painted != "" {
				painted = t.th.Paint(c.style, painted)
			}
			if i > 0 {
				b.WriteString(gap)
			}
			if i == 0 || g.left[i] {
				b.WriteString(painted + space)
			} else {
				b.WriteString(space + painted)
			}
		}
		t.line(b.String())
	}
}

// maxName is how long the name of a host may be in a table.
const maxName = 20

// name is a name that a peer gave, for a table: printable, and cut in its middle, as
// names of hosts differ at either end.
func (t *text) name(s string) string { return middle(printable(s), maxName, t.th) }

// middle shortens text to so many characters by what is in its middle.
func middle(s string, width int, th *theme.Theme) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	head := width / 2
	return string(r[:head]) + string(th.Glyphs.Ellipsis) + string(r[len(r)-(width-head-1):])
}
