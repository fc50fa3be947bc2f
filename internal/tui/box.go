package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// segment is a piece of a line in one style.
type segment struct {
	text  string
	style theme.Style
}

// line is pieces side by side.
type line []segment

func muted(text string) segment                { return segment{text, theme.Style{FG: theme.Muted}} }
func plain(text string) segment                { return segment{text, theme.Style{FG: theme.Text}} }
func colored(c theme.Color, t string) segment  { return segment{t, theme.Style{FG: c}} }
func emphasis(c theme.Color, t string) segment { return segment{t, theme.Style{FG: c, Bold: true}} }

func (l line) width() int {
	w := 0
	for _, p := range l {
		w += chart.Width(p.text)
	}
	return w
}

func (p segment) draw(c chart.Canvas, x, y int) int { return c.Text(x, y, p.text, p.style) }

func (l line) draw(c chart.Canvas, x, y int) int {
	for _, p := range l {
		x = p.draw(c, x, y)
	}
	return x
}

// fit joins groups with a gap between them, as many as there is room for.
func fit(groups []line, gap string, w int) line {
	var out line
	for _, g := range groups {
		with := append(out[:len(out):len(out)], g...)
		if len(out) > 0 {
			with = append(append(out[:len(out):len(out)], segment{text: gap}), g...)
		}
		if with.width() > w {
			return out
		}
		out = with
	}
	return out
}

// box is the frame of a pane: its name above, with a few words at the right, and a
// remark below.
type box struct {
	digit  rune // that shows it alone
	name   string
	flat   bool   // a line above is all of the frame
	right  []line // most important first; those that do not fit are left out
	bottom []line
	table  bool // it says the same in few rows: the remark is for any height
}

// box returns the frame of a pane.
func (s *scene) box(p pane, name string) box {
	return box{digit: '0' + rune(max(slices.Index(s.panes(), p), 0)), name: name, flat: s.flat}
}

// draw draws the frame and returns what is inside.
func (b box) draw(c chart.Canvas) chart.Canvas {
	w, h := c.Size()
	border := theme.Style{FG: theme.Border}
	if b.flat {
		c.Row(0, 0, w, c.Theme().Glyphs.Horizontal, border)
	} else {
		drawBorder(c, border)
	}
	x := c.Text(2, 0, " "+string(b.digit)+" ", theme.Style{FG: theme.Muted})
	c.Text(x, 0, c.Fit(b.name, w-x-3)+" ", theme.Style{FG: theme.Text, Bold: true})
	if right := fit(b.right, "  ", b.room(w)); len(right) > 0 {
		at := w - right.width() - 4
		c.Set(at, 0, ' ', theme.Style{})
		c.Set(right.draw(c, at+1, 0), 0, ' ', theme.Style{})
	}
	if b.flat {
		return c.Sub(0, 1, w, h-1)
	}
	if bottom := fit(b.bottom, "  ", w-8); len(bottom) > 0 && (b.table || h > chartHeight) {
		at := w - bottom.width() - 4
		c.Set(at, h-1, ' ', theme.Style{})
		c.Set(bottom.draw(c, at+1, h-1), h-1, ' ', theme.Style{})
	}
	return c.Sub(1, 1, w-2, h-2)
}

// room returns what the name leaves of the upper edge of a box.
func (b box) room(w int) int {
	const around = 11 // corners, digit, blanks and a piece of the edge
	return w - chart.Width(b.name) - around
}

func drawBorder(c chart.Canvas, s theme.Style) {
	g := c.Theme().Glyphs
	w, h := c.Size()
	for _, y := range []int{0, h - 1} {
		c.Row(0, y, w, g.Horizontal, s)
	}
	for y := range h {
		c.Set(0, y, g.Vertical, s)
		c.Set(w-1, y, g.Vertical, s)
	}
	c.Set(0, 0, g.TopLeft, s)
	c.Set(w-1, 0, g.TopRight, s)
	c.Set(0, h-1, g.BottomLeft, s)
	c.Set(w-1, h-1, g.BottomRight, s)
}

// wrap breaks a text into lines between words, at most so many; the last one
// ends in an ellipsis when it is not all.
func wrap(c chart.Canvas, text string, w, most int) []string {
	var lines []string
	words := strings.Fields(text)
	for i := 0; i < len(words) && len(lines) < most; {
		l := words[i]
		for i++; i < len(words) && chart.Width(l)+1+chart.Width(words[i]) <= w; i++ {
			l += " " + words[i]
		}
		if len(lines) == most-1 && i < len(words) {
			l += " " + strings.Join(words[i:], " ")
		}
		lines = append(lines, c.Fit(l, w))
	}
	return lines
}

// brief leaves clauses off the end of a sentence until it fits, and then shortens its unit.
func brief(text string, fits func(string) bool) string {
	for !fits(text) {
		end := max(strings.LastIndex(text, "; "), strings.LastIndex(text, ", "), strings.LastIndex(text, " ("))
		if end < 0 {
			return strings.ReplaceAll(text, "records/s", "rec/s")
		}
		text = text[:end]
	}
	return text
}

// loadColor returns the colour of a share of something that can run out.
func loadColor(share float64) theme.Color {
	if share >= 0.9 {
		return theme.Warn
	}
	return theme.Good
}

// missing stands for a value that there is none of.
func missing(c chart.Canvas) segment { return muted(string(c.Theme().Glyphs.Missing)) }

// column is one fact of the rows of a table.
type column[R any] struct {
	name   string
	width  int                        // with the gap before it
	rank   int                        // where there is no room for all, the highest are left out
	hidden bool                       // of this run it is not shown
	left   bool                       // it begins at the left edge, and is cut at the right one; else it ends there
	value  func(r *R) segment         // nil: draw
	draw   func(c chart.Canvas, r *R) // from the left edge
	by     func(r *R) float64         // by which rows are sorted; nil: by nothing
}

// shown returns the columns that are not hidden.
func shown[R any](all []column[R]) []column[R] {
	return slices.DeleteFunc(all, func(col column[R]) bool { return col.hidden })
}

// table draws rows of columns. The first one has no gap before it.
type table[R any] struct {
	c       chart.Canvas
	gap     int
	columns []column[R]
}

// head draws the names of the columns, one of which is marked.
func (t table[R]) head(marked int) {
	x := -t.gap
	for i, col := range t.columns {
		name := muted(col.name)
		if i == marked {
			name = emphasis(theme.Brand, col.name+string(t.c.Theme().Glyphs.Event))
		}
		x = t.cell(x, 0, &col, name)
	}
}

func (t table[R]) row(y int, r *R) {
	x := -t.gap
	for _, col := range t.columns {
		if col.value == nil {
			col.draw(t.c.Sub(x+t.gap, y, col.width-t.gap, 1), r)
			x += col.width
			continue
		}
		x = t.cell(x, y, &col, col.value(r))
	}
}

// ordered returns rows in the order of a column: of the first the least comes first, of the others the greatest.
func (t table[R]) ordered(rows []R, by int) []R {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b R) int {
		order := cmp.Compare(t.columns[by].by(&a), t.columns[by].by(&b))
		if by > 0 {
			return -order
		}
		return order
	})
}

// cell draws what is in a column, and returns where the next one begins.
func (t table[R]) cell(x, y int, col *column[R], p segment) int {
	if col.left || col.value == nil {
		p.text = t.c.Fit(p.text, col.width-t.gap)
		p.draw(t.c, x+t.gap, y)
	} else {
		t.c.TextRight(x+col.width, y, p.text, p.style)
	}
	return x + col.width
}
