package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

// Bars are vertical bars side by side, numbered from 0 below. Where there are
// more bars than columns, each column shows the longest of its bars.
type Bars struct {
	Values []float64
	Style  func(i int) theme.Style
	Head   func(i int) rune // a character above each bar, on a row of their own; nil: none
	Bare   bool             // no numbers below
}

// Draw draws the bars and, on the last row, their numbers.
func (b Bars) Draw(c Canvas) {
	n := len(b.Values)
	if n == 0 || c.w == 0 {
		return
	}
	area, width, at := c, 1, func(i int) int { return i * c.w / n }
	column := func(i int) int { return ((i+1)*c.w - 1) / n } // of several bars
	// Bars are as wide as they can be, up to a quarter of the whole, and a column between them if there is one to spare.
	if n <= c.w {
		w, gap := 1, 0
		if 2*n-1 <= c.w {
			w, gap = min((c.w+1)/n-1, (c.w+3)/4), 1
		}
		width, at = w, func(i int) int { return i * (w + gap) }
		column = at
	}
	if !b.Bare && c.h >= 2 {
		numbers(c, n, at)
		area = c.Sub(0, 0, c.w, c.h-1)
	}
	var heads Canvas
	if b.Head != nil {
		heads, area = area.Sub(0, 0, c.w, 1), area.Sub(0, 1, c.w, area.h-1)
	}
	order, top := make([]int, n), 0.0 // the longest is drawn last
	for i, v := range b.Values {
		if order[i] = n - 1 - i; v > top && !math.IsInf(v, 0) {
			top = v
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.Values[i], b.Values[j]) })
	for _, i := range order {
		eighths := 0
		if share := b.Values[i] / top; share > 0 { // a value that is not nothing shows at least a trace
			eighths = max(int(math.Round(min(share, 1)*float64(area.h*8))), 1)
		}
		for x := range width {
			for y, left := area.h-1, eighths; y >= 0 && left > 0; y, left = y-1, left-8 {
				area.Set(column(i)+x, y, c.th.Glyphs.Eighths[min(left, 8)], b.Style(i))
			}
		}
		if b.Head != nil {
			heads.Set(column(i)+(width-1)/2, 0, b.Head(i), b.Style(i))
		}
	}
}

// numbers writes as many numbers below the bars as fit, at round steps.
func numbers(c Canvas, n int, at func(i int) int) {
	room := len(strconv.Itoa(n)) + 2
	step := 1
	for _, s := range []int{1, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000} {
		if step = s; at(min(step, n)) >= room || step >= n {
			break
		}
	}
	for i := 0; i < n; i += step {
		if number := strconv.Itoa(i); at(i)+Width(number) <= c.w { // half a number is another number
			c.Text(at(i), c.h-1, number, theme.Style{FG: theme.Muted})
		}
	}
}

// Heat is a map of how many values fell where, over time.
type Heat struct {
	Y     Axis
	X     TimeAxis
	Label func(float64) string

	// Share tells how full a rectangle is, from 0 to 1, and NaN or less than 0
	// for empty. Column and row count from the left and from the top.
	Share func(column, row int) float64
}

// HeatSize returns how many columns and rows a heat map has on a canvas of this
// size.
func HeatSize(c Canvas) (columns, rows int) {
	return max(c.w-gutterOf(c)-1, 0), max(c.h-1, 0) * 2
}

// Draw draws the map with its axes.
func (h Heat) Draw(c Canvas) {
	around := frame{y: h.Y, x: h.X, label: h.Label, bare: true}
	area := around.draw(c)
	defer around.nameWarmup(area)
	for y := range area.h {
		for x := range area.w {
			r, s := heatCell(c.th, h.Share(x, 2*y), h.Share(x, 2*y+1))
			if r != ' ' {
				area.Set(x, y, r, s)
			}
		}
	}
}

// heatCell returns the character and the style that show two values, one above the
// other.
func heatCell(th *theme.Theme, upper, lower float64) (rune, theme.Style) {
	hasUpper, hasLower := upper >= 0, lower >= 0 // false for NaN
	if !th.Shaded() || th.ASCII() {
		if !hasUpper && !hasLower {
			return ' ', theme.Style{}
		}
		v := lower
		if !hasLower || hasUpper && upper > lower {
			v = upper
		}
		steps := len(th.Glyphs.Shades) - 1
		return th.Glyphs.Shades[1+min(int(min(v, 1)*float64(steps)), steps-1)], theme.Style{FG: theme.P99}
	}
	switch {
	case !hasUpper && !hasLower:
		return ' ', theme.Style{}
	case !hasLower:
		return '▀', theme.Style{FG: theme.Heat(upper)}
	case !hasUpper:
		return '▄', theme.Style{FG: theme.Heat(lower)}
	case theme.Heat(upper) == theme.Heat(lower):
		return '█', theme.Style{FG: theme.Heat(upper)}
	}
	return '▀', theme.Style{FG: theme.Heat(upper), BG: theme.Heat(lower)}
}

// Ramp draws the scale of a heat map and returns where it ended.
func Ramp(c Canvas, x, y, w int) int {
	for i := range w {
		v := float64(i) / float64(max(w-1, 1))
		r, s := heatCell(c.th, v, v)
		c.Set(x+i, y, r, s)
	}
	return x + w
}

// Gauge draws a share of a width on one row. A share that is not nothing shows
// at least a trace.
func Gauge(c Canvas, x, y, w int, share float64, s theme.Style) {
	if w <= 0 {
		return
	}
	g := c.th.Glyphs
	c.Row(x, y, w, g.GaugeEmpty, theme.Style{FG: theme.Border})
	if !(share > 0) {
		return
	}
	halves := max(int(math.Round(min(share, 1)*float64(2*w))), 1)
	c.Row(x, y, halves/2, g.GaugeFull, s)
	if halves%2 == 1 {
		c.Set(x+halves/2, y, g.GaugeHalf, s)
	}
}

// Sparkline draws values on one row. A full cell is top; 0: the highest of them.
func Sparkline(c Canvas, x, y int, values []float64, top float64, s theme.Style) {
	highest := top
	for _, v := range values {
		if top == 0 && v > highest && !math.IsInf(v, 0) {
			highest = v
		}
	}
	for i, v := range values {
		if v >= 0 && highest > 0 {
			level := int(math.Round(min(v/highest, 1) * 8))
			c.Set(x+i, y, c.th.Glyphs.Eighths[max(level, 1)], s)
		}
	}
}
