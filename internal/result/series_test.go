package result

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

func TestALongSeriesIsBoundedAndItsSumsAreExact(t *testing.T) {
	for _, tc := range []struct {
		name   string
		warmup func(i int) bool
	}{
		{"no warm-up", func(int) bool { return false }},
		{"a short one", func(i int) bool { return i < 10 }},
		{"a long one", func(i int) bool { return i < 40_000 }},
		{"phases that take turns", func(i int) bool { return i%2 == 0 }},
		{"phases at random", func(i int) bool { return i*2654435761>>7&1 == 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const n = 100_000
			var s series
			want := make(map[bool]Point)
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range n {
				v := rng.Int64N(1000)
				p := Point{
					StartSeconds: float64(i), Seconds: 1, Warmup: tc.warmup(i), Acknowledged: v, Failed: v % 3, Bytes: 10 * v,
					P50: v, P90: 2 * v, P99: 3 * v, P999: 4 * v, Max: 5 * v, LagP99: 6 * v,
				}
				s.add(p)
				if len(s.points) > maxPoints {
					t.Fatalf("%d points after %d windows", len(s.points), i+1)
				}
				s.sample(host.Sample{Interval: time.Second, ProcessCPU: 2})
				w := want[p.Warmup]
				w = Point{
					Seconds: w.Seconds + 1, Acknowledged: w.Acknowledged + v, Failed: w.Failed + v%3, Bytes: w.Bytes + 10*v,
					P50: max(w.P50, v), P90: max(w.P90, 2*v), P99: max(w.P99, 3*v), P999: max(w.P999, 4*v), Max: max(w.Max, 5*v), LagP99: max(w.LagP99, 6*v),
				}
				want[p.Warmup] = w
			}
			got := make(map[bool]Point)
			for i, p := range s.points {
				if i > 0 && p.StartSeconds < s.points[i-1].StartSeconds {
					t.Fatalf("point %d starts at %v, the one before at %v", i, p.StartSeconds, s.points[i-1].StartSeconds)
				}
				if p.CPUCores < 1.999 || p.CPUCores > 2.001 {
					t.Fatalf("point %d used %v cores, want the mean of its seconds, 2", i, p.CPUCores)
				}
				w := got[p.Warmup]
				w = Point{
					Seconds: w.Seconds + p.Seconds, Acknowledged: w.Acknowledged + p.Acknowledged, Failed: w.Failed + p.Failed, Bytes: w.Bytes + p.Bytes,
					P50: max(w.P50, p.P50), P90: max(w.P90, p.P90), P99: max(w.P99, p.P99), P999: max(w.P999, p.P999), Max: max(w.Max, p.Max), LagP99: max(w.LagP99, p.LagP99),
				}
				got[p.Warmup] = w
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sums and maxima by phase (-want +got):\n%s", diff)
			}
			if len(s.points) < maxPoints/4 {
				t.Errorf("%d points are left of %d windows", len(s.points), n)
			}
		})
	}
}

func TestTheSeriesHasTheAgeOfTheOldestRecord(t *testing.T) {
	a, b := PointOf(&stats.Window{Oldest: time.Second}), PointOf(&stats.Window{Oldest: 2 * time.Second})
	if a.Oldest != 1e6 || join(a, b).Oldest != 2e6 || join(b, a).Oldest != 2e6 {
		t.Errorf("%d and %d µs, joined %d", a.Oldest, b.Oldest, join(a, b).Oldest)
	}
}

func TestJoinedLatenciesAreTheWorstAndCPUIsWeighted(t *testing.T) {
	a := Point{StartSeconds: 5, Seconds: 1, Acknowledged: 1, Failed: 2, Bytes: 3, P50: 10, P90: 1, P99: 30, P999: 4, Max: 50, LagP99: 6, CPUCores: 4}
	b := Point{StartSeconds: 6, Seconds: 3, Acknowledged: 10, Failed: 20, Bytes: 30, P50: 1, P90: 20, P99: 3, P999: 40, Max: 5, LagP99: 60}
	want := Point{StartSeconds: 5, Seconds: 4, Acknowledged: 11, Failed: 22, Bytes: 33, P50: 10, P90: 20, P99: 30, P999: 40, Max: 50, LagP99: 60, CPUCores: 1}
	if diff := cmp.Diff(want, join(a, b)); diff != "" {
		t.Errorf("join(a, b) (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, join(b, a)); diff != "" {
		t.Errorf("join(b, a) (-want +got):\n%s", diff)
	}
	if got := join(Point{}, Point{CPUCores: 1}); got.CPUCores != 0 {
		t.Errorf("points of no length used %v cores", got.CPUCores)
	}
}

func TestASampleGoesToThePointOfItsWindow(t *testing.T) {
	var s series
	s.sample(host.Sample{ProcessCPU: 9, Interval: time.Second}) // before any window: nowhere to go
	s.add(Point{Seconds: 1, Warmup: true})
	s.add(Point{Seconds: 1})
	s.sample(host.Sample{ProcessCPU: 3, Interval: time.Second})
	s.add(Point{StartSeconds: 1})
	s.sample(host.Sample{ProcessCPU: 5, Interval: time.Second}) // to a point without a length: nowhere either
	var cpu []float64
	for _, p := range s.points {
		cpu = append(cpu, p.CPUCores)
	}
	if diff := cmp.Diff([]float64{0, 3, 0}, cpu); diff != "" {
		t.Errorf("CPU of the points (-want +got):\n%s", diff)
	}
}

func TestAPointHoldsTheQuantilesOfItsWindow(t *testing.T) {
	w := stats.Window{Start: 3 * time.Second, End: 4500 * time.Millisecond, Warmup: true, Acknowledged: 1000, Failed: 1, Bytes: 7}
	for i := range 1000 {
		w.Response.Record(time.Duration(i+1) * time.Microsecond)
	}
	w.Lag.Record(42 * time.Microsecond)
	want := Point{
		StartSeconds: 3, Seconds: 1.5, Warmup: true, Acknowledged: 1000, Failed: 1, Bytes: 7,
		P50: 500, P90: 900, P99: 990, P999: 999, Max: 1000, LagP99: 42,
	}
	if diff := cmp.Diff(want, PointOf(&w)); diff != "" {
		t.Errorf("PointOf (-want +got):\n%s", diff)
	}
}

func TestPointsKnowHowManyRecordsWait(t *testing.T) {
	windows := []stats.Window{
		{End: time.Second, Read: stats.Read{Backlog: 500, Consumed: 10, ConsumedBytes: 100}, Events: make([]stats.Event, 2)},
		{Start: time.Second, End: 2 * time.Second, Read: stats.Read{Backlog: -200, Consumed: 5, ConsumedBytes: 50}, Events: make([]stats.Event, 1)},
	}
	windows[0].EndToEnd.RecordN(3*time.Millisecond, 10)
	windows[1].EndToEnd.RecordN(2*time.Millisecond, 5)
	var points Points
	a, b := points.Next(&windows[0]), points.Next(&windows[1])
	joined := join(a, b)
	want := Point{
		Seconds: 2, Consumed: 15, ConsumedBytes: 150, Backlog: 300, Events: 3,
		EndToEndP50: 3000, EndToEndP90: 3000, EndToEndP99: 3000, EndToEndP999: 3000, EndToEndMax: 3000,
	}
	if joined != want || a.Backlog != 500 || b.Backlog != 300 {
		t.Errorf("points with %d and %d waiting; joined they are %+v, want %+v", a.Backlog, b.Backlog, joined, want)
	}
}
