package page

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// The layout of a static picture, in units of its own.
const (
	svgWidth, svgHeight = 560.0, 236.0
	svgLeft, svgRight   = 46.0, 8.0
	svgTop, svgBottom   = 30.0, 20.0
)

// SVG returns the static picture.
func (c *Chart) SVG() template.HTML {
	p := newPicture(c.Summary())
	p.y = c.y()
	p.xFrom, p.xTo, p.xLog = c.span()
	p.bands(c.Timeline)
	p.grid(c.Unit.tick)
	p.xTicks(c.XUnit)
	for i := range c.Series {
		p.line(c, &c.Series[i])
	}
	p.legend(c.Series)
	p.labels(c)
	p.marks(c.Timeline)
	return p.end()
}

// span returns the range of the x axis.
func (c *Chart) span() (from, to float64, log bool) {
	if t := c.Timeline; t != nil {
		return t.From, t.To, false
	}
	if len(c.X) == 0 {
		return 1, 10, c.XUnit == Percentile
	}
	return c.X[0], c.X[len(c.X)-1], c.XUnit == Percentile
}

// picture is an SVG while it is written.
type picture struct {
	bytes.Buffer
	y           chart.Axis
	xFrom, xTo  float64
	xLog, plain bool // plain: without a grid across the area
}

func newPicture(label string) *picture {
	p := new(picture)
	fmt.Fprintf(p, `<svg class="static" viewBox="0 0 %g %g" role="img" aria-label="%s">`, svgWidth, svgHeight, escaped(label))
	return p
}

// escaped returns a text for a picture, without what is not to be printed.
func escaped(text string) string { return template.HTMLEscapeString(theme.Clean(text)) }

func (p *picture) end() template.HTML {
	p.WriteString("</svg>")
	return template.HTML(p.String()) //nolint:gosec // every text in it was escaped
}

// px returns the place of an x value.
func (p *picture) px(v float64) float64 {
	share := (v - p.xFrom) / max(p.xTo-p.xFrom, 1e-9)
	if p.xLog {
		share = math.Log(v/p.xFrom) / math.Log(max(p.xTo/p.xFrom, 1+1e-9))
	}
	return p.xAt(min(max(share, 0), 1))
}

// py returns the place of a value.
func (p *picture) py(v float64) float64 {
	return svgHeight - svgBottom - p.y.Pos(v)*(svgHeight-svgTop-svgBottom)
}

// grid draws the lines and labels of the values.
func (p *picture) grid(tick func(float64) string) {
	for _, v := range p.y.Ticks {
		y := p.py(v)
		if !p.plain {
			fmt.Fprintf(p, `<path class="grid" d="M%g %.1fH%g"/>`, svgLeft, y, svgWidth-svgRight)
		}
		fmt.Fprintf(p, `<text class="tick end" x="%g" y="%.1f">%s</text>`, svgLeft-6, y+3.5, tick(v))
	}
}

// xTicks draws the labels below.
func (p *picture) xTicks(unit Unit) {
	for _, v := range ticksOf(p.xFrom, p.xTo, p.xLog) {
		x := p.px(v)
		class := "mid"
		if x > svgWidth-svgRight-16 {
			class = "end"
		}
		fmt.Fprintf(p, `<text class="tick %s" x="%.1f" y="%g">%s</text>`, class, x, svgHeight-5, unit.tick(v))
	}
}

// timeSteps are the distances of ticks on a time axis, in seconds.
var timeSteps = []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400}

// ticksOf returns the ticks of an x axis: decades, or round times.
func ticksOf(from, to float64, log bool) (ticks []float64) {
	if log {
		for v := from; v <= to*(1+1e-9); v *= 10 {
			ticks = append(ticks, v)
		}
		return ticks
	}
	const most = 7
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if (to-from)/s <= most {
			step = s
			break
		}
	}
	for step < (to-from)/most { // longer than any step is for
		step *= 2
	}
	for i := math.Ceil(from / step); i*step <= to; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// line draws a series: the highest of the values of each column of the picture, or for a linear axis their mean.
func (p *picture) line(c *Chart, s *Series) {
	var d path
	column, sum, n := -1, 0.0, 0
	put := func() {
		if n == 0 {
			return
		}
		y := p.py(sum)
		if !c.Log {
			y = p.py(sum / float64(n))
		}
		d.to(column, int(math.Round(y)))
		sum, n = 0, 0
	}
	for i, v := range s.Values {
		if math.IsNaN(v) {
			put()
			d.up = true
			continue
		}
		if x := int(math.Round(p.px(c.X[i]))); x != column {
			put()
			column = x
		}
		if n++; c.Log {
			sum = max(sum, v)
		} else {
			sum += v
		}
	}
	put()
	fmt.Fprintf(p, `<path class="line %s"%s d="%s"/>`, s.Class, dashes(s.Dash), d.text)
	if s.Fill {
		fmt.Fprintf(p, `<path class="area %s" d="%s"/>`, s.Class, d.area(svgHeight-svgBottom))
	}
}

// path is a line of pixels. Its text has differences, because they are short.
type path struct {
	text  []byte
	parts [][]byte // of each part without a gap: its text after the first point
	ends  [][3]int // first x, first y, last x
	x, y  int
	down  bool
	up    bool // the next point begins a part
}

func (d *path) to(x, y int) {
	if !d.down || d.up {
		d.text = fmt.Appendf(d.text, "M%d %d", x, y)
		d.parts, d.ends = append(d.parts, nil), append(d.ends, [3]int{x, y, x})
		d.down, d.up = true, false
	} else {
		step := fmt.Appendf(nil, "l%d", x-d.x)
		if y >= d.y {
			step = append(step, ' ')
		}
		step = fmt.Appendf(step, "%d", y-d.y)
		n := len(d.parts) - 1
		d.text, d.parts[n] = append(d.text, step...), append(d.parts[n], step...)
		d.ends[n][2] = x
	}
	d.x, d.y = x, y
}

// area returns the text of the area between the line and a base.
func (d *path) area(base float64) string {
	var text []byte
	for i, e := range d.ends {
		text = fmt.Appendf(text, "M%d %gV%d%sV%gZ", e[0], base, e[1], d.parts[i], base)
	}
	return string(text)
}

func dashes(dash []int) string {
	if len(dash) < 2 {
		return ""
	}
	return fmt.Sprintf(` stroke-dasharray="%d %d"`, dash[0], dash[1])
}

// legend names the lines above the area.
func (p *picture) legend(series []Series) {
	x := svgLeft
	for _, s := range series {
		fmt.Fprintf(p, `<path class="line %s"%s d="M%.0f 8h16"/><text class="tick" x="%.0f" y="11.5">%s</text>`,
			s.Class, dashes(s.Dash), x, x+20, escaped(s.Name))
		x += 32 + 6.2*float64(len([]rune(s.Name)))
	}
}

// labels writes the names of lines on them, each at another place, so that they do not cover each other.
func (p *picture) labels(c *Chart) {
	for n, s := range c.Series {
		wanted := p.xAt(float64(n+1) / float64(len(c.Series)+1))
		at := -1
		for i, v := range s.Values {
			if !math.IsNaN(v) && (at < 0 || math.Abs(p.px(c.X[i])-wanted) < math.Abs(p.px(c.X[at])-wanted)) {
				at = i
			}
		}
		if at >= 0 && s.Label != "" {
			fmt.Fprintf(p, `<text class="label %s" x="%.1f" y="%.1f">%s</text>`, s.Class, p.px(c.X[at]), p.py(s.Values[at])-4, escaped(s.Label))
		}
	}
}

// xAt returns the place of a share of the x axis.
func (p *picture) xAt(share float64) float64 {
	return svgLeft + share*(svgWidth-svgLeft-svgRight)
}

// bands shades times.
func (p *picture) bands(t *Timeline) {
	if t == nil {
		return
	}
	for _, b := range t.Bands {
		x := p.px(b.From)
		fmt.Fprintf(p, `<rect class="band %s" x="%.1f" y="%g" width="%.1f" height="%g"/>`, b.Class, x, svgTop, max(p.px(b.To)-x, 1), svgHeight-svgTop-svgBottom)
	}
}

// markGap is the room that the numbers of a group of marks take.
const markGap = 26.0

// marks draws a line for each event, with its number.
func (p *picture) marks(t *Timeline) {
	if t == nil {
		return
	}
	for _, g := range groups(t.Marks, markGap, p.px) {
		for _, m := range g.Marks {
			fmt.Fprintf(p, `<path class="mark %s" d="M%.0f %gV%g"/>`, m.Class, p.px(m.At), svgTop, svgHeight-svgBottom)
		}
		fmt.Fprintf(p, `<text class="mark %s" x="%.0f" y="%g">%s</text>`, worst(g.Marks), p.px(g.Marks[0].At), svgTop-4, g.Label)
	}
}

// worst returns the class of the worst mark.
func worst(marks []Mark) string {
	for _, class := range []string{"worst", "worse", "better"} {
		if slices.ContainsFunc(marks, func(m Mark) bool { return m.Class == class }) {
			return class
		}
	}
	return "neutral"
}
