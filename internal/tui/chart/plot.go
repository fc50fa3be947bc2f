package chart

import (
	"math"

	"github.com/kt-bench/kt/internal/theme"
)

// Plot is a chart of lines over time.
type Plot struct {
	Y      Axis
	Series []Series // later ones are drawn over earlier ones
	Marks  []Mark   // horizontal lines
	X      TimeAxis
	Gutter int                  // cells for the labels of Y, before the axis itself
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
	Fill    theme.Style               // of the area below; the zero Style, or no colours: no area
	Muted   func(second float64) bool // draw this part in the colour of a label; nil: none
	Mark    rune                      // the line's character in ASCII
	On, Off int                       // the line's dashes where there is no colour; 0 off: unbroken
	Broken  bool                      // dashes with colours too, so that what runs behind is seen
}

// Mark is a value over time that is drawn as a dashed line.
type Mark struct {
	Value func(second float64) float64
	Style theme.Style
}

// NameWidth is what the names at the right edge take.
const NameWidth = 6

// Draw draws the chart with its axes.
func (p Plot) Draw(c Canvas) {
	if p.Names {
		right := c.Sub(c.w-NameWidth, 0, NameWidth, c.h-1)
		c = c.Sub(0, 0, c.w-NameWidth, c.h)
		p.names(right)
	}
	around := frame{y: p.Y, x: p.X, gutter: p.Gutter, label: p.Label}
	field := around.draw(c)
	if field.w == 0 || field.h == 0 {
		return
	}
	defer around.nameWarmup(field)
	raster := newDots(field)
	for _, m := range p.Marks {
		p.mark(raster, m)
	}
	for _, s := range p.Series {
		p.dots(raster, s)
	}
	raster.flush()
}

// mark draws a dashed line.
func (p Plot) mark(d *dots, m Mark) {
	const dash = 2
	w, _ := d.size()
	for x := range w {
		if pos := p.Y.Pos(m.Value(p.X.second(x, w))); (d.ascii || x/dash%2 == 0) && !math.IsNaN(pos) {
			d.set(x, d.row(pos), dotMark, '-', m.Style)
		}
	}
}

// names writes the name of each series that has a value: ranked ones from the top, others at the height of the last value, moved
// where two would meet.
func (p Plot) names(c Canvas) {
	taken := -1
	for i := len(p.Series) - 1; i >= 0; i-- {
		s := p.Series[i]
		v := s.last()
		if math.IsNaN(v) {
			continue
		}
		y := max(min(tickRow(p.Y.Pos(v), c.h), c.h-1-i), taken+1) // i more names have to go below this one
		if p.Ranked {
			y = min(len(p.Series), c.h) - 1 - i
		}
		c.Text(1, y, s.Name, s.Style)
		taken = y
	}
}

func (s Series) last() float64 {
	for i := len(s.Samples) - 1; i >= 0; i-- {
		if v := s.Samples[i].Value; !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
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
		if s.Muted != nil && s.Muted(p.X.second(x, len(values))) {
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
