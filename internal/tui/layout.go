package tui

import "slices"

// pane is one of the boxes.
type pane int

// The panes.
const (
	grid pane = iota // all that fit
	paneThroughput
	paneLatency
	paneHeatmap
	panePartitions
	paneBrokers
	paneClient
	paneEvents // alone only: its latest line is on every screen
	paneHosts
)

// The panes of a run on this host, and of one on many, each by the digit that shows it
// alone. Brokers and partitions are not told of over the network, and each host has a
// client of its own.
var (
	ownPanes  = [...]pane{grid, paneThroughput, paneLatency, paneHeatmap, panePartitions, paneBrokers, paneClient, paneEvents}
	hostPanes = [...]pane{grid, paneThroughput, paneLatency, paneHosts, paneHeatmap, paneEvents}
)

// panes are those of this run.
func (d *data) panes() []pane {
	if d.many() {
		return hostPanes[:]
	}
	return ownPanes[:]
}

// digit returns the key of a pane.
func (d *data) digit(p pane) rune { return '0' + rune(max(slices.Index(d.panes(), p), 0)) }

// rect is a place on the screen, in cells.
type rect struct{ x, y, w, h int }

// placed is a pane and its place.
type placed struct {
	pane pane
	rect rect
}

// screen is where everything goes. The places do not overlap and fill the
// terminal.
type screen struct {
	tiny   bool // too small for panes: numbers on the whole of it
	header rect
	banner rect // that the broker is embedded; empty when it is not
	events rect // the latest event; empty when there was none
	footer rect
	panes  []placed
}

// Sizes from which a layout is used, and the least that a pane needs.
const (
	tinyWidth, tinyHeight   = 60, 16
	gridWidth, gridHeight   = 100, 30
	sixWidth, sixHeight     = 120, 36
	headerHeight            = 2
	chartHeight             = 6    // border, axis and three rows
	stripHeight             = 4    // of bars on one row
	tableHeight             = 9    // border, six gauges and what they mean
	leftShare, rightOfShare = 4, 7 // the left column takes 4/7: time needs more room than bars
)

// needs are what there is to show.
type needs struct {
	zoom             pane
	embedded, events bool // there is a line to be shown
	brokers          int  // rows that would be well used below the charts
	hosts            int  // likewise; 0: kt runs here alone
	gathering        bool // the hosts are not ready: there is nothing else to see
	chart            pane // that stands over the hosts where there is room for one
}

// roomy reports whether there is room for charts side by side.
func roomy(w, h int) bool { return w >= gridWidth && h >= gridHeight }

// layout shares the terminal out. Panes that do not fit are left to their digit.
func layout(w, h int, n needs) screen {
	if w < tinyWidth || h < tinyHeight {
		return screen{tiny: true, header: rect{0, 0, max(w, 0), max(h, 0)}}
	}
	s := screen{header: rect{0, 0, w, headerHeight}, footer: rect{0, h - 1, w, 1}}
	top := headerHeight
	if n.embedded {
		s.banner = rect{0, top, w, 1}
		top++
	}
	bottom := h - 1
	if n.events && n.zoom != paneEvents { // which has them all
		bottom--
		s.events = rect{0, bottom, w, 1}
	}
	body := rect{0, top, w, bottom - top}
	switch {
	case n.gathering:
		s.panes = []placed{{paneHosts, body}}
	case n.zoom != grid:
		s.panes = []placed{{n.zoom, body}}
	case n.hosts > 0:
		s.panes = overHosts(body, n, roomy(w, h))
	case w >= sixWidth && h >= sixHeight:
		s.panes = six(body, n.brokers)
	case roomy(w, h):
		s.panes = four(body)
	default:
		s.panes = column(body)
	}
	return s
}

// six is three rows of two panes; the charts share what the tables leave.
func six(b rect, brokers int) []placed {
	left := b.w * leftShare / rightOfShare
	const around = 4 // border, head and a warning
	tables := min(max(brokers+around, tableHeight), b.h/3)
	upper := (b.h - tables + 1) / 2
	return rows(b, left, []int{upper, b.h - tables - upper, tables},
		[]pane{paneThroughput, paneLatency, paneHeatmap, panePartitions, paneBrokers, paneClient})
}

// four returns what matters most: how much, how fast, spread how, and held up by what.
func four(b rect) []placed {
	left := b.w * leftShare / rightOfShare
	lower := max(b.h*2/5, tableHeight)
	return rows(b, left, []int{b.h - lower, lower}, []pane{paneThroughput, paneLatency, panePartitions, paneClient})
}

// overHosts returns the charts, or one of them, and the table of the hosts below.
func overHosts(b rect, n needs, both bool) []placed {
	const (
		around     = 4 // border, head and a warning
		leastChart = chartHeight + 2
	)
	table := min(n.hosts+around, max(b.h-leastChart, (b.h+1)/2))
	if both { // a chart must not be squeezed by hosts that can be scrolled to
		table = min(n.hosts+around, b.h/2)
	}
	upper := b.h - table
	below := placed{paneHosts, rect{b.x, b.y + upper, b.w, table}}
	if !both {
		return []placed{{n.chart, rect{b.x, b.y, b.w, upper}}, below}
	}
	left := b.w * leftShare / rightOfShare
	return append(rows(b, left, []int{upper}, []pane{paneThroughput, paneLatency}), below)
}

// rows places two panes a row.
func rows(b rect, left int, heights []int, panes []pane) []placed {
	var out []placed
	y := b.y
	for i, h := range heights {
		out = append(out,
			placed{panes[2*i], rect{b.x, y, left, h}},
			placed{panes[2*i+1], rect{b.x + left, y, b.w - left, h}})
		y += h
	}
	return out
}

// column is panes one above the other: as many as there is room for.
func column(b rect) []placed {
	var fixed []placed
	charts := b.h
	for _, p := range []placed{{panePartitions, rect{h: stripHeight}}, {paneClient, rect{h: tableHeight}}} {
		if charts-p.rect.h < 2*chartHeight {
			break
		}
		charts -= p.rect.h
		fixed = append(fixed, p)
	}
	out := []placed{
		{paneThroughput, rect{b.x, b.y, b.w, (charts + 1) / 2}},
		{paneLatency, rect{b.x, b.y + (charts+1)/2, b.w, charts / 2}},
	}
	y := b.y + charts
	for _, p := range fixed {
		out = append(out, placed{p.pane, rect{b.x, y, b.w, p.rect.h}})
		y += p.rect.h
	}
	return out
}
