package tui

import (
	"math"
	"sort"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// since returns the points that reach into the time after a moment: single seconds where
// the snapshot still has them, and else the steps of the whole run.
func (d *data) since(second float64) []result.Point {
	points := d.Recent
	if int64(len(points)) < d.Placed && points[0].StartSeconds > second {
		points = d.Points
	}
	i := sort.Search(len(points), func(i int) bool { return points[i].End() > second })
	return points[i:]
}

// samples takes one value of each point.
func samples(points []result.Point, value func(*result.Point) float64) []chart.Sample {
	out := make([]chart.Sample, len(points))
	for i := range points {
		p := &points[i]
		out[i] = chart.Sample{Start: p.StartSeconds, End: p.End(), Value: value(p)}
	}
	return out
}

// rate returns the records a second of a point; NaN: it is too short for a rate.
func (w way) rate(p *result.Point) float64 {
	switch {
	case p.Seconds < result.ShortRow:
		return math.NaN()
	case w == read:
		return float64(p.Consumed) / p.Seconds
	}
	return float64(p.Acknowledged) / p.Seconds
}

// latencyOf returns a quantile of a point in seconds; NaN where there is none.
func (d *data) latencyOf(p *result.Point, quantile int) float64 {
	us := [...]result.Micros{p.P50, p.P90, p.P99, p.P999}
	if d.reads {
		us = [...]result.Micros{p.EndToEndP50, p.EndToEndP90, p.EndToEndP99, p.EndToEndP999}
	}
	if us[quantile] == 0 || us[quantile] == result.Failed {
		return math.NaN()
	}
	return float64(us[quantile]) / 1e6
}

// ageOf returns the age in seconds of the oldest record at the end of a point; NaN where it
// does not stand out from the latencies.
func (d *data) ageOf(p *result.Point) float64 {
	age := time.Duration(p.Oldest) * time.Microsecond
	if age == 0 || p.P99 > 0 && p.P99 != result.Failed && age < max(ageShows, agesUsual*p.P99.Duration()) {
		return math.NaN()
	}
	return age.Seconds()
}
