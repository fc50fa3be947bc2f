package tui

import (
	"math"
	"sort"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// heatColumn is one second of the heat map.
type heatColumn struct {
	start, end time.Duration
	bins       [heatBins]uint32
}

// Latencies are counted in bins of a twelfth of a decade from 1 µs, which is finer than the
// rows of any terminal.
const (
	binsPerDecade = 12
	heatBins      = 115 // up to an hour
	mostHeat      = 3600
)

// newHeat returns the column of a second: of its latencies, or of the fetches where records
// have none.
func (d *data) newHeat(windows []stats.Window) heatColumn {
	var c heatColumn
	for i := range windows {
		w := &windows[i]
		if i == 0 {
			c.start = w.Start
		}
		c.start, c.end = min(c.start, w.Start), max(c.end, w.End)
		switch {
		case d.untimed():
			for _, b := range w.Brokers {
				c.count(&b.Fetch.Latency)
			}
		case d.reads:
			c.count(&w.EndToEnd)
		default:
			c.count(&w.Response)
		}
	}
	return c
}

func (c *heatColumn) count(h *stats.Histogram) {
	h.Each(func(upTo time.Duration, count int64) {
		us := max(float64(upTo)/float64(time.Microsecond), 1)
		bin := min(int(math.Log10(us)*binsPerDecade), heatBins-1)
		c.bins[bin] = addClamped(c.bins[bin], count)
	})
}

func addClamped(a uint32, b int64) uint32 {
	return uint32(min(int64(a)+min(b, math.MaxUint32), math.MaxUint32))
}

// appendHeat adds a column. Once there are too many, those of the older half are joined two
// by two.
func appendHeat(columns []heatColumn, c heatColumn) []heatColumn {
	columns = append(columns, c)
	if len(columns) <= mostHeat {
		return columns
	}
	half, n := len(columns)/2&^1, 0
	for i := 0; i < half; i += 2 {
		a, b := columns[i], &columns[i+1]
		for bin, count := range b.bins {
			a.bins[bin] = addClamped(a.bins[bin], int64(count))
		}
		a.start, a.end = min(a.start, b.start), max(a.end, b.end)
		columns[n] = a
		n++
	}
	return append(columns[:n], columns[half:]...)
}

// binStart returns the shortest latency of a bin, in seconds.
func binStart(bin int) float64 {
	return 1e-6 * math.Pow(10, float64(bin)/binsPerDecade)
}

// heatSince returns the columns that reach into the time after a moment.
func (d *data) heatSince(second float64) []heatColumn {
	i := sort.Search(len(d.heat), func(i int) bool { return d.heat[i].end.Seconds() > second })
	return d.heat[i:]
}

// heatAxis holds every latency of the columns.
func heatAxis(columns []heatColumn) chart.Axis {
	first, last := heatBins, -1
	for i := range columns {
		for bin, n := range columns[i].bins {
			if n > 0 {
				first, last = min(first, bin), max(last, bin)
			}
		}
	}
	if last < 0 {
		return latencyAxis(1, 0)
	}
	return latencyAxis(binStart(first), binStart(last+1))
}

// tail is the part of the ramp that the logarithm of a count decides. A tail of
// ten records in a million is what the map is for, and would not show otherwise;
// the rest of the ramp is left to the count itself, so that the bulk has a shape
// too.
const tail = 0.75

// heatCells returns how full each place of the map is, column by column, against the
// fullest.
func heatCells(points []heatColumn, x chart.TimeAxis, y chart.Axis, columns, rows int) []float64 {
	cells := make([]float64, columns*rows)
	edges := rowEdges(y, rows)
	top := 0.0
	next, cover := 0, 0
	width := (x.To - x.From) / float64(max(columns, 1))
	var sum [heatBins + 1]float64
	for column := range columns {
		from, to := x.From+width*float64(column), x.From+width*float64(column+1)
		clear(sum[:])
		n := 0
		for ; next < len(points) && middle(&points[next]) < to; next++ {
			if middle(&points[next]) >= from {
				accumulate(&sum, &points[next])
				n++
			}
		}
		for cover < len(points) && points[cover].end.Seconds() <= (from+to)/2 {
			cover++
		}
		if n == 0 && cover < len(points) && points[cover].start.Seconds() <= (from+to)/2 {
			accumulate(&sum, &points[cover])
			n = 1
		}
		for row := range rows {
			v := (at(&sum, edges[row]) - at(&sum, edges[row+1])) / float64(max(n, 1))
			cells[column*rows+row] = v
			top = max(top, v)
		}
	}
	for i, v := range cells {
		const trace = 0.05 // of a record: less is only the edge of a bin
		if cells[i] = -1; v > trace {
			cells[i] = tail*math.Log1p(v)/math.Log1p(top) + (1-tail)*v/top
		}
	}
	return cells
}

func middle(p *heatColumn) float64 { return (p.start + p.end).Seconds() / 2 }

// accumulate adds a column to running totals: sum[i] is what lies below bin i.
func accumulate(sum *[heatBins + 1]float64, p *heatColumn) {
	running := 0.0
	for bin, n := range p.bins {
		running += float64(n)
		sum[bin+1] += running
	}
}

// at returns the running total at a place between bins.
func at(sum *[heatBins + 1]float64, place float64) float64 {
	place = min(max(place, 0), heatBins)
	i := min(int(place), heatBins-1)
	return sum[i] + (sum[i+1]-sum[i])*(place-float64(i))
}

// rowEdges returns the edges of the rows from the top down, in bins. As in every
// chart the ends of the axis are in the middle of the first and the last line of
// text, so that the labels are right; half a line is left above and below.
func rowEdges(y chart.Axis, rows int) []float64 {
	edges := make([]float64, rows+1)
	lowest := math.Log10(y.Min/1e-6) * binsPerDecade
	span := math.Log10(y.Max/y.Min) * binsPerDecade
	for i := range edges {
		pos := 1 - (float64(i)-1)/float64(max(rows-2, 1))
		edges[i] = lowest + pos*span
	}
	return edges
}
