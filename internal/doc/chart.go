package doc

import (
	"math"
	"strconv"
)

// Chart is a block of a page: lines, cells, or points with intervals. It is a picture only: a table of the document, or the run in the
// page, has its numbers.
type Chart struct {
	ID     string   `json:"id"` // unique in the page
	Title  string   `json:"title"`
	About  string   `json:"-"` // a few words beside the title
	X      Values   `json:"x"` // of all lines
	XUnit  Unit     `json:"xUnit"`
	Unit   Unit     `json:"unit"`
	Log    bool     `json:"log"` // the axis of the values is
	Series []Series `json:"series"`
	Heat   *Heat    `json:"heat,omitempty"`

	Time  *Timeline `json:"-"` // of a chart over the time of a run; all of them are zoomed together
	Names []string  `json:"-"` // of the places on the x axis, at equal distances; nil: x is a number
	Rules []Rule    `json:"-"`
}

// Live reports whether a script draws the chart anew.
func (c *Chart) Live() bool { return c.X != nil || c.Heat != nil }

// Unit is how the numbers of an axis are written.
type Unit struct {
	Name string // by which the script knows it
	Text func(v float64) string
	Tick func(v float64) string // beside the axis
}

// MarshalText returns the name.
func (u Unit) MarshalText() ([]byte, error) { return []byte(u.Name), nil }

// Series is one line, or points of one kind.
type Series struct {
	Name   string `json:"name"`
	Label  string `json:"label,omitempty"` // written on the line
	Class  string `json:"class"`           // its colour, one of the palette
	Dash   []int  `json:"dash,omitempty"`
	Fill   bool   `json:"fill,omitempty"`
	Values Values `json:"values"` // as many as X has; NaN: none

	Points []Point `json:"-"` // in place of values
	Joined bool    `json:"-"` // a line joins the points
}

// Point is a point with its interval.
type Point struct {
	X            float64 // a number, or an index of Names
	Y, Low, High float64
	Strong       bool // the best of an answer
	Shape        Shape
	Label        string
}

// Shape tells kinds of points apart without colours.
type Shape int

// The shapes of points.
const (
	Circle Shape = iota
	Cross
	Square
)

// Rule is a line across a chart.
type Rule struct {
	Name    string
	At      float64
	Upright bool // at a place of the x axis
}

// Heat is a map of latencies over time, of which the script draws the columns that the run has in the page.
type Heat struct {
	PerDecade int     `json:"perDecade"`
	Min       float64 `json:"min"` // seconds
	Max       float64 `json:"max"`
	Top       float64 `json:"top"` // most latencies a second in one cell
	Image     string  `json:"-"`   // the cells as a picture
}

// Timeline is what happened in the time of a run, for all charts over time.
type Timeline struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Marks []Event `json:"marks"`
	Bands []Band  `json:"bands"`
}

// Band is a time that is shaded: "warmup", "outage" or "gap".
type Band struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Class string  `json:"class"`
}

// Values are numbers of a chart. They are written with four significant digits.
type Values []float64

// MarshalJSON writes a list of numbers, with null for each that is NaN.
func (v Values) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, n := range v {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, Significant(n), 'g', -1, 64)
	}
	return append(out, ']'), nil
}

// Significant returns a number rounded to four significant digits.
func Significant(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // it has just been written
	return r
}
