package chart

import "github.com/kt-bench/kt/internal/theme"

// A braille character is two dots wide and four high.
const (
	dotsX = 2
	dotsY = 4
)

// brailleBits are the bits of a dot in U+2800 and above, by row and column.
var brailleBits = [dotsY][dotsX]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// dots is a raster over the cells of a canvas, with one style a cell.
type dots struct {
	c    Canvas
	bits []uint8
	fill []bool // only an area has been drawn in this cell
	ink  []theme.Style
}

func newDots(c Canvas) *dots {
	n := c.w * c.h
	return &dots{c: c, bits: make([]uint8, n), fill: make([]bool, n), ink: make([]theme.Style, n)}
}

// set draws a dot of a line. It clears an area from the cell, whose dots would
// otherwise take the line's colour and blur it.
func (d *dots) set(x, y int, s theme.Style) {
	i, bit, ok := d.index(x, y)
	if !ok {
		return
	}
	if d.fill[i] {
		d.bits[i], d.fill[i] = 0, false
	}
	d.bits[i] |= bit
	d.ink[i] = s
}

// shade draws a dot of an area, where no line is.
func (d *dots) shade(x, y int, s theme.Style) {
	i, bit, ok := d.index(x, y)
	if !ok || d.bits[i] != 0 && !d.fill[i] {
		return
	}
	d.bits[i] |= bit
	d.fill[i] = true
	d.ink[i] = s
}

func (d *dots) index(x, y int) (i int, bit uint8, ok bool) {
	if x < 0 || y < 0 || x >= d.c.w*dotsX || y >= d.c.h*dotsY {
		return 0, 0, false
	}
	return y/dotsY*d.c.w + x/dotsX, brailleBits[y%dotsY][x%dotsX], true
}

// flush puts the raster on its canvas, over what is there.
func (d *dots) flush() {
	for i, bits := range d.bits {
		if bits != 0 {
			d.c.Set(i%d.c.w, i/d.c.w, 0x2800+rune(bits), d.ink[i])
		}
	}
}
