package tui

import (
	"cmp"
	"slices"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// hostTable has a row for each host.
type hostTable struct {
	table[hostData]
	s    *scene
	slow []slowHost
	top  float64 // of the trends
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
	t := hostTable{table: table[hostData]{c: c, gap: columnGap}, s: s, slow: s.slowHosts(), top: s.highestRate()}
	name := chart.Width("host")
	for _, h := range s.hosts {
		name = max(name, chart.Width(h.short))
	}
	w, _ := c.Size()
	name = min(name, max(w/4, 1))
	all := t.loadColumns()
	if s.gathering() {
		all = t.gatheringColumns()
	}
	first := column[hostData]{name: "host", width: name + columnGap, draw: func(c chart.Canvas, h *hostData) {
		c.Text(0, 0, chart.FitMiddle(h.short, name), t.styleOf(h, theme.Style{FG: theme.Text, Bold: h == s.hosts[s.selected]}))
	}}
	t.columns = append([]column[hostData]{first}, fitColumns(all, w-name)...)
	return t
}

// fitColumns leaves out what there is no room for. What is left over goes to the trend
// and the note.
func fitColumns(all []column[hostData], room int) []column[hostData] {
	byRank := slices.SortedFunc(slices.Values(all), func(a, b column[hostData]) int { return cmp.Compare(a.rank, b.rank) })
	most := 0
	for _, col := range byRank {
		if col.width > room {
			break
		}
		room -= col.width
		most = col.rank
	}
	kept := slices.DeleteFunc(all, func(col column[hostData]) bool { return col.rank > most })
	find := func(name string) *column[hostData] {
		i := slices.IndexFunc(kept, func(col column[hostData]) bool { return col.name == name })
		if i < 0 {
			return &column[hostData]{}
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
