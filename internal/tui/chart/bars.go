package chart

import (
	"math"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

// Bars are vertical bars side by side, numbered from 0 below. Where there are
// more bars than columns, each column shows the longest of its bars.
type Bars struct {
	Values []float64
	Style  func(i int) theme.Style
}

// Draw draws the bars and, on the last row, their numbers.
func (b Bars) Draw(c Canvas) {
	if len(b.Values) == 0 || c.w == 0 {
		return
	}
	area := c.Sub(0, 0, c.w, c.h-1)
	if c.h < 2 {
		area = c
	}
	top := 0.0
	for _, v := range b.Values {
		if v > top && !math.IsInf(v, 0) {
			top = v
		}
	}
	if len(b.Values) > c.w {
		b.crowded(c, area, top)
		return
	}
	width, gap := barWidth(len(b.Values), c.w)
	for i, v := range b.Values {
		for x := range width {
			bar(area, i*(width+gap)+x, v/top, b.Style(i))
		}
	}
	if c.h >= 2 {
		numbers(c, len(b.Values), func(i int) int { return i * (width + gap) })
	}
}

// barWidth shares the columns out: bars as wide as they can be, a column
// between them if there is one to spare.
func barWidth(n, columns int) (width, gap int) {
	const widest = 8
	if 2*n-1 > columns {
		return 1, 0
	}
	return min((columns+1)/n-1, widest), 1
}

// crowded draws one column for several bars.
func (b Bars) crowded(c, area Canvas, top float64) {
	n := len(b.Values)
	for x := range area.w {
		most := x * n / area.w
		for i := most; i < (x+1)*n/area.w; i++ {
			if b.Values[i] > b.Values[most] {
				most = i
			}
		}
		bar(area, x, b.Values[most]/top, b.Style(most))
	}
	if c.h >= 2 {
		numbers(c, n, func(i int) int { return i * area.w / n })
	}
}

// bar draws one column. A value that is not nothing shows at least a trace.
func bar(c Canvas, x int, share float64, s theme.Style) {
	if !(share > 0) {
		return
	}
	eighths := max(int(math.Round(min(share, 1)*float64(c.h*8))), 1)
	for y := c.h - 1; y >= 0 && eighths > 0; y-- {
		c.Set(x, y, c.th.Glyphs.Eighths[min(eighths, 8)], s)
		eighths -= 8
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
