package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Shift is a difference with its interval, drawn as a bar around 0.
type Shift struct {
	Value, Low, High float64
	Interval         bool    // Low and High are known
	Most             float64 // the end of the axis to both sides
	Class            string  // "good", "bad" or ""
}

// SVG returns the picture. Its numbers stand beside it, so nothing is lost to those who do not see it.
func (s Shift) SVG() template.HTML {
	const width, middle, height = 120.0, 60.0, 14.0
	at := func(v float64) float64 {
		return middle + min(max(v/max(s.Most, 1e-9), -1), 1)*(middle-3)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="shift %s" viewBox="0 0 %g %g" aria-hidden="true"><path class="zero" d="M%g 0v%g"/>`, s.Class, width, height, middle, height)
	if s.Interval {
		from, to := at(s.Low), at(s.High)
		fmt.Fprintf(&b, `<rect x="%.1f" y="4" width="%.1f" height="6" rx="1"/>`, from, max(to-from, 1))
	}
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="7" r="3"/></svg>`, at(s.Value))
	return template.HTML(b.String()) //nolint:gosec // it is made of numbers and of a class
}

// reach returns how far the axis of some shifts has to go. A shift of many times does not hide the others.
func reach(shifts []*Shift) (most float64) {
	const least, largest = 0.05, 1
	for _, s := range shifts {
		most = max(most, math.Abs(s.Value))
		if s.Interval {
			most = max(most, math.Abs(s.Low), math.Abs(s.High))
		}
	}
	return min(max(most, least), largest)
}
