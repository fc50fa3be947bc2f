package result

import (
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// maxPoints bounds a series: an hour of seconds. A longer run's points are
// joined two by two, as often as it takes.
const maxPoints = 3600

type series struct {
	points []Point
	stride int // windows a point
	fill   int // windows in the last point
}

// PointOf is the point of one window.
func PointOf(w *stats.Window) Point {
	us := func(q float64) int64 { return w.Response.Quantile(q).Microseconds() }
	return Point{
		StartSeconds: w.Start.Seconds(), Seconds: w.Seconds(), Warmup: w.Warmup,
		Acknowledged: w.Acknowledged, Failed: w.Failed, Bytes: w.Bytes,
		P50: us(0.5), P90: us(0.9), P99: us(0.99), P999: us(0.999), Max: w.Response.Max().Microseconds(),
		LagP99: w.Lag.Quantile(0.99).Microseconds(),
	}
}

func (s *series) add(p Point) {
	if s.stride == 0 {
		s.stride = 1
	}
	if n := len(s.points); n > 0 && s.fill < s.stride && s.points[n-1].Warmup == p.Warmup {
		s.points[n-1] = join(s.points[n-1], p)
		s.fill++
		return
	}
	s.points = append(s.points, p)
	s.fill = 1
	if len(s.points) > maxPoints {
		s.halve()
	}
}

// halve joins neighbours of one phase.
func (s *series) halve() {
	kept := s.points[:0]
	for i := 0; i < len(s.points); i++ {
		p := s.points[i]
		if i+1 < len(s.points) && s.points[i+1].Warmup == p.Warmup {
			i++
			p = join(p, s.points[i])
		}
		kept = append(kept, p)
	}
	s.points = kept
	s.stride *= 2
	s.fill = s.stride // the next window starts a point
}

// join makes one point of two neighbours.
func join(a, b Point) Point {
	seconds := a.Seconds + b.Seconds
	cpu := a.CPUCores
	if b.CPUCores > 0 && seconds > 0 {
		cpu = (a.CPUCores*a.Seconds + b.CPUCores*b.Seconds) / seconds
	}
	return Point{
		StartSeconds: min(a.StartSeconds, b.StartSeconds), Seconds: seconds, Warmup: a.Warmup,
		Acknowledged: a.Acknowledged + b.Acknowledged, Failed: a.Failed + b.Failed, Bytes: a.Bytes + b.Bytes,
		P50: max(a.P50, b.P50), P90: max(a.P90, b.P90), P99: max(a.P99, b.P99),
		P999: max(a.P999, b.P999), Max: max(a.Max, b.Max), LagP99: max(a.LagP99, b.LagP99),
		CPUCores: cpu,
	}
}

// sample adds the CPU of the interval to its point.
func (s *series) sample(h host.Sample) {
	if n := len(s.points); n > 0 && s.fill == 1 {
		s.points[n-1].CPUCores = h.ProcessCPU
	}
}
