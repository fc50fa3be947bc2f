package page

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// The area of a static picture, in units of its own. The template has the same numbers.
const (
	left, right = 46.0, 552.0
	top, bottom = 30.0, 216.0
	letterWidth = 6.2
	headroom    = 1.05
)

// picture is the static picture of a chart: the template draws it.
type picture struct {
	*doc.Chart
	Y          chart.Axis
	xFrom, xTo float64
	xLog       bool
}

// label is a text at a place of a picture.
type label struct {
	X, Y         float64
	Class, Label string
}

// newPicture finds the ranges of both axes.
func newPicture(c *doc.Chart) *picture {
	p := &picture{Chart: c}
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
	values = slices.DeleteFunc(values, func(v float64) bool { return !(v > 0) }) // NaN is not
	switch {
	case !p.Log:
		p.Y = chart.Linear(slices.Max(append(values, 0))*headroom, 5)
	case len(values) == 0:
		p.Y = chart.Decades(1e-3, 1)
	default:
		p.Y = chart.Decades(slices.Min(values), slices.Max(values))
	}
	switch {
	case p.Time != nil:
		p.xFrom, p.xTo = p.Time.From, p.Time.To
	case p.Names != nil:
		p.xFrom, p.xTo = -0.5, float64(len(p.Names))-0.5
	case len(p.X) > 0:
		p.xFrom, p.xTo, p.xLog = p.X[0], p.X[len(p.X)-1], true
	}
	return p
}

func tenths(v float64) float64 { return math.Round(v*10) / 10 }

// Left returns the place of an x value.
func (p *picture) Left(v float64) float64 {
	share := (v - p.xFrom) / max(p.xTo-p.xFrom, 1e-9)
	if p.xLog {
		share = math.Log(v/p.xFrom) / math.Log(max(p.xTo/p.xFrom, 1+1e-9))
	}
	return tenths(left + min(max(share, 0), 1)*(right-left))
}

// Top returns the place of a value.
func (p *picture) Top(v float64) float64 { return tenths(bottom - p.Y.Pos(v)*(bottom-top)) }

// Width returns how wide a band is.
func (p *picture) Width(b doc.Band) float64 { return tenths(max(p.Left(b.To)-p.Left(b.From), 1)) }

// mostLabels bounds the labels of places: more would cover each other.
const mostLabels = 12

// Ticks returns the labels below.
func (p *picture) Ticks() (all []label) {
	add := func(v float64, text string) {
		one := label{X: p.Left(v), Class: "mid", Label: text}
		if one.X > right-16 {
			one.Class = "end"
		}
		all = append(all, one)
	}
	if p.Names == nil {
		for _, v := range ticksOf(p.xFrom, p.xTo, p.xLog, p.Time != nil) {
			add(v, p.XUnit.Tick(v))
		}
	}
	each := max(1, (len(p.Names)+mostLabels-1)/mostLabels)
	room := int((right - left) / letterWidth / float64(max(1, min(len(p.Names), mostLabels))))
	for i := 0; i < len(p.Names); i += each {
		name := []rune(p.Names[i])
		if len(name) > room {
			name = append(name[:max(room-1, 1)], '…')
		}
		add(float64(i), string(name))
	}
	return all
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

// placed is a series in the units of the picture.
type placed struct {
	doc.Series
	Line, Area string
	Dots       []dot
}

type dot struct {
	doc.Point
	Title, Interval string
}

// Paths places a series: of the values in a column of the picture the highest, or for a linear axis their mean, and the points.
func (p *picture) Paths(s doc.Series) *placed {
	d := &placed{Series: s}
	for i := 0; i < len(s.Values); i++ {
		rest, x0, y0, x, y := "", -1.0, 0.0, 0.0, 0.0
		for i < len(s.Values) && !math.IsNaN(s.Values[i]) {
			column, v, n := math.Round(p.Left(p.X[i])), 0.0, 0.0
			for ; i < len(s.Values) && !math.IsNaN(s.Values[i]) && math.Round(p.Left(p.X[i])) == column; i++ {
				if n++; p.Log {
					v = max(v, s.Values[i])
				} else {
					v += (s.Values[i] - v) / n
				}
			}
			at := math.Round(p.Top(v))
			if x0 < 0 {
				x0, y0 = column, at
			} else {
				rest += fmt.Sprintf("l%g %g", column-x, at-y) // differences are shorter
			}
			x, y = column, at
		}
		if x0 < 0 {
			continue
		}
		if d.Line += fmt.Sprintf("M%g %g%s", x0, y0, rest); s.Fill {
			d.Area += fmt.Sprintf("M%g %gV%g%sV%gZ", x0, bottom, y0, rest, bottom)
		}
	}
	for _, at := range s.Points {
		one := dot{Point: at, Title: p.said(&s, &at)}
		if at.High > at.Low {
			one.Interval = fmt.Sprintf(" (%s to %s)", p.Unit.Text(at.Low), p.Unit.Text(at.High))
		}
		one.X, one.Y, one.Low, one.High = p.Left(at.X), p.Top(at.Y), p.Top(at.Low), p.Top(at.High)
		if d.Dots = append(d.Dots, one); s.Joined {
			d.Line += fmt.Sprintf("%s%g %g", map[bool]string{true: "M", false: "L"}[d.Line == ""], one.X, one.Y)
		}
	}
	return d
}

// entry is a line, or a kind of points, in the legend.
type entry struct {
	doc.Series
	X   float64
	Key doc.Point
}

// Legend names the lines and the kinds of points above the area.
func (p *picture) Legend() (all []entry) {
	x := left
	for _, s := range p.Series {
		if s.Values == nil && len(p.Series) < 2 {
			continue
		}
		one := entry{Series: s, X: tenths(x), Key: doc.Point{X: tenths(x + 8), Y: 8}}
		if s.Points != nil {
			one.Key.Shape = s.Points[0].Shape
		}
		all = append(all, one)
		x += 32 + letterWidth*float64(len([]rune(s.Name)))
	}
	return all
}

// Labels returns the names of lines, each at another place, so that they do not cover each other.
func (p *picture) Labels() (all []label) {
	for n, s := range p.Series {
		wanted := left + (right-left)*float64(n+1)/float64(len(p.Series)+1)
		var places []label
		for i, v := range s.Values {
			if s.Label != "" && !math.IsNaN(v) {
				places = append(places, label{p.Left(p.X[i]), p.Top(v), s.Class, s.Label})
			}
		}
		if len(places) > 0 {
			all = append(all, slices.MinFunc(places, func(a, b label) int { return cmp.Compare(math.Abs(a.X-wanted), math.Abs(b.X-wanted)) }))
		}
	}
	return all
}

// Marks returns the numbers of the events. Those that are nearer to each other than a number is wide have one label.
func (p *picture) Marks() (labels []label) {
	const gap = 26
	gravities := []string{"neutral", "better", "worse", "worst"}
	if p.Time == nil {
		return nil
	}
	for all := p.Time.Marks; len(all) > 0; {
		first := p.Left(all[0].At)
		n := slices.IndexFunc(all, func(e doc.Event) bool { return p.Left(e.At)-first >= gap })
		if n < 0 {
			n = len(all)
		}
		worst := slices.MaxFunc(all[:n], func(a, b doc.Event) int {
			return cmp.Compare(slices.Index(gravities, a.Class), slices.Index(gravities, b.Class))
		})
		one := label{X: first, Class: worst.Class, Label: fmt.Sprint(all[0].Number)}
		if n > 1 {
			one.Label = fmt.Sprintf("%d–%d", all[0].Number, all[n-1].Number)
		}
		labels, all = append(labels, one), all[n:]
	}
	return labels
}

// said writes a point as a sentence has it.
func (p *picture) said(s *doc.Series, at *doc.Point) string {
	place := ""
	if p.Names != nil {
		place = p.Names[int(at.X)]
	} else {
		place = p.XUnit.Text(at.X)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", s.Name, place, p.Unit.Text(at.Y)))
}

// Summary says what a chart shows, for those who do not see it.
func (p *picture) Summary() string {
	if h := p.Heat; h != nil {
		return fmt.Sprintf("%s: how many records took how long, over time, between %s and %s.", p.Title, p.Unit.Tick(h.Min), p.Unit.Tick(h.Max))
	}
	var parts []string
	for i := range p.Series {
		s := &p.Series[i]
		for k := range s.Points {
			parts = append(parts, p.said(s, &s.Points[k]))
		}
		if values := slices.DeleteFunc(slices.Clone(s.Values), math.IsNaN); len(values) > 0 {
			parts = append(parts, fmt.Sprintf("%s: from %s to %s", s.Name, p.Unit.Text(slices.Min(values)), p.Unit.Text(slices.Max(values))))
		}
	}
	const most = 12
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	return p.Title + ". " + strings.Join(parts, "; ") + "."
}

// maxColumns bounds the columns of a heat map in a page.
const maxColumns = 600

// newHeat returns a map of latencies over time of some columns, with its picture, which has one pixel for each bin; nil: they are empty.
func newHeat(columns []result.HeatColumn, t *doc.Timeline) *doc.Heat {
	h := &doc.Heat{PerDecade: result.HeatPerDecade}
	first, last := result.HeatBins, -1
	perSecond := func(c *result.HeatColumn, n uint32) float64 {
		return float64(n) / max((c.End-c.Start).Seconds(), result.ShortRow)
	}
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
	palette := color.Palette{color.Transparent}
	for _, step := range heatSteps(false) {
		c := color.NRGBA{A: 0xff}
		_, _ = fmt.Sscanf(step, "#%02x%02x%02x", &c.R, &c.G, &c.B) // it is a constant
		palette = append(palette, c)
	}
	bins := func(from, to float64) int { return int(math.Round(math.Log10(to/from) * result.HeatPerDecade)) }
	lowest, rows := bins(1e-6, h.Min), bins(h.Min, h.Max)
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
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img); err != nil {
		panic(err) // it is written into memory
	}
	h.Image = "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return h
}

// tail is the part of the ramp that the logarithm of a count decides: the few slow records are what the map is for.
const tail = 0.75

// heatSteps are the colours of the map.
func heatSteps(dark bool) (steps []string) {
	for i := range theme.HeatSteps {
		steps = append(steps, theme.Hex(theme.Heat((float64(i)+0.5)/(theme.HeatSteps-1)), dark))
	}
	return steps
}
