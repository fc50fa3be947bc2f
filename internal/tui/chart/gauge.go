package chart

import (
	"math"

	"github.com/kt-bench/kt/internal/theme"
)

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
