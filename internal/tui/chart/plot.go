package chart

import (
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/theme"
)

// Plot is a chart of lines over time.
type Plot struct {
	Y      Axis
	Series []Series // later ones are drawn over earlier ones
	Marks  []Mark   // horizontal lines
	X      TimeAxis
	Label  func(float64) string // writes a label of Y
	Names  bool                 // write the names of the series at the right edge, each where its line ends
	Ranked bool                 // the series lie in their order, the lowest first: each name has a row of its own, whatever its values are
}

// Series is one line. It is resampled to the width of the chart.
type Series struct {
	Name    string
	Samples []Sample
	Combine Combine
	Style   theme.Style
	Fill    theme.Style // of the area below; the zero Style, or no colours: no area
	Mark    rune        // the line's character in ASCII
	On, Off int         // the line's dashes where there is no colour; 0 off: unbroken
	Broken  bool        // dashes with colours too, so that what runs behind is seen
}

// Mark is a value over time that is drawn as a dashed line.
type Mark struct {
	Value func(second float64) float64
	Style theme.Style
}

// Gutter is what the labels of Y take, before the axis itself, so that charts above each other are in line.
const Gutter = 6

// NameWidth is what the names at the right edge take.
const NameWidth = 6

// Draw draws the chart with its axes.
func (p Plot) Draw(c Canvas) {
	if p.Names {
		right := c.Sub(c.w-NameWidth, 0, NameWidth, c.h-1)
		c = c.Sub(0, 0, c.w-NameWidth, c.h)
		p.names(right)
	}
	around := frame{y: p.Y, x: p.X, label: p.Label}
	field := around.draw(c)
	if field.w == 0 || field.h == 0 {
		return
	}
	defer around.nameWarmup(field)
	n := field.w * field.h
	raster := &dots{c: field, ascii: field.th.ASCII(), bits: make([]uint8, n), shown: make([]dot, n), ink: make([]theme.Style, n)}
	const dash = 2
	w, _ := raster.size()
	for _, m := range p.Marks {
		for x := range w {
			if pos := p.Y.Pos(m.Value(p.X.second(x, w))); (raster.ascii || x/dash%2 == 0) && !math.IsNaN(pos) {
				raster.set(x, raster.row(pos), dotMark, '-', m.Style)
			}
		}
	}
	for _, s := range p.Series {
		p.dots(raster, s)
	}
	for i, bits := range raster.bits {
		if bits != 0 {
			field.Set(i%field.w, i/field.w, 0x2800+rune(bits), raster.ink[i])
		}
	}
}

// names writes the name of each series that has a value: ranked ones from the top, others at the height of the last value, moved
// where two would meet.
func (p Plot) names(c Canvas) {
	taken := -1
	for i := len(p.Series) - 1; i >= 0; i-- {
		s := p.Series[i]
		at := len(s.Samples) - 1
		for at >= 0 && math.IsNaN(s.Samples[at].Value) {
			at--
		}
		if at < 0 {
			continue
		}
		y := max(min(tickRow(p.Y.Pos(s.Samples[at].Value), c.h), c.h-1-i), taken+1) // i more names have to go below this one
		if p.Ranked {
			y = min(len(p.Series), c.h) - 1 - i
		}
		c.Text(1, y, s.Name, s.Style)
		taken = y
	}
}

// dots draws a series with two points a cell, each joined to the one before.
func (p Plot) dots(d *dots, s Series) {
	w, h := d.size()
	values := Resample(s.Samples, p.X.From, p.X.To, w, s.Combine)
	dashed := s.Off > 0 && (s.Broken || !d.ascii && !d.c.th.Colored()) // in ASCII each line has a character of its own
	before := -1
	for x, v := range values {
		pos := p.Y.Pos(v)
		if math.IsNaN(pos) {
			before = -1
			continue
		}
		y := d.row(pos)
		ink, fill := s.Style, s.Fill
		if p.X.warming() && p.X.second(x, len(values)) < p.X.Warmup { // in the colour of a label
			ink.FG, fill.FG = theme.Muted, theme.Grid
		}
		if s.Fill != (theme.Style{}) && d.c.th.Colored() {
			for below := y + 1; below < h; below++ {
				if d.ascii || x%dotsX == 0 && below%2 == 0 {
					d.set(x, below, dotArea, ':', fill)
				}
			}
		}
		if before >= 0 {
			for between := min(before, y) + 1; between < max(before, y); between++ {
				d.set(x, between, dotCurve, '|', ink)
			}
		}
		if !dashed || x%(s.On+s.Off) < s.On || before != y {
			d.set(x, y, dotCurve, s.Mark, ink)
		}
		before = y
	}
}

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
	y     Axis
	x     TimeAxis
	label func(float64) string
	bare  bool // no lines behind
}

// gutterOf returns the room of the labels, which are worth less than the chart.
func gutterOf(c Canvas) int {
	if Gutter+8 > c.w {
		return 0
	}
	return Gutter
}

// draw draws the frame and returns what is left for the chart.
func (f frame) draw(c Canvas) Canvas {
	g := c.th.Glyphs
	border, muted := theme.Style{FG: theme.Border}, theme.Style{FG: theme.Muted}
	gutter, rows := gutterOf(c), c.h-1
	if rows < 1 {
		return c.Sub(0, 0, c.w, 0)
	}
	area := c.Sub(gutter+1, 0, c.w-gutter-1, rows)
	ticks := f.y.visibleTicks(rows)
	step := 1
	if !c.th.Colored() || c.th.ASCII() { // a line behind the chart that cannot be fainter than the chart is sparser
		step = 4
	}
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
		for x := 0; !f.bare && x < area.w; x += step {
			area.Set(x, y, g.Gridline, theme.Style{FG: theme.Grid})
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
