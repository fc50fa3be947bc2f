package page

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// Chart is lines over the time of a run, or over something else.
type Chart struct {
	ID    string `json:"id"` // unique in the page
	Title string `json:"title"`
	About string `json:"-"` // a few words beside the title

	X     Values `json:"x"`
	XUnit Unit   `json:"xUnit"` // Time: the chart is zoomed together with all others over time
	Unit  Unit   `json:"unit"`  // of the values
	Log   bool   `json:"log"`

	Series   []Series  `json:"series"`
	Timeline *Timeline `json:"-"` // of a chart over time
}

// Series is one line.
type Series struct {
	Name   string `json:"name"`
	Label  string `json:"label,omitempty"` // written on the line
	Class  string `json:"class"`           // its colour, one of the palette
	Dash   []int  `json:"dash,omitempty"`
	Fill   bool   `json:"fill,omitempty"`
	Values Values `json:"values"` // as many as X has; NaN: none
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
		out = strconv.AppendFloat(out, significant(n), 'g', -1, 64)
	}
	return append(out, ']'), nil
}

// significant returns a number rounded to four significant digits.
func significant(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // it has just been written
	return r
}

// Unit is what a number counts, and so how it is written.
type Unit string

// The units. A script writes each in the same way.
const (
	Time       Unit = "time"       // seconds since the start of the run
	Latency    Unit = "latency"    // seconds
	Rate       Unit = "rate"       // records a second
	Count      Unit = "count"      // records
	Cores      Unit = "cores"      // of a CPU
	Percentile Unit = "percentile" // 1/(1-p): 100 is the 99th percentile
)

// text returns a number as a sentence has it.
func (u Unit) text(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	switch u {
	case Time, Latency:
		return theme.Duration(seconds(v))
	case Rate:
		return theme.Rate(v) + "/s"
	case Cores:
		return theme.Number(v)
	case Percentile:
		return u.tick(v)
	case Count:
	}
	return theme.Rate(v)
}

// tick returns a number as it stands beside an axis.
func (u Unit) tick(v float64) string {
	switch u {
	case Time, Latency:
		return theme.TickDuration(seconds(v))
	case Percentile:
		return strconv.FormatFloat(100-100/v, 'f', max(0, int(math.Log10(v))-2), 64) + "%"
	case Cores:
		return strconv.FormatFloat(significant(v), 'f', -1, 64) // two decimals are too few for a part of a core
	case Rate, Count:
	}
	return theme.Tick(v)
}

// Timeline is what happened in the time of a run, for all charts over time.
type Timeline struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Marks []Mark  `json:"marks"`
	Bands []Band  `json:"bands"`
	warm  float64 // when the warm-up ended; 0: there was none
}

// Mark is an event.
type Mark struct {
	At     float64 `json:"at"`
	Number int     `json:"number"` // in the list of events
	Class  string  `json:"class"`  // how bad it is: "neutral", "better", "worse" or "worst"
	Text   string  `json:"text"`
}

// Group is some marks that are too near to each other for a number each.
type Group struct {
	Marks []Mark
	Label string // "3", or "3–5"
}

// groups puts marks that are closer than least in groups. place returns the place of a moment.
func groups(marks []Mark, least float64, place func(float64) float64) (all []Group) {
	for _, m := range marks {
		n := len(all) - 1
		if n >= 0 && place(m.At)-place(all[n].Marks[0].At) < least {
			all[n].Marks = append(all[n].Marks, m)
			all[n].Label = fmt.Sprintf("%d–%d", all[n].Marks[0].Number, m.Number)
			continue
		}
		all = append(all, Group{[]Mark{m}, strconv.Itoa(m.Number)})
	}
	return all
}

// Band is a time that is shaded: "warmup", "outage" or "gap".
type Band struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Class string  `json:"class"`
}

// y returns the axis of the values.
func (c *Chart) y() chart.Axis {
	var values []float64
	for _, s := range c.Series {
		values = append(values, s.Values...)
	}
	return axisOf(values, c.Log, 5)
}

const headroom = 1.05

// axisOf returns the axis of some values, those above 0.
func axisOf(values []float64, log bool, ticks int) chart.Axis {
	lo, hi := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 { // NaN is not
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case !log:
		return chart.Linear(hi*headroom, ticks)
	case hi == 0:
		return chart.Decades(1e-3, 1)
	}
	return chart.Decades(lo, hi)
}

// Summary says in a sentence what the chart shows, for those who do not see it.
func (c *Chart) Summary() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s. ", c.Title)
	for _, s := range c.Series {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		if lo <= hi {
			fmt.Fprintf(&b, "%s: from %s to %s. ", s.Name, c.Unit.text(lo), c.Unit.text(hi))
		}
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
