package chart

import (
	"math"

	"github.com/kt-bench/kt/internal/theme"
)

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

func newDots(c Canvas) *dots {
	n := c.w * c.h
	return &dots{c: c, ascii: c.th.ASCII(), bits: make([]uint8, n), shown: make([]dot, n), ink: make([]theme.Style, n)}
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

// flush puts the raster on its canvas, over what is there.
func (d *dots) flush() {
	for i, bits := range d.bits {
		if bits != 0 {
			d.c.Set(i%d.c.w, i/d.c.w, 0x2800+rune(bits), d.ink[i])
		}
	}
}
