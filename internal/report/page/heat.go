package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// maxColumns bounds the columns of a heat map in a page.
const maxColumns = 600

// newHeat returns a map of latencies over time of some columns; nil: they are empty.
func newHeat(columns []result.HeatColumn, t *doc.Timeline) *doc.Heat {
	h := &doc.Heat{PerDecade: result.HeatPerDecade}
	first, last := result.HeatBins, -1
	for i := range columns {
		for bin, n := range columns[i].Bins {
			if n > 0 {
				first, last = min(first, bin), max(last, bin)
				h.Top = max(h.Top, perSecond(&columns[i], n))
			}
		}
	}
	if last < 0 {
		return nil
	}
	y := chart.Decades(result.HeatStart(float64(first)), result.HeatStart(float64(last+1)))
	h.Min, h.Max = y.Min, y.Max
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, imageOf(h, columns, t)); err != nil {
		panic(err) // it is written into memory
	}
	h.Image = "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return h
}

func perSecond(c *result.HeatColumn, n uint32) float64 {
	return float64(n) / max((c.End-c.Start).Seconds(), result.ShortRow)
}

// heatSteps are the colours of the map.
func heatSteps(dark bool) (steps []string) {
	for i := range theme.HeatSteps {
		steps = append(steps, theme.Hex(theme.Heat((float64(i)+0.5)/(theme.HeatSteps-1)), dark))
	}
	return steps
}

// tail is the part of the ramp that the logarithm of a count decides: the few slow records are what the map is for.
const tail = 0.75

// imageOf returns the map as a picture with one pixel for each bin.
func imageOf(h *doc.Heat, columns []result.HeatColumn, t *doc.Timeline) image.Image {
	palette := color.Palette{color.Transparent}
	for _, step := range heatSteps(false) {
		c := color.NRGBA{A: 0xff}
		_, _ = fmt.Sscanf(step, "#%02x%02x%02x", &c.R, &c.G, &c.B) // it is a constant
		palette = append(palette, c)
	}
	lowest := int(math.Round(math.Log10(h.Min/1e-6) * result.HeatPerDecade))
	rows := int(math.Round(math.Log10(h.Max/h.Min) * result.HeatPerDecade))
	img := image.NewPaletted(image.Rect(0, 0, maxColumns, rows), palette)
	place := func(s float64) int { return int(math.Round((s - t.From) / max(t.To-t.From, 1e-9) * maxColumns)) }
	for i := range columns {
		c := &columns[i]
		from, to := place(c.Start.Seconds()), place(c.End.Seconds())
		for bin, n := range c.Bins {
			if n == 0 {
				continue
			}
			v := perSecond(c, n)
			step := uint8(1 + (tail*math.Log1p(v)/math.Log1p(h.Top)+(1-tail)*v/h.Top)*(theme.HeatSteps-1))
			for x := max(from, 0); x < min(max(to, from+1), maxColumns); x++ {
				img.SetColorIndex(x, rows-1-(bin-lowest), step) // what is outside is left out
			}
		}
	}
	return img
}

// ramp returns the key to the colours of a map.
func ramp() template.HTML {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<span class="muted">few <svg class="ramp" viewBox="0 0 %d 1" preserveAspectRatio="none" aria-hidden="true">`, theme.HeatSteps)
	for i := range theme.HeatSteps {
		fmt.Fprintf(&b, `<rect x="%d" width="1" height="1" fill="var(--heat%d)"/>`, i, i)
	}
	b.WriteString(`</svg> many</span>`)
	return template.HTML(b.String()) //nolint:gosec // there is nothing but numbers in it
}
