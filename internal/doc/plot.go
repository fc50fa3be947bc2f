package doc

// Plot is a block of a page: points with intervals over the values of a factor, or over a number. It is a picture only: a table of the
// document has its numbers.
type Plot struct {
	ID, Title, About string

	Names  []string // of the places on the x axis, at equal distances; nil: X of the points is a number
	X, Y   Scale
	Log    bool // of the y axis
	Groups []Dots
	Lines  []Line
}

// Scale is how the numbers of an axis are written.
type Scale struct {
	Text func(v float64) string // as the table writes them
	Tick func(v float64) string // beside the axis
}

// Dots are points of one kind.
type Dots struct {
	Name, Class string
	Joined      bool // by a line
	Points      []Dot
}

// Dot is a point with its interval.
type Dot struct {
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

// Line is a line across a plot.
type Line struct {
	Name    string
	At      float64
	Upright bool // at a place of the x axis
}
