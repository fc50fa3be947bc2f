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

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// maxColumns bounds the columns of a heat map in a page.
const maxColumns = 600

// Heat is a map of latencies over time.
type Heat struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	About string `json:"-"`

	// The script draws the columns that the run has in the page.
	PerDecade int     `json:"perDecade"`
	Min       float64 `json:"min"` // seconds
	Max       float64 `json:"max"`
	Top       float64 `json:"top"` // most latencies a second in one cell

	Columns  []result.HeatColumn `json:"-"`
	Timeline *Timeline           `json:"-"`
}

// newHeat returns the map of some columns; nil: they are empty.
func newHeat(id, title string, columns []result.HeatColumn, t *Timeline) *Heat {
	h := &Heat{ID: id, Title: title, PerDecade: result.HeatPerDecade, Columns: columns, Timeline: t}
	first, last := result.HeatBins, -1
	for i := range columns {
		c := &columns[i]
		for bin, n := range c.Bins {
			if n > 0 {
				first, last = min(first, bin), max(last, bin)
				h.Top = max(h.Top, perSecond(c, n))
			}
		}
	}
	if last < 0 {
		return nil
	}
	y := chart.Decades(result.HeatStart(float64(first)), result.HeatStart(float64(last+1)))
	h.Min, h.Max = y.Min, y.Max
	return h
}

func perSecond(c *result.HeatColumn, n uint32) float64 {
	return float64(n) / max((c.End-c.Start).Seconds(), result.ShortRow)
}

// tail is the part of the ramp that the logarithm of a count decides: the few slow records are what the map is for.
const tail = 0.75

// share returns the place of a cell on the ramp, 0 to 1.
func (h *Heat) share(v float64) float64 {
	return tail*math.Log1p(v)/math.Log1p(h.Top) + (1-tail)*v/h.Top
}

// image returns the map as a picture with one pixel for each bin.
func (h *Heat) image() image.Image {
	palette := color.Palette{color.Transparent}
	for i := range theme.HeatSteps {
		var c color.NRGBA
		_, _ = fmt.Sscanf(theme.Hex(theme.Heat((float64(i)+0.5)/(theme.HeatSteps-1)), false), "#%02x%02x%02x", &c.R, &c.G, &c.B) // it is a constant
		c.A = 0xff
		palette = append(palette, c)
	}
	lowest := int(math.Round(math.Log10(h.Min/1e-6) * result.HeatPerDecade))
	rows := int(math.Round(math.Log10(h.Max/h.Min) * result.HeatPerDecade))
	from, to := h.Timeline.From, h.Timeline.To
	img := image.NewPaletted(image.Rect(0, 0, maxColumns, rows), palette)
	for i := range h.Columns {
		c := &h.Columns[i]
		place := func(s float64) int { return int(math.Round((s - from) / max(to-from, 1e-9) * maxColumns)) }
		x0, x1 := place(c.Start.Seconds()), place(c.End.Seconds())
		for bin, n := range c.Bins {
			y := rows - 1 - (bin - lowest)
			if n == 0 || y < 0 || y >= rows {
				continue
			}
			step := uint8(1 + h.share(perSecond(c, n))*(theme.HeatSteps-1))
			for x := max(x0, 0); x < min(max(x1, x0+1), maxColumns); x++ {
				img.SetColorIndex(x, y, step)
			}
		}
	}
	return img
}

// Summary says what the map shows, for those who do not see it.
func (h *Heat) Summary() string {
	return fmt.Sprintf("%s: how many records took how long, over time, between %s and %s.", h.Title, Latency.tick(h.Min), Latency.tick(h.Max))
}

// SVG returns the static picture.
func (h *Heat) SVG() (template.HTML, error) {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, h.image()); err != nil {
		return "", err
	}
	p := newPicture(h.Summary())
	p.y = chart.Decades(h.Min, h.Max)
	p.xFrom, p.xTo, p.plain = h.Timeline.From, h.Timeline.To, true
	fmt.Fprintf(p, `<rect class="plate" x="%g" y="%g" width="%g" height="%g"/>`, svgLeft, svgTop, svgWidth-svgLeft-svgRight, svgHeight-svgTop-svgBottom)
	fmt.Fprintf(p, `<image class="cells" x="%g" y="%g" width="%g" height="%g" preserveAspectRatio="none" href="data:image/png;base64,%s"/>`,
		svgLeft, svgTop, svgWidth-svgLeft-svgRight, svgHeight-svgTop-svgBottom, base64.StdEncoding.EncodeToString(b.Bytes()))
	p.bands(h.Timeline)
	p.grid(Latency.tick)
	p.xTicks(Time)
	p.marks(h.Timeline)
	return p.end(), nil
}

// Key returns the key to the colours.
func (h *Heat) Key() template.HTML {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<span class="muted">few <svg class="ramp" viewBox="0 0 %d 1" preserveAspectRatio="none" aria-hidden="true">`, theme.HeatSteps)
	for i := range theme.HeatSteps {
		fmt.Fprintf(&b, `<rect x="%d" width="1" height="1" fill="var(--heat%d)"/>`, i, i)
	}
	b.WriteString(`</svg> many</span>`)
	return template.HTML(b.String()) //nolint:gosec // there is nothing but numbers in it
}
