package chart

import "github.com/kt-bench/kt/internal/theme"

// Heat is a map of how many values fell where, over time.
type Heat struct {
	Y      Axis
	X      TimeAxis
	Gutter int
	Label  func(float64) string

	// Share tells how full a rectangle is, from 0 to 1, and NaN or less than 0
	// for empty. Column and row count from the left and from the top.
	Share func(column, row int) float64
}

// HeatSize returns how many columns and rows a heat map has on a canvas of this
// size.
func HeatSize(c Canvas, gutter int) (columns, rows int) {
	if gutter+8 > c.w {
		gutter = 0
	}
	return max(c.w-gutter-1, 0), max(c.h-1, 0) * 2
}

// Draw draws the map with its axes.
func (h Heat) Draw(c Canvas) {
	around := frame{y: h.Y, x: h.X, gutter: h.Gutter, label: h.Label, bare: true}
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
