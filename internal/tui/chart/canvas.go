package chart

import (
	"math"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/theme"
)

type cell struct {
	r     rune
	style theme.Style
}

// Canvas is a rectangle of cells, or a part of one: parts share the cells of the
// whole. What is drawn outside is lost.
type Canvas struct {
	cells      []cell // of the whole
	stride     int    // width of the whole
	x, y, w, h int    // the part
	th         *theme.Theme
}

// New returns a blank canvas. A negative size is none.
func New(w, h int, th *theme.Theme) Canvas {
	w, h = max(w, 0), max(h, 0)
	c := Canvas{cells: make([]cell, w*h), stride: w, w: w, h: h, th: th}
	c.Clear()
	return c
}

// Clear blanks the canvas.
func (c Canvas) Clear() {
	for y := range c.h {
		row := c.cells[(c.y+y)*c.stride+c.x:][:c.w]
		for x := range row {
			row[x] = cell{r: ' '}
		}
	}
}

// Sub returns a part of the canvas, as far as it lies inside.
func (c Canvas) Sub(x, y, w, h int) Canvas {
	x0, y0 := min(max(x, 0), c.w), min(max(y, 0), c.h)
	x1, y1 := min(max(x+w, x0), c.w), min(max(y+h, y0), c.h)
	c.x, c.y, c.w, c.h = c.x+x0, c.y+y0, x1-x0, y1-y0
	return c
}

// Size returns the width and the height in cells.
func (c Canvas) Size() (w, h int) { return c.w, c.h }

// Theme returns the look of what is drawn.
func (c Canvas) Theme() *theme.Theme { return c.th }

// Set draws one character, which must be one cell wide.
func (c Canvas) Set(x, y int, r rune, s theme.Style) {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return
	}
	c.cells[(c.y+y)*c.stride+c.x+x] = cell{r, s}
}

// Text writes from x to the right and returns where it ended. It is the one way for text onto the
// screen: a character that a terminal would obey, or that would not take exactly one cell, is shown
// as a question mark.
func (c Canvas) Text(x, y int, text string, s theme.Style) int {
	for _, r := range secret.Scrub(text) {
		c.Set(x, y, c.narrow(r), s)
		x++
	}
	return x
}

// TextRight writes so that the text ends before x, and returns where it began.
func (c Canvas) TextRight(x, y int, text string, s theme.Style) int {
	start := x - Width(text)
	c.Text(start, y, text, s)
	return start
}

// Row draws one character n times.
func (c Canvas) Row(x, y, n int, r rune, s theme.Style) {
	for i := range n {
		c.Set(x+i, y, r, s)
	}
}

// bare reports whether nothing was drawn but gridlines.
func (c Canvas) bare() bool {
	for y := range c.h {
		for _, one := range c.cells[(c.y+y)*c.stride+c.x:][:c.w] {
			if one.r != ' ' && one.r != c.th.Glyphs.Gridline || one.style.BG != theme.Default {
				return false
			}
		}
	}
	return true
}

// narrow is r, or what stands for it where it cannot be written.
func (c Canvas) narrow(r rune) rune {
	switch {
	case r >= ' ' && r <= '~':
		return r
	case c.th.ASCII():
		return theme.Fold(r)
	case r == 'µ' || r >= 0x2500 && r < 0x25fd || r >= 0x2800 && r < 0x2900:
		return r // frames, blocks and braille: known to be narrow, and most of what is drawn
	}
	if theme.CleanRune(r) != r || r == utf8.RuneError || ansi.StringWidth(string(r)) != 1 {
		return '?'
	}
	return r
}

// Width returns how many cells Text takes.
func Width(text string) int { return utf8.RuneCountInString(text) }

// Fit cuts a text to a width, with an ellipsis where something was lost.
func (c Canvas) Fit(text string, w int) string {
	text = secret.Scrub(text) // before it is cut
	if Width(text) <= w {
		return text
	}
	if w <= 0 {
		return ""
	}
	n := 0
	for i := range text {
		if n == w-1 {
			return text[:i] + string(c.th.Glyphs.Ellipsis)
		}
		n++
	}
	return text
}

// FitMiddle cuts a name to a width in its middle: names that begin alike differ at their
// end, which keeps two thirds.
func FitMiddle(name string, w int) string {
	r := []rune(secret.Scrub(name))
	if len(r) <= w || w <= 0 {
		return string(r[:min(len(r), max(w, 0))])
	}
	end := (w - 1) * 2 / 3
	return string(r[:w-1-end]) + "…" + string(r[len(r)-end:])
}

// String returns the canvas as lines, without a newline at the end; each is exactly
// as wide as the canvas.
func (c Canvas) String() string {
	const perCell = 6 // bytes, with the usual number of colour changes
	out := make([]byte, 0, c.w*c.h*perCell+c.h)
	for y := range c.h {
		if y > 0 {
			out = append(out, '\n')
		}
		var style theme.Style
		for _, k := range c.cells[(c.y+y)*c.stride+c.x:][:c.w] {
			// The ink of a blank cannot be seen: do not change colour for it.
			if k.style != style && (k.r != ' ' || k.style.BG != style.BG) {
				style = k.style
				out = c.th.Append(out, style)
			}
			out = utf8.AppendRune(out, k.r)
		}
		if style != (theme.Style{}) {
			out = c.th.Append(out, theme.Style{})
		}
	}
	return string(out)
}

// A braille character is two dots wide and four high.
const (
	dotsX = 2
	dotsY = 4
)

// brailleBits are the bits of a dot in U+2800 and above, by row and column.
var brailleBits = [dotsY][dotsX]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// dot is what a cell of the raster shows. A cell has one colour only, so that it
// shows one dot: the highest that was drawn there, in whatever order.
type dot uint8

const (
	dotNone dot = iota
	dotArea
	dotMark
	dotCurve
)

// dots is a raster over the cells of a canvas: braille, or in ASCII a character a cell.
type dots struct {
	c     Canvas
	ascii bool
	bits  []uint8
	shown []dot
	ink   []theme.Style
}

// size returns the width and the height in dots.
func (d *dots) size() (w, h int) {
	if d.ascii {
		return d.c.w, d.c.h
	}
	return d.c.w * dotsX, d.c.h * dotsY
}

// row returns the row of a position. The middle of the first row of text is
// position 1 and that of the last one 0, as for the ticks.
func (d *dots) row(pos float64) int {
	if d.ascii {
		return tickRow(pos, d.c.h)
	}
	return int(math.Round((1-pos)*float64((d.c.h-1)*dotsY) + 1.5))
}

// set draws a dot; in ASCII it is a character.
func (d *dots) set(x, y int, k dot, character rune, s theme.Style) {
	if d.ascii {
		d.c.Set(x, y, character, s)
		return
	}
	if w, h := d.size(); x < 0 || y < 0 || x >= w || y >= h {
		return
	}
	i := y/dotsY*d.c.w + x/dotsX
	switch {
	case k < d.shown[i]:
		return
	case k > d.shown[i]:
		d.bits[i], d.shown[i] = 0, k
	}
	d.bits[i] |= brailleBits[y%dotsY][x%dotsX]
	d.ink[i] = s
}
