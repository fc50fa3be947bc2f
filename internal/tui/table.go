package tui

import (
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// column is one fact of the rows of a table.
type column[R any] struct {
	name  string
	width int                        // with the gap before it
	rank  int                        // where there is no room for all, the highest are left out
	value func(r *R) segment         // ends at the right edge; nil: draw
	draw  func(c chart.Canvas, r *R) // from the left edge
	by    func(r *R) float64         // by which rows are sorted; nil: by nothing
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
		name, style := col.name, theme.Style{FG: theme.Muted}
		if i == marked {
			name, style = name+string(t.c.Theme().Glyphs.Event), theme.Style{FG: theme.Brand, Bold: true}
		}
		if col.value == nil {
			t.c.Text(x+t.gap, 0, t.c.Fit(name, col.width-t.gap), style)
		} else {
			t.c.TextRight(x+col.width, 0, name, style)
		}
		x += col.width
	}
}

func (t table[R]) row(y int, r *R) {
	x := -t.gap
	for _, col := range t.columns {
		if col.value == nil {
			col.draw(t.c.Sub(x+t.gap, y, col.width-t.gap, 1), r)
		} else {
			v := col.value(r)
			t.c.TextRight(x+col.width, y, v.text, v.style)
		}
		x += col.width
	}
}
