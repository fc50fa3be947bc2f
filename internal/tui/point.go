package tui

import (
	"math"
	"sort"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// point is one tick, as the charts need it.
type point struct {
	start, end  time.Duration
	warmup      bool
	rate        [ways]float64           // records a second
	consumerLag float64                 // records; NaN: not known
	latency     [len(quantiles)]float64 // seconds; NaN: there is none
	age         float64                 // seconds, of the oldest record without an outcome; NaN: it does not stand out
	heat        [heatBins]uint32
	failed      bool // some record or fetch failed
	throttled   bool // some broker asked to wait
}

// A point counts latencies in bins of a twelfth of a decade from 1 µs, which is
// finer than the rows of any terminal.
const (
	binsPerDecade = 12
	heatBins      = 115 // up to an hour
)

// The points kept, at one a second, bound the memory of a run: an hour of the whole and
// ten minutes of each of many hosts. What is older is kept at a longer step.
const (
	maxPoints  = 3600
	hostPoints = 600
)

func (d *data) mostPoints() int {
	if d.lean {
		return hostPoints
	}
	return maxPoints
}

// newPoint makes the point of a window that was taken in.
func (d *data) newPoint(w *stats.Window) point {
	n := &d.last
	p := point{start: w.Start, end: w.End, warmup: w.Warmup, consumerLag: d.waiting.level(), failed: w.Failed > 0 || len(w.FetchErrors) > 0}
	for i := range p.rate {
		p.rate[i] = n.flow[i].rate
	}
	for i := range p.latency {
		p.latency[i] = math.NaN()
		if n.measured {
			p.latency[i] = n.quantiles[i].Seconds()
		}
	}
	if p.age = math.NaN(); w.Oldest > 0 && (!n.measured || w.Oldest >= d.stall.standsOut()) {
		p.age = w.Oldest.Seconds()
	}
	for _, b := range w.Brokers {
		p.throttled = p.throttled || b.Throttle > 0 || b.Fetch.Throttle > 0
	}
	if d.lean {
		return p
	}
	for _, h := range d.heat(w) {
		h.Each(func(upTo time.Duration, count int64) {
			us := max(float64(upTo)/float64(time.Microsecond), 1)
			bin := min(int(math.Log10(us)*binsPerDecade), heatBins-1)
			p.heat[bin] = addClamped(p.heat[bin], count)
		})
	}
	return p
}

func addClamped(a uint32, b int64) uint32 {
	return uint32(min(int64(a)+min(b, math.MaxUint32), math.MaxUint32))
}

// appendPoint adds a point. Once there are too many, those of the older half
// become one for two: what is long ago is seen from afar.
func appendPoint(points []point, p point, most int) []point {
	points = append(points, p)
	if len(points) <= most {
		return points
	}
	half, n := len(points)/2&^1, 0
	for i := 0; i < half; i += 2 {
		points[n] = join(points[i], points[i+1])
		n++
	}
	return append(points[:n], points[half:]...)
}

// join is two neighbours as one point.
func join(a, b point) point {
	la, lb := (a.end - a.start).Seconds(), (b.end - b.start).Seconds()
	if la+lb > 0 {
		for i := range a.rate {
			a.rate[i] = (a.rate[i]*la + b.rate[i]*lb) / (la + lb)
		}
	}
	if math.IsNaN(a.consumerLag) || b.consumerLag > a.consumerLag {
		a.consumerLag = b.consumerLag
	}
	for i, v := range b.latency {
		if math.IsNaN(a.latency[i]) || v > a.latency[i] {
			a.latency[i] = v
		}
	}
	if math.IsNaN(a.age) || b.age > a.age {
		a.age = b.age
	}
	for i, n := range b.heat {
		a.heat[i] = addClamped(a.heat[i], int64(n))
	}
	a.start, a.end = min(a.start, b.start), max(a.end, b.end) // of a host that was away, the second may be the earlier
	a.warmup = a.warmup && b.warmup
	a.failed = a.failed || b.failed
	a.throttled = a.throttled || b.throttled
	return a
}

// since are the points that reach into the time after a moment.
func since(points []point, second float64) []point {
	i := sort.Search(len(points), func(i int) bool { return points[i].end.Seconds() > second })
	return points[i:]
}

// samples takes one value of each point.
func samples(points []point, value func(*point) float64) []chart.Sample {
	out := make([]chart.Sample, len(points))
	for i := range points {
		p := &points[i]
		out[i] = chart.Sample{Start: p.start.Seconds(), End: p.end.Seconds(), Value: value(p)}
	}
	return out
}

func (w way) rate(p *point) float64 { return p.rate[w] }
