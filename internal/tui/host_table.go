package tui

import (
	"cmp"
	"slices"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// hostColumn is one fact of each host. Its width is with the gap before it.
type hostColumn struct {
	name  string
	width int
	rank  int  // where there is no room for all, the highest are left out
	left  bool // it begins at its left edge, after the gap; else it ends at the right one
	draw  func(c chart.Canvas, h *hostData)
}

// hostTable draws rows of columns.
type hostTable struct {
	c       chart.Canvas
	s       *scene
	columns []hostColumn
	slow    []slowHost
	name    int     // width
	top     float64 // of the trends
}

// Widths of the table.
const (
	columnGap    = 2
	leastNote    = 8
	leastTrend   = len(trendName)
	longestTrend = 60 // a cell a second
	trendTime    = 60 // seconds
)

func newHostTable(c chart.Canvas, s *scene) hostTable {
	t := hostTable{c: c, s: s, slow: s.slowHosts(), top: s.highestRate(), name: chart.Width("host")}
	for _, h := range s.hosts {
		t.name = max(t.name, chart.Width(h.short))
	}
	w, _ := c.Size()
	t.name = min(t.name, max(w/4, 1))
	all := t.loadColumns()
	if s.gathering() {
		all = t.gatheringColumns()
	}
	t.columns = fitColumns(all, w-t.name)
	return t
}

// fitColumns leaves out what there is no room for. What is left over goes to the trend
// and the note.
func fitColumns(all []hostColumn, room int) []hostColumn {
	byRank := slices.SortedFunc(slices.Values(all), func(a, b hostColumn) int { return cmp.Compare(a.rank, b.rank) })
	most := 0
	for _, col := range byRank {
		if col.width > room {
			break
		}
		room -= col.width
		most = col.rank
	}
	kept := slices.DeleteFunc(all, func(col hostColumn) bool { return col.rank > most })
	find := func(name string) *hostColumn {
		i := slices.IndexFunc(kept, func(col hostColumn) bool { return col.name == name })
		if i < 0 {
			return &hostColumn{}
		}
		return &kept[i]
	}
	trend, note := find(trendName), find(noteName)
	if trend.width > 0 {
		grow := min(room*2/3, longestTrend+columnGap-trend.width)
		trend.width += grow
		room -= grow
	}
	note.width += room
	return kept
}

// Columns that grow.
const (
	trendName = "rec/s trend"
	noteName  = "note"
)

// head draws the names of the columns.
func (t *hostTable) head() {
	muted := theme.Style{FG: theme.Muted}
	t.c.Text(0, 0, "host", muted)
	x := t.name
	for _, col := range t.columns {
		if col.left {
			t.c.Text(x+columnGap, 0, t.c.Fit(col.name, col.width-columnGap), muted)
		} else {
			t.c.TextRight(x+col.width, 0, col.name, muted)
		}
		x += col.width
	}
}

func (t *hostTable) row(y int, h *hostData, selected bool) {
	t.c.Text(0, y, chart.FitMiddle(h.short, t.name), t.look(h, theme.Style{FG: theme.Text, Bold: selected}))
	x := t.name
	for _, col := range t.columns {
		col.draw(t.c.Sub(x+columnGap, y, col.width-columnGap, 1), h)
		x += col.width
	}
}
