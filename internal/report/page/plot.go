package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// plotted draws a plot.
type plotted struct{ *doc.Plot }

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

// summary says what the plot shows, for those who do not see it.
func (p plotted) summary() string {
	var parts []string
	for _, g := range p.Groups {
		for _, d := range g.Points {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s: %s", g.Name, p.place(d.X), p.Y.Text(d.Y))))
		}
	}
	const most = 12
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	return p.Title + ". " + strings.Join(parts, "; ") + "."
}

func (p plotted) place(x float64) string {
	if p.Names != nil {
		return p.Names[int(x)]
	}
	return p.X.Text(x)
}

// plot returns the picture of a plot.
func plot(of *doc.Plot) template.HTML {
	p := plotted{of}
	pic := newPicture(p.summary())
	p.axes(pic)
	pic.grid(p.Y.Tick)
	p.xLabels(pic)
	p.lines(pic)
	for _, g := range p.Groups {
		p.group(pic, &g)
	}
	p.legend(pic)
	return pic.end()
}

// axes sets those of the picture.
func (p plotted) axes(pic *picture) {
	var values []float64
	end := 0.0
	for _, g := range p.Groups {
		for _, d := range g.Points {
			values, end = append(values, d.Y, d.Low, d.High), max(end, d.X)
		}
	}
	for _, l := range p.Lines {
		if !l.Upright {
			values = append(values, l.At)
		}
	}
	pic.y, pic.xFrom, pic.xTo = axisOf(values, p.Log, 4), 0, end*headroom
	if p.Names != nil {
		pic.xFrom, pic.xTo = -0.5, float64(len(p.Names))-0.5
	}
}

// mostLabels bounds the labels of the places: more would cover each other.
const mostLabels = 12

func (p plotted) xLabels(pic *picture) {
	if p.Names == nil {
		for _, v := range chart.Linear(pic.xTo, 5).Ticks {
			if v <= pic.xTo {
				fmt.Fprintf(pic, `<text class="tick mid" x="%.1f" y="%g">%s</text>`, pic.px(v), svgHeight-5, p.X.Tick(v))
			}
		}
		return
	}
	each := (len(p.Names) + mostLabels - 1) / mostLabels
	room := int((svgWidth - svgLeft - svgRight) / 6.2 / float64(min(len(p.Names), mostLabels)))
	for i := 0; i < len(p.Names); i += each {
		name := []rune(p.Names[i])
		if len(name) > room {
			name = append(name[:max(room-1, 1)], '…')
		}
		fmt.Fprintf(pic, `<text class="tick mid" x="%.1f" y="%g">%s</text>`, pic.px(float64(i)), svgHeight-5, escaped(string(name)))
	}
}

func (p plotted) lines(pic *picture) {
	for _, l := range p.Lines {
		name := escaped(l.Name)
		if l.Upright {
			x := pic.px(l.At)
			fmt.Fprintf(pic, `<path class="limit" d="M%.1f %gV%g"/><text class="tick end" x="%.1f" y="%g">%s</text>`,
				x, svgTop, svgHeight-svgBottom, x-4, svgTop+10, name)
			continue
		}
		y := pic.py(l.At)
		fmt.Fprintf(pic, `<path class="limit" d="M%g %.1fH%g"/><text class="tick end" x="%g" y="%.1f">%s</text>`,
			svgLeft, y, svgWidth-svgRight, svgWidth-svgRight-2, y-4, name)
	}
}

func (p plotted) group(pic *picture, g *doc.Dots) {
	if g.Joined {
		pen := "M"
		fmt.Fprintf(pic, `<path class="line %s" d="`, g.Class)
		for _, d := range g.Points {
			fmt.Fprintf(pic, "%s%.1f %.1f", pen, pic.px(d.X), pic.py(d.Y))
			pen = "L"
		}
		pic.WriteString(`"/>`)
	}
	for _, d := range g.Points {
		p.dot(pic, g, &d)
	}
}

func (p plotted) dot(pic *picture, g *doc.Dots, d *doc.Dot) {
	x, y := pic.px(d.X), pic.py(d.Y)
	class, text := g.Class, strings.TrimSpace(g.Name+" "+p.place(d.X)+": "+p.Y.Text(d.Y))
	if d.Strong {
		class += " strong"
	}
	fmt.Fprintf(pic, `<g class="dot %s">`, class)
	if d.High > d.Low {
		text += fmt.Sprintf(" (%s to %s)", p.Y.Text(d.Low), p.Y.Text(d.High))
		low, high := pic.py(d.Low), pic.py(d.High)
		fmt.Fprintf(pic, `<path d="M%.1f %.1fV%.1fM%.1f %.1fh10M%.1f %.1fh10"/>`, x, low, high, x-5, low, x-5, high)
	}
	fmt.Fprintf(pic, `<title>%s</title>`, escaped(text))
	pic.WriteString(shapeAt(d.Shape, x, y))
	if d.Label != "" {
		fmt.Fprintf(pic, `<text class="tick mid" x="%.1f" y="%.1f">%s</text>`, x, y-9, escaped(d.Label))
	}
	pic.WriteString("</g>")
}

// legend names the kinds of points above the area.
func (p plotted) legend(pic *picture) {
	if len(p.Groups) < 2 {
		return
	}
	x := svgLeft
	for _, g := range p.Groups {
		mark := doc.Circle
		if len(g.Points) > 0 {
			mark = g.Points[0].Shape
		}
		fmt.Fprintf(pic, `<g class="dot %s">%s</g><text class="tick" x="%.0f" y="11.5">%s</text>`, g.Class, shapeAt(mark, x+6, 8), x+14, escaped(g.Name))
		x += 30 + 6.2*float64(len([]rune(g.Name)))
	}
}
