package result

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// maxPoints bounds a series: an hour of seconds. Points of a longer run are joined two by two, as often as it takes.
const maxPoints = 3600

// ShortRow is the length in seconds below which a step has no row of its own, no rate and no CPU. The
// last step of a run may have a few milliseconds.
const ShortRow = 0.5

type series struct {
	points []Point
	stride int     // windows a point
	last   [2]slot // the last point of each phase
	most   int     // points; 0: maxPoints
	shared int     // points that snapshots hold and that must not change
}

// slot is a point that may still be filled.
type slot struct {
	at   int // its index
	fill int // windows in it; 0: no slot

	window stats.Window // the distributions of a point of one window, for a short one after it
}

// steps makes the points of the windows of a run, in their order. The zero value is ready.
type steps struct {
	consumerLag int64
	begun       bool // the measured part
}

// of returns the points of the windows of one second. h is the sample of that second.
func (p *steps) of(windows []stats.Window, h host.Sample) []Point {
	points := make([]Point, len(windows))
	for i := range windows {
		p.consumerLag += windows[i].ConsumerLag
		w := &windows[i]
		points[i] = Point{
			StartSeconds: w.Start.Seconds(), Seconds: w.Seconds(), Warmup: w.Warmup, Acknowledged: w.Acknowledged, Failed: w.Failed, Bytes: w.Bytes,
			Consumed: w.Consumed, ConsumedBytes: w.ConsumedBytes, ConsumerLag: lagOf(p.consumerLag, w.LagUnknown > 0),
			Events: int64(len(w.Events)), Oldest: w.Oldest.Microseconds(), Refused: w.Refused(),
			Accepted: w.Accepted, Redelivered: w.Redelivered(), Locks: w.Locks,
		}
		for _, b := range w.Brokers {
			points[i].Throttled = points[i].Throttled || b.Throttle > 0 || b.Fetch.Throttle > 0
		}
		points[i].distributions(w)
	}
	if len(points) == 2 && points[0].Warmup && !points[1].Warmup {
		p.divide(windows, points)
	}
	length := 0.0
	for i := range windows {
		w := &windows[i]
		p.begun = p.begun || !w.Warmup && (w.Offered > 0 || w.Consumed > 0)
		length += points[i].Seconds
	}
	for i := range points {
		if points[i].Seconds > 0 {
			points[i].CPUCores = h.ProcessCPU * h.Interval.Seconds() / length
		}
	}
	return points
}

// divide divides the second in which the warm-up ended. Later outcomes of warm-up records take no time.
func (p *steps) divide(windows []stats.Window, points []Point) {
	warm, w := &windows[0], &windows[1]
	end := w.FirstDue
	switch {
	case !p.begun && w.Offered+w.Consumed == 0 && (warm.Offered+warm.Consumed > 0 || warm.ShardTime+warm.ReadTime >= w.ShardTime+w.ReadTime):
		end = w.End // the first measured record is due later
	case warm.Offered == 0 && warm.Consumed == 0:
		end = warm.Start
	case p.begun: // some processes warm up while others are measured
		return
	case w.Offered == 0 && w.Consumed > 0:
		end = w.FirstRead
	case w.Offered == 0:
		return
	}
	end = min(max(end, w.Start), w.End)
	points[0].Seconds = (end - warm.Start).Seconds()
	points[1].StartSeconds, points[1].Seconds = end.Seconds(), (w.End - end).Seconds()
}

func (p *Point) knownCPU() float64 {
	if p.Seconds < ShortRow {
		return 0
	}
	return p.CPUCores
}

// distributions sets the latencies of a window, at least 1 µs: 0 means that there are none.
func (p *Point) distributions(w *stats.Window) {
	us := func(h *stats.Histogram, q float64) Micros {
		if h.Ranked() == 0 {
			return 0
		}
		return Micros(max(1, h.ValueAtQuantile(q).Microseconds()))
	}
	r, e := &w.Response, &w.EndToEnd
	p.P50, p.P90, p.P99, p.P999, p.Max = us(r, 0.5), us(r, 0.9), us(r, 0.99), us(r, 0.999), us(r, 1)
	p.EndToEndP50, p.EndToEndP90, p.EndToEndP99, p.EndToEndP999, p.EndToEndMax = us(e, 0.5), us(e, 0.9), us(e, 0.99), us(e, 0.999), us(e, 1)
	p.SendDelayP99 = w.SendDelay.ValueAtQuantile(0.99).Microseconds()
}

// add adds the point of a window. A short point is joined with the one before it, or with the next.
func (s *series) add(p Point, w *stats.Window) {
	s.stride = max(1, s.stride)
	l := &s.last[stats.PhaseOf(p.Warmup)]
	short := l.fill > 0 && min(p.Seconds, s.points[l.at].Seconds) < ShortRow
	if short || l.fill > 0 && l.fill < s.stride {
		if l.at < s.shared {
			s.points, s.shared = slices.Clone(s.points), 0
		}
		s.points[l.at] = join(s.points[l.at], p)
		if !short {
			l.fill++
		} else if !l.window.IsZero() {
			l.window = stats.Merge(l.window, *w)
			s.points[l.at].distributions(&l.window)
		}
		return
	}
	*l = slot{at: len(s.points), fill: 1}
	if s.stride == 1 {
		l.window = stats.Window{Start: w.Start, End: w.End, Warmup: w.Warmup, SendDelay: w.SendDelay, Response: w.Response, Read: stats.Read{EndToEnd: w.EndToEnd}}
	}
	s.points = append(s.points, p)
	if len(s.points) > cmp.Or(s.most, maxPoints) {
		s.points, s.shared = joinEach(s.points, func(int) int { return 2 }), 0
		s.stride *= 2
		for i, p := range s.points {
			s.last[stats.PhaseOf(p.Warmup)] = slot{at: i, fill: s.stride} // the next window starts a point
		}
	}
}

// JoinPoints joins neighbouring points of a phase, so that there are at most so many of it.
func JoinPoints(points []Point, most int) []Point {
	return joinEach(points, func(n int) int { return max((n+most-1)/max(most, 1), 1) })
}

// joinEach joins so many neighbouring points of a phase that has n.
func joinEach(points []Point, each func(n int) int) (joined []Point) {
	for _, warmup := range []bool{true, false} {
		of := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Warmup != warmup })
		joined = append(joined, joinChunks(of, each(len(of)), join)...)
	}
	slices.SortStableFunc(joined, func(a, b Point) int { return cmp.Compare(a.StartSeconds, b.StartSeconds) })
	return joined
}

func joinChunks[V any](values []V, each int, join func(a, b V) V) (joined []V) {
	for some := range slices.Chunk(values, max(each, 1)) {
		v := some[0]
		for _, next := range some[1:] {
			v = join(v, next)
		}
		joined = append(joined, v)
	}
	return joined
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
		P999: max(a.P999, b.P999), Max: max(a.Max, b.Max), SendDelayP99: max(a.SendDelayP99, b.SendDelayP99),
		CPUCores: cpu,

		Consumed: a.Consumed + b.Consumed, ConsumedBytes: a.ConsumedBytes + b.ConsumedBytes, ConsumerLag: b.ConsumerLag,
		EndToEndP50: max(a.EndToEndP50, b.EndToEndP50), EndToEndP90: max(a.EndToEndP90, b.EndToEndP90),
		EndToEndP99: max(a.EndToEndP99, b.EndToEndP99), EndToEndP999: max(a.EndToEndP999, b.EndToEndP999),
		EndToEndMax: max(a.EndToEndMax, b.EndToEndMax), Events: a.Events + b.Events, Oldest: max(a.Oldest, b.Oldest),
		Refused: a.Refused + b.Refused, Throttled: a.Throttled || b.Throttled,
		Accepted: a.Accepted + b.Accepted, Redelivered: a.Redelivered + b.Redelivered, Locks: max(a.Locks, b.Locks),
	}
}

// HeatColumn counts the latencies of a second by their size; of a long run, of several seconds.
type HeatColumn struct {
	Start time.Duration    `json:"start_ns"`
	End   time.Duration    `json:"end_ns"`
	Bins  [HeatBins]uint32 `json:"counts"`
}

// A bin is a twelfth of a decade, from 1 µs on. The last one holds an hour.
const (
	HeatPerDecade = 12
	HeatBins      = 115
)

// maxHeat bounds the columns of a heat map.
const maxHeat = 3600

// HeatStart returns the shortest latency of a bin, in seconds. Bins may have a fraction.
func HeatStart(bin float64) float64 { return 1e-6 * math.Pow(10, bin/HeatPerDecade) }

// heatEnds are the ends of the bins in microseconds. The last bin has none.
var heatEnds = func() (ends [HeatBins - 1]float64) {
	for i := range ends {
		ends[i] = math.Pow(10, float64(i+1)/HeatPerDecade)
	}
	return ends
}()

func (c *HeatColumn) count(h *stats.Histogram) {
	bin := 0
	h.Each(func(upTo time.Duration, count int64) {
		us := float64(upTo) / float64(time.Microsecond)
		for bin < len(heatEnds) && us >= heatEnds[bin] {
			bin++
		}
		c.Bins[bin] = addClamped(c.Bins[bin], count)
	})
}

func addClamped(a uint32, b int64) uint32 {
	return uint32(min(int64(a)+min(b, math.MaxUint32), math.MaxUint32))
}

// join returns one column of two.
func (c HeatColumn) join(o HeatColumn) HeatColumn {
	for bin, n := range o.Bins {
		c.Bins[bin] = addClamped(c.Bins[bin], int64(n))
	}
	c.Start, c.End = min(c.Start, o.Start), max(c.End, o.End)
	return c
}

// JoinHeat joins neighbouring columns, so that there are at most so many.
func JoinHeat(columns []HeatColumn, most int) []HeatColumn {
	return joinChunks(columns, (len(columns)+most-1)/max(most, 1), HeatColumn.join)
}

// addHeat adds the windows of one more second to the heat map.
func (f *Fold) addHeat(windows []stats.Window) {
	if f.lean || f.hosted {
		return
	}
	c := HeatColumn{Start: windows[0].Start}
	timed := f.total[stats.Warmup].EndToEnd.Count()+f.total[stats.Measured].EndToEnd.Count() > 0
	fetches := f.header.Plan.ReadsOnly() && !timed
	for i := range windows {
		w := &windows[i]
		c.Start, c.End = min(c.Start, w.Start), max(c.End, w.End)
		if !fetches {
			c.count(w.Headline(f.header.Plan.Reads()))
			continue
		}
		for _, b := range w.Brokers {
			c.count(&b.Fetch.Latency)
		}
	}
	if f.fetched && !fetches { // records carry stamps from now on
		f.heat = nil
	}
	f.heat, f.fetched = append(f.heat, c), fetches
	if n := len(f.heat); n > maxHeat { // those of the older half are joined two by two
		f.heat = append(JoinHeat(f.heat[:n/2], n/4), f.heat[n/2:]...)
	}
}
