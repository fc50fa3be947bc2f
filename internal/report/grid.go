package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// grid is a table whose columns are as wide as their widest cell. The first column is
// flush left, and so is each that says so; the others are numbers, flush right.
type grid struct {
	heads []string
	left  map[int]bool // other columns that are flush left
	names map[int]bool // other columns that hold names, as the first one does
	least []int        // how wide columns are at least, where there is room; nil: as they come
	leave []string     // columns that a narrow terminal has no room for, by their heads, the first to go first
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

// all returns the rows with the names of the columns on top.
func (g *grid) all() [][]gridCell {
	var heads []gridCell
	for _, head := range g.heads {
		heads = append(heads, gridCell{head, muted})
	}
	return append([][]gridCell{heads}, g.rows...)
}

// margin is the indent of tables and of most lines.
const margin = 4

// draw writes the table, with two spaces between columns, or one if it is too wide then.
// On a terminal that is too narrow for that it leaves columns out.
func (t *text) draw(g *grid) {
	rows := g.all()
	widths := make([]int, len(g.heads))
	for i := range widths {
		for _, row := range rows {
			if t.th.ASCII() { // now, for it takes more characters
				row[i].text = comparisons.Replace(row[i].text)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	widths, gap := t.layout(g, widths)
	for k, row := range rows {
		if k == 0 && g.least != nil { // such heads are far apart, and painted as one
			for i := range row {
				row[i].style = plain
			}
			t.line(strings.Repeat(" ", margin) + t.th.Paint(muted, strings.TrimRight(t.joined(g, row, widths, gap), " ")))
			continue
		}
		t.line(strings.Repeat(" ", margin) + t.joined(g, row, widths, gap))
	}
}

// joined is one line of a table.
func (t *text) joined(g *grid, row []gridCell, widths []int, gap int) string {
	var b strings.Builder
	for i, c := range row {
		if widths[i] == leftOut {
			continue
		}
		shown := cut(c.text, widths[i], t.th)
		if i == 0 || g.names[i] { // they differ at either end
			shown = middle(c.text, widths[i], t.th)
		}
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(shown))
		if shown != "" {
			shown = t.th.Paint(c.style, shown)
		}
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if i == 0 || g.left[i] {
			b.WriteString(shown + space)
		} else {
			b.WriteString(space + shown)
		}
	}
	return b.String()
}

// leftOut is the width of a column that is not shown.
const leftOut = -1

// layout finds widths for columns that hold so many characters, and the space between
// them. Where no terminal is known every column is shown as it is.
func (t *text) layout(g *grid, widths []int) (_ []int, gap int) {
	room := t.limit() - margin
	wide := slices.Clone(widths)
	for i, n := range g.least {
		wide[i] = max(wide[i], n)
	}
	switch {
	case across(wide, 2) <= room:
		return wide, 2
	case across(widths, 2) <= room:
		return widths, 2
	case t.width == 0 || across(widths, 1) <= room:
		return widths, 1
	}
	for i := range widths {
		if i == 0 || g.names[i] {
			widths[i] = min(widths[i], maxName)
		}
	}
	var leave []int
	for _, head := range g.leave {
		if i := slices.Index(g.heads, head); i >= 0 {
			leave = append(leave, i)
		}
	}
	gap = fit(widths, leave, room, 2, 1)
	g.shrink(widths, across(widths, gap)-room)
	return widths, gap
}

// fit leaves out columns in the order of leave until a line has room, and tells how many
// spaces are between the others: as many as wanted, or least.
func fit(widths, leave []int, room, wanted, least int) int {
	for _, i := range leave {
		if across(widths, least) <= room {
			break
		}
		widths[i] = leftOut
	}
	if across(widths, wanted) <= room {
		return wanted
	}
	return least
}

// across returns how wide a line of such columns is.
func across(widths []int, gap int) int {
	sum := -gap
	for _, n := range widths {
		if n != leftOut {
			sum += n + gap
		}
	}
	return sum
}

// leastName is how far a name is cut.
const leastName = 8

// shrink takes so many characters from names, the longest first, and when these are as
// short as can be, from other words. Numbers stay whole.
func (g *grid) shrink(widths []int, over int) {
	name := func(i int) bool { return i == 0 || g.names[i] }
	word := func(i int) bool { return g.left[i] }
	for _, may := range []func(int) bool{name, word} {
		for ; over > 0; over-- {
			longest := -1
			for i, n := range widths {
				if may(i) && n > leastName && (longest < 0 || n > widths[longest]) {
					longest = i
				}
			}
			if longest < 0 {
				break
			}
			widths[longest]--
		}
	}
}

// maxName is how long the name of a host may be in a table.
const maxName = 20

// name returns a name that a peer gave, for a table: printable, and cut in its middle, as
// names of hosts differ at either end.
func (t *text) name(s string) string { return middle(s, maxName, t.th) }

// middle shortens text to so many characters by what is in its middle.
func middle(s string, width int, th *theme.Theme) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	head := width / 2
	return string(r[:head]) + string(th.Glyphs.Ellipsis) + string(r[len(r)-(width-head-1):])
}
