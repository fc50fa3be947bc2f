package chart

import (
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/theme"
)

// TimeAxis is the span of time that a chart shows, in seconds.
type TimeAxis struct {
	From, To    float64
	Left, Right string // labels of its ends
	Events      []Event
	Warmup      float64 // up to here the run warms up; 0: it does not
}

// Event is something that happened.
type Event struct {
	At    float64
	Style theme.Style
}

// warming reports whether some of the warm-up is to be seen.
func (t TimeAxis) warming() bool { return t.Warmup > max(t.From, 0) }

// place returns the cell of a moment on an axis of n cells.
func (t TimeAxis) place(at float64, n int) int {
	if !(t.To > t.From) {
		return -1
	}
	return int(math.Floor((at - t.From) / (t.To - t.From) * float64(n)))
}

// second returns the middle of a cell on an axis of n cells.
func (t TimeAxis) second(i, n int) float64 {
	return t.From + (t.To-t.From)*(float64(i)+0.5)/float64(n)
}

// frame is what is around a chart: labels and ticks at the left, the time axis
// below, lines behind.
type frame struct {
	y      Axis
	x      TimeAxis
	gutter int
	label  func(float64) string
	bare   bool // no lines behind
}

// draw draws the frame and returns what is left for the chart.
func (f frame) draw(c Canvas) Canvas {
	g := c.th.Glyphs
	border, muted := theme.Style{FG: theme.Border}, theme.Style{FG: theme.Muted}
	gutter := f.gutter
	if gutter+8 > c.w { // labels are worth less than the chart
		gutter = 0
	}
	rows := c.h - 1
	if rows < 1 {
		return c.Sub(0, 0, c.w, 0)
	}
	area := c.Sub(gutter+1, 0, c.w-gutter-1, rows)
	ticks := f.y.visibleTicks(rows)
	for y := range rows {
		v, ok := ticks[y]
		if !ok {
			c.Set(gutter, y, g.Axis, border)
			continue
		}
		c.Set(gutter, y, g.Tick, border)
		if gutter > 0 {
			c.TextRight(gutter, y, f.label(v), muted)
		}
		if !f.bare {
			f.gridline(area, y)
		}
	}
	f.time(c.Sub(gutter, rows, c.w-gutter, 1))
	return area
}

// nameWarmup names the warm-up in a chart of at least four rows: on the first one on which nothing else is there.
func (f frame) nameWarmup(area Canvas) {
	const name, named = "warm-up ", 4
	if !f.x.warming() || area.h < named {
		return
	}
	at := min(max(f.x.place(0, area.w), 0), area.w-Width(name))
	for y := range area.h {
		if place := area.Sub(at, y, Width(name), 1); place.bare() {
			place.Text(0, 0, name, theme.Style{FG: theme.Muted})
			return
		}
	}
}

// gridline draws a line behind the chart. Where it cannot be fainter than the
// chart it is sparser.
func (f frame) gridline(c Canvas, y int) {
	const sparse = 4
	step := 1
	if !c.th.Colored() || c.th.ASCII() {
		step = sparse
	}
	for x := 0; x < c.w; x += step {
		c.Set(x, y, c.th.Glyphs.Gridline, theme.Style{FG: theme.Grid})
	}
}

// time draws the time axis: its ends, the warm-up, and what happened. Events must
// not be hidden: a label that one falls on is left out.
func (f frame) time(c Canvas) {
	g := c.th.Glyphs
	border, muted := theme.Style{FG: theme.Border}, theme.Style{FG: theme.Muted}
	c.Row(0, 0, c.w, g.Base, border)
	c.Set(0, 0, g.Corner, border)
	area := c.Sub(1, 0, c.w-1, 1)
	if f.x.warming() {
		start, end := max(f.x.place(0, area.w), 0), min(f.x.place(f.x.Warmup, area.w), area.w)
		area.Row(start, 0, end-start, g.Gridline, muted)
	}
	left, right := Width(f.x.Left), area.w-Width(f.x.Right)
	if right-left >= 2 {
		if !f.eventful(0, left, area.w) {
			area.Text(0, 0, f.x.Left, muted)
		}
		if !f.eventful(right, area.w, area.w) {
			area.Text(right, 0, f.x.Right, muted)
		}
	}
	for _, e := range f.x.Events {
		area.Set(f.x.place(e.At, area.w), 0, g.Event, e.Style)
	}
}

// eventful reports whether something happened between two of n cells.
func (f frame) eventful(from, to, n int) bool {
	return slices.ContainsFunc(f.x.Events, func(e Event) bool {
		at := f.x.place(e.At, n)
		return at >= from && at < to
	})
}
