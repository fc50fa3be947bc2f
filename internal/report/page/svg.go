package page

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// The layout of a static picture, in units of its own.
const (
	width, height = 560.0, 236.0
	left, right   = 46.0, width - 8
	top, bottom   = 30.0, height - 20
	letterWidth   = 6.2
	headroom      = 1.05
)

// picture is the static picture of a chart while it is drawn.
type picture struct {
	bytes.Buffer
	*doc.Chart
	y          chart.Axis
	xFrom, xTo float64
	xLog       bool
}

// draw returns the static picture of a chart.
func draw(c *doc.Chart) template.HTML {
	p := &picture{Chart: c}
	p.axes()
	p.put(`<svg class="static" viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, escaped(summary(c)))
	if h := c.Heat; h != nil {
		p.put(`<rect class="plate" x="%g" y="%g" width="%g" height="%g"/>`, left, top, right-left, bottom-top)
		p.put(`<image class="cells" x="%g" y="%g" width="%g" height="%g" preserveAspectRatio="none" href="%s"/>`, left, top, right-left, bottom-top, h.Image)
	}
	if c.Time != nil {
		for _, b := range c.Time.Bands {
			x := p.px(b.From)
			p.put(`<rect class="band %s" x="%.1f" y="%g" width="%.1f" height="%g"/>`, b.Class, x, top, max(p.px(b.To)-x, 1), bottom-top)
		}
	}
	for _, v := range p.y.Ticks {
		if c.Heat == nil {
			p.put(`<path class="grid" d="M%g %.1fH%g"/>`, left, p.py(v), right)
		}
		p.put(`<text class="tick end" x="%g" y="%.1f">%s</text>`, left-6, p.py(v)+3.5, c.Unit.Tick(v))
	}
	p.xTicks()
	p.rules()
	for i := range c.Series {
		p.line(&c.Series[i])
		p.points(&c.Series[i])
	}
	p.legend()
	p.labels()
	p.marks()
	p.put("</svg>")
	return template.HTML(p.String()) //nolint:gosec // every text in it was escaped
}

func (p *picture) put(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// escaped returns a text for a picture, without what is not to be printed.
func escaped(text string) string { return template.HTMLEscapeString(theme.Clean(text)) }

// axes finds the ranges of both axes.
func (p *picture) axes() {
	var values []float64
	for _, s := range p.Series {
		values = append(values, s.Values...)
		for _, at := range s.Points {
			values, p.xTo = append(values, at.Y, at.Low, at.High), max(p.xTo, at.X*headroom)
		}
	}
	for _, r := range p.Rules {
		if !r.Upright {
			values = append(values, r.At)
		}
	}
	if p.Heat != nil {
		values = append(values, p.Heat.Min, p.Heat.Max)
	}
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 { // NaN is not
			least, most = min(least, v), max(most, v)
		}
	}
	switch {
	case !p.Log:
		p.y = chart.Linear(most*headroom, 5)
	case most == 0:
		p.y = chart.Decades(1e-3, 1)
	default:
		p.y = chart.Decades(least, most)
	}
	switch {
	case p.Time != nil:
		p.xFrom, p.xTo = p.Time.From, p.Time.To
	case p.Names != nil:
		p.xFrom, p.xTo = -0.5, float64(len(p.Names))-0.5
	case len(p.X) > 0:
		p.xFrom, p.xTo, p.xLog = p.X[0], p.X[len(p.X)-1], true
	}
}

// px returns the place of an x value.
func (p *picture) px(v float64) float64 {
	share := (v - p.xFrom) / max(p.xTo-p.xFrom, 1e-9)
	if p.xLog {
		share = math.Log(v/p.xFrom) / math.Log(max(p.xTo/p.xFrom, 1+1e-9))
	}
	return left + min(max(share, 0), 1)*(right-left)
}

// py returns the place of a value.
func (p *picture) py(v float64) float64 { return bottom - p.y.Pos(v)*(bottom-top) }

// mostLabels bounds the labels of places: more would cover each other.
const mostLabels = 12

// xTicks draws the labels below.
func (p *picture) xTicks() {
	if p.Names == nil {
		for _, v := range ticksOf(p.xFrom, p.xTo, p.xLog, p.Time != nil) {
			p.xTick(p.px(v), p.XUnit.Tick(v))
		}
		return
	}
	each := (len(p.Names) + mostLabels - 1) / mostLabels
	room := int((right - left) / letterWidth / float64(min(len(p.Names), mostLabels)))
	for i := 0; i < len(p.Names); i += each {
		name := []rune(p.Names[i])
		if len(name) > room {
			name = append(name[:max(room-1, 1)], '…')
		}
		p.xTick(p.px(float64(i)), escaped(string(name)))
	}
}

func (p *picture) xTick(x float64, text string) {
	class := "mid"
	if x > right-16 {
		class = "end"
	}
	p.put(`<text class="tick %s" x="%.1f" y="%g">%s</text>`, class, x, height-5, text)
}

// timeSteps are the distances of ticks on a time axis, in seconds.
var timeSteps = []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400}

// ticksOf returns the ticks of an x axis: decades, round times or round numbers.
func ticksOf(from, to float64, log, timed bool) (ticks []float64) {
	const most = 7
	switch {
	case log:
		for v := from; v <= to*(1+1e-9); v *= 10 {
			ticks = append(ticks, v)
		}
	case timed:
		step := timeSteps[len(timeSteps)-1]
		if i := slices.IndexFunc(timeSteps, func(s float64) bool { return (to-from)/s <= most }); i >= 0 {
			step = timeSteps[i]
		}
		for (to-from)/step > most { // longer than any step is for
			step *= 2
		}
		for i := math.Ceil(from / step); i*step <= to; i++ {
			ticks = append(ticks, i*step)
		}
	default:
		ticks = slices.DeleteFunc(chart.Linear(to, 5).Ticks, func(v float64) bool { return v > to })
	}
	return ticks
}

// rules draws the lines across.
func (p *picture) rules() {
	for _, r := range p.Rules {
		x, y, d := right-2, p.py(r.At)-4, fmt.Sprintf("M%g %.1fH%g", left, p.py(r.At), right)
		if r.Upright {
			x, y, d = p.px(r.At)-4, top+10, fmt.Sprintf("M%.1f %gV%g", p.px(r.At), top, bottom)
		}
		p.put(`<path class="limit" d="%s"/><text class="tick end" x="%.1f" y="%.1f">%s</text>`, d, x, y, escaped(r.Name))
	}
}

// line draws the values of a series: of those in a column of the picture the highest, or for a linear axis their mean.
func (p *picture) line(s *doc.Series) {
	if s.Values == nil {
		return
	}
	var line, area strings.Builder
	x, y := -1, 0 // of the column before; -1: the line begins
	for i := 0; i < len(s.Values); {
		column, sum, n := p.column(i), 0.0, 0
		for ; i < len(s.Values) && !math.IsNaN(s.Values[i]) && p.column(i) == column; i++ {
			if n++; p.Log {
				sum = max(sum, s.Values[i])
			} else {
				sum += (s.Values[i] - sum) / float64(n)
			}
		}
		at := int(math.Round(p.py(sum)))
		switch {
		case n == 0: // NaN
			i++
		case x >= 0:
			step := fmt.Sprintf("l%d %d", column-x, at-y) // differences are shorter
			line.WriteString(step)
			area.WriteString(step)
		default:
			fmt.Fprintf(&line, "M%d %d", column, at)
			fmt.Fprintf(&area, "M%d %gV%d", column, bottom, at)
		}
		if n > 0 {
			x, y = column, at
		}
		if x >= 0 && (n == 0 || i == len(s.Values)) {
			fmt.Fprintf(&area, "V%gZ", bottom)
			x = -1
		}
	}
	p.put(`<path class="line %s"%s d="%s"/>`, s.Class, dashes(s.Dash), line.String())
	if s.Fill {
		p.put(`<path class="area %s" d="%s"/>`, s.Class, area.String())
	}
}

// column returns the place of a value in whole units.
func (p *picture) column(i int) int { return int(math.Round(p.px(p.X[i]))) }

func dashes(dash []int) string {
	if len(dash) < 2 {
		return ""
	}
	return fmt.Sprintf(` stroke-dasharray="%d %d"`, dash[0], dash[1])
}

// points draws the points of a series, with their intervals.
func (p *picture) points(s *doc.Series) {
	if s.Joined && len(s.Points) > 0 {
		d := ""
		for _, at := range s.Points {
			d += fmt.Sprintf("L%.1f %.1f", p.px(at.X), p.py(at.Y))
		}
		p.put(`<path class="line %s" d="M%s"/>`, s.Class, d[1:])
	}
	for _, at := range s.Points {
		x, low, high, class, interval := p.px(at.X), p.py(at.Low), p.py(at.High), s.Class, ""
		if at.Strong {
			class += " strong"
		}
		p.put(`<g class="dot %s">`, class)
		if at.High > at.Low {
			interval = fmt.Sprintf(" (%s to %s)", p.Unit.Text(at.Low), p.Unit.Text(at.High))
			p.put(`<path d="M%.1f %.1fV%.1fM%.1f %.1fh10M%.1f %.1fh10"/>`, x, low, high, x-5, low, x-5, high)
		}
		p.put(`<title>%s</title>%s`, escaped(said(p.Chart, s, &at)+interval), shapeAt(at.Shape, x, p.py(at.Y)))
		if at.Label != "" {
			p.put(`<text class="tick mid" x="%.1f" y="%.1f">%s</text>`, x, p.py(at.Y)-9, escaped(at.Label))
		}
		p.put("</g>")
	}
}

// shapeAt returns a shape at a place.
func shapeAt(s doc.Shape, x, y float64) string {
	switch s {
	case doc.Cross:
		return fmt.Sprintf(`<path d="M%.1f %.1fl8 8m0 -8l-8 8"/>`, x-4, y-4)
	case doc.Square:
		return fmt.Sprintf(`<path d="M%.1f %.1fh10v10h-10z"/>`, x-5, y-5)
	case doc.Circle:
	}
	return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="4"/>`, x, y)
}

// legend names the lines and the kinds of points above the area.
func (p *picture) legend() {
	x := left
	for _, s := range p.Series {
		switch {
		case s.Values != nil:
			p.put(`<path class="line %s"%s d="M%.0f 8h16"/>`, s.Class, dashes(s.Dash), x)
		case len(p.Series) > 1:
			p.put(`<g class="dot %s">%s</g>`, s.Class, shapeAt(s.Points[0].Shape, x+8, 8))
		default:
			continue
		}
		p.put(`<text class="tick" x="%.0f" y="11.5">%s</text>`, x+20, escaped(s.Name))
		x += 32 + letterWidth*float64(len([]rune(s.Name)))
	}
}

// labels writes the names of lines on them, each at another place, so that they do not cover each other.
func (p *picture) labels() {
	for n, s := range p.Series {
		wanted := left + (right-left)*float64(n+1)/float64(len(p.Series)+1)
		at := -1
		for i, v := range s.Values {
			if !math.IsNaN(v) && (at < 0 || math.Abs(p.px(p.X[i])-wanted) < math.Abs(p.px(p.X[at])-wanted)) {
				at = i
			}
		}
		if at >= 0 && s.Label != "" {
			p.put(`<text class="label %s" x="%.1f" y="%.1f">%s</text>`, s.Class, p.px(p.X[at]), p.py(s.Values[at])-4, escaped(s.Label))
		}
	}
}

// markGap is the room that the number of a mark takes. Marks that are nearer to each other have one label.
const markGap = 26.0

// marks draws a line for each event, with its number, or those of the first and the last of some.
func (p *picture) marks() {
	if p.Time == nil {
		return
	}
	for all := p.Time.Marks; len(all) > 0; {
		n := slices.IndexFunc(all, func(e doc.Event) bool { return p.px(e.At)-p.px(all[0].At) >= markGap })
		if n < 0 {
			n = len(all)
		}
		label, worst := fmt.Sprint(all[0].Number), "neutral"
		if n > 1 {
			label = fmt.Sprintf("%d–%d", all[0].Number, all[n-1].Number)
		}
		for _, class := range []string{"better", "worse", "worst"} {
			if slices.ContainsFunc(all[:n], func(e doc.Event) bool { return e.Class == class }) {
				worst = class
			}
		}
		for _, e := range all[:n] {
			p.put(`<path class="mark %s" d="M%.0f %gV%g"/>`, e.Class, p.px(e.At), top, bottom)
		}
		p.put(`<text class="mark %s" x="%.0f" y="%g">%s</text>`, worst, p.px(all[0].At), top-4, label)
		all = all[n:]
	}
}

// said writes a point as a sentence has it.
func said(c *doc.Chart, s *doc.Series, at *doc.Point) string {
	place := ""
	if c.Names != nil {
		place = c.Names[int(at.X)]
	} else {
		place = c.XUnit.Text(at.X)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", s.Name, place, c.Unit.Text(at.Y)))
}

// summary says what a chart shows, for those who do not see it.
func summary(c *doc.Chart) string {
	if h := c.Heat; h != nil {
		return fmt.Sprintf("%s: how many records took how long, over time, between %s and %s.", c.Title, c.Unit.Tick(h.Min), c.Unit.Tick(h.Max))
	}
	var parts []string
	for i := range c.Series {
		s := &c.Series[i]
		for k := range s.Points {
			parts = append(parts, said(c, s, &s.Points[k]))
		}
		values := slices.DeleteFunc(slices.Clone(s.Values), math.IsNaN)
		if len(values) > 0 {
			parts = append(parts, fmt.Sprintf("%s: from %s to %s", s.Name, c.Unit.Text(slices.Min(values)), c.Unit.Text(slices.Max(values))))
		}
	}
	const most = 12
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	return c.Title + ". " + strings.Join(parts, "; ") + "."
}
