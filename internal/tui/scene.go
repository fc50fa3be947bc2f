package tui

import (
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// scene is all that a frame is drawn from: what is known, and how the user wants
// to see it. Panes only read it.
type scene struct {
	*data
	clock    time.Duration // since the start of the run
	zoom     pane
	span     span
	unit     unit
	stopping bool
	frozen   bool
	help     bool
	note     string // of the last key, for a short time; "": none
	flat     bool   // panes have no borders: see layout

	chart    pane   // over the hosts, where there is room for one
	selected int    // host, by its row
	order    int    // column of the partitions by which they are sorted
	row      int    // first of the partitions
	one      bool   // the charts are about the selected host
	of       string // whom the charts are about, after their names; "": kt runs here alone

	until time.Duration // of all hosts, where the data is of one: charts end there
}

// span is how much time the charts show.
type span int

// spans are the choices; 0 is all.
var spans = [...]time.Duration{15 * time.Second, time.Minute, 5 * time.Minute, 0}

const defaultSpan span = 1

// unit is how a stream of bytes is written.
type unit int

// units are the choices.
var units = [...]struct {
	name  string
	bytes float64 // in one of them
}{{"MiB/s", 1 << 20}, {"MB/s", 1e6}, {"Gb/s", 1e9 / 8}}

func (u unit) name() string                { return units[u].name }
func (u unit) write(perSec float64) string { return theme.Number(perSec / units[u].bytes) }

// headroom keeps the highest value off the upper edge of its chart.
const headroom = 1.02

// end returns when the last tick ended.
func (s *scene) end() time.Duration { return max(s.At, s.until) }

// timeAxis returns the time that a chart of so many columns shows: the whole run, until
// that is longer than the user wants to see.
//
// Columns begin at multiples of their own width, counted from the start of the
// run, so that a chart moves by whole columns and only when there is something
// new: otherwise every second would fall on other columns than a second ago.
func (s *scene) timeAxis(columns int) chart.TimeAxis {
	end := s.end().Seconds()
	x := chart.TimeAxis{Warmup: s.At.Seconds()}
	if i := slices.IndexFunc(s.Points, func(p result.Point) bool { return !p.Warmup }); i >= 0 {
		x.Warmup = s.Points[i].StartSeconds
	}
	if length := spans[s.span].Seconds(); length > 0 && end > length {
		column := length / float64(max(columns, 1))
		const halfTick = 0.5 // the column that holds the middle of the last tick is the last
		x.To = max(math.Ceil((end-halfTick)/column)*column, 0)
		x.From = x.To - length
		x.Left, x.Right = "-"+theme.TickDuration(spans[s.span]), "now"
	} else {
		x.To = wholeRun(end)
		x.Left, x.Right = "0s", theme.TickDuration(time.Duration(x.To*float64(time.Second)))
	}
	x.Events = s.marks(x)
	return x
}

// wholeRun returns the length of an axis that shows the run from its start. It grows
// in steps, so that the chart is not squeezed a little more each second.
func wholeRun(end float64) float64 {
	step := 15.0
	for step*20 < end {
		step *= 2
	}
	return max(math.Ceil(end/step), 1) * step
}

// shown returns the numbers of now, and those of the whole run once it is over.
func (s *scene) shown() numbers {
	if s.Stage == result.Finished {
		return s.run()
	}
	return s.current()
}
