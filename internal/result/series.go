package result

import (
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// maxPoints bounds a series: an hour of seconds. A longer run's points are
// joined two by two, as often as it takes.
const maxPoints = 3600

type series struct {
	points  []Point
	stride  int     // windows a point
	last    [2]slot // the last point of each phase
	current int     // the point that the last window went to
}

// slot is a point that may still be filled.
type slot struct {
	at   int // its index
	fill int // windows in it; 0: there is none
}

// Points makes the points of the windows of a run, which it must be given in their
// order. The zero value is ready.
type Points struct{ backlog int64 }

// Next is the point of the next window.
func (p *Points) Next(w *stats.Window) Point {
	p.backlog += w.Backlog
	point := PointOf(w)
	point.Backlog = p.backlog
	return point
}

// PointOf is the point of one window. How many records wait at its end is more than
// one window tells: Points knows it.
func PointOf(w *stats.Window) Point {
	us := func(q float64) int64 { return w.Response.Quantile(q).Microseconds() }
	e2e := func(q float64) int64 { return w.EndToEnd.Quantile(q).Microseconds() }
	return Point{
		StartSeconds: w.Start.Seconds(), Seconds: w.Seconds(), Warmup: w.Warmup,
		Acknowledged: w.Acknowledged, Failed: w.Failed, Bytes: w.Bytes,
		P50: us(0.5), P90: us(0.9), P99: us(0.99), P999: us(0.999), Max: w.Response.Max().Microseconds(),
		LagP99: w.Lag.Quantile(0.99).Microseconds(),

		Consumed: w.Consumed, ConsumedBytes: w.ConsumedBytes,
		EndToEndP50: e2e(0.5), EndToEndP90: e2e(0.9), EndToEndP99: e2e(0.99), EndToEndP999: e2e(0.999),
		EndToEndMax: w.EndToEnd.Max().Microseconds(), Events: int64(len(w.Events)),
		Oldest: w.Oldest.Microseconds(),
	}
}

func (s *series) add(p Point) {
	s.stride = max(1, s.stride)
	l := &s.last[stats.PhaseOf(p.Warmup)]
	if l.fill > 0 && l.fill < s.stride {
		s.points[l.at] = join(s.points[l.at], p)
		l.fill++
		s.current = l.at
		return
	}
	*l = slot{at: len(s.points), fill: 1}
	s.current = l.at
	s.points = append(s.points, p)
	if len(s.points) > maxPoints {
		s.halve()
	}
}

// halve joins the points of each phase two by two. Where the phases overlap,
// their points take turns.
func (s *series) halve() {
	kept := s.points[:0]
	s.last = [2]slot{} // the next window starts a point
	var open [2]slot
	for _, p := range s.points {
		o := &open[stats.PhaseOf(p.Warmup)]
		if o.fill == 1 {
			kept[o.at] = join(kept[o.at], p)
			o.fill = 0
		} else {
			*o = slot{at: len(kept), fill: 1}
			kept = append(kept, p)
		}
		s.current = o.at
	}
	s.points = kept
	s.stride *= 2
}

// join makes one point of two of the same phase, of which b is the later.
func join(a, b Point) Point {
	seconds := a.Seconds + b.Seconds
	var cpu float64
	if seconds > 0 {
		cpu = (a.CPUCores*a.Seconds + b.CPUCores*b.Seconds) / seconds
	}
	return Point{
		StartSeconds: min(a.StartSeconds, b.StartSeconds), Seconds: seconds, Warmup: a.Warmup,
		Acknowledged: a.Acknowledged + b.Acknowledged, Failed: a.Failed + b.Failed, Bytes: a.Bytes + b.Bytes,
		P50: max(a.P50, b.P50), P90: max(a.P90, b.P90), P99: max(a.P99, b.P99),
		P999: max(a.P999, b.P999), Max: max(a.Max, b.Max), LagP99: max(a.LagP99, b.LagP99),
		CPUCores: cpu,

		Consumed: a.Consumed + b.Consumed, ConsumedBytes: a.ConsumedBytes + b.ConsumedBytes, Backlog: b.Backlog,
		EndToEndP50: max(a.EndToEndP50, b.EndToEndP50), EndToEndP90: max(a.EndToEndP90, b.EndToEndP90),
		EndToEndP99: max(a.EndToEndP99, b.EndToEndP99), EndToEndP999: max(a.EndToEndP999, b.EndToEndP999),
		EndToEndMax: max(a.EndToEndMax, b.EndToEndMax), Events: a.Events + b.Events, Oldest: max(a.Oldest, b.Oldest),
	}
}

// sample adds the CPU of an interval to the point of its window, which came
// before it.
func (s *series) sample(h host.Sample) {
	if len(s.points) == 0 || s.points[s.current].Seconds <= 0 {
		return
	}
	p := &s.points[s.current]
	p.CPUCores += h.ProcessCPU * h.Interval.Seconds() / p.Seconds
}
