package tui

import (
	"math"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// heatAxis holds every latency of the columns.
func heatAxis(columns []result.HeatColumn) chart.Axis {
	first, last := result.HeatBins, -1
	for i := range columns {
		for bin, n := range columns[i].Bins {
			if n > 0 {
				first, last = min(first, bin), max(last, bin)
			}
		}
	}
	if last < 0 {
		return latencyAxis(1, 0)
	}
	return latencyAxis(result.HeatStart(float64(first)), result.HeatStart(float64(last+1)))
}

// tail is the part of the ramp that the logarithm of a count decides. A tail of
// ten records in a million is what the map is for, and would not show otherwise;
// the rest of the ramp is left to the count itself, so that the bulk has a shape
// too.
const tail = 0.75

// heatCells returns how full each place of the map is, column by column, against the
// fullest.
func heatCells(points []result.HeatColumn, x chart.TimeAxis, y chart.Axis, columns, rows int) []float64 {
	cells := make([]float64, columns*rows)
	edges := rowEdges(y, rows)
	top := 0.0
	next, cover := 0, 0
	width := (x.To - x.From) / float64(max(columns, 1))
	var sum [result.HeatBins + 1]float64
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
		for cover < len(points) && points[cover].End.Seconds() <= (from+to)/2 {
			cover++
		}
		if n == 0 && cover < len(points) && points[cover].Start.Seconds() <= (from+to)/2 {
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

func middle(p *result.HeatColumn) float64 { return (p.Start + p.End).Seconds() / 2 }

// accumulate adds a column to running totals: sum[i] is what lies below bin i.
func accumulate(sum *[result.HeatBins + 1]float64, p *result.HeatColumn) {
	running := 0.0
	for bin, n := range p.Bins {
		running += float64(n)
		sum[bin+1] += running
	}
}

// at returns the running total at a place between bins.
func at(sum *[result.HeatBins + 1]float64, place float64) float64 {
	place = min(max(place, 0), result.HeatBins)
	i := min(int(place), result.HeatBins-1)
	return sum[i] + (sum[i+1]-sum[i])*(place-float64(i))
}

// rowEdges returns the edges of the rows from the top down, in bins. As in every
// chart the ends of the axis are in the middle of the first and the last line of
// text, so that the labels are right; half a line is left above and below.
func rowEdges(y chart.Axis, rows int) []float64 {
	edges := make([]float64, rows+1)
	lowest := math.Log10(y.Min/1e-6) * result.HeatPerDecade
	span := math.Log10(y.Max/y.Min) * result.HeatPerDecade
	for i := range edges {
		pos := 1 - (float64(i)-1)/float64(max(rows-2, 1))
		edges[i] = lowest + pos*span
	}
	return edges
}
