package result

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
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
				us := Micros(v)
				p := Point{
					StartSeconds: float64(i), Seconds: 1, Warmup: tc.warmup(i), Acknowledged: v, Failed: v % 3, Bytes: 10 * v,
					P50: us, P90: 2 * us, P99: 3 * us, P999: 4 * us, Max: 5 * us, SendDelayP99: 6 * v,
				}
				p.CPUCores = 2
				s.add(p, new(stats.Window))
				if len(s.points) > maxPoints {
					t.Fatalf("%d points after %d windows", len(s.points), i+1)
				}
				want[p.Warmup] = join(want[p.Warmup], p)
			}
			got := make(map[bool]Point)
			for i, p := range s.points {
				if i > 0 && p.StartSeconds < s.points[i-1].StartSeconds {
					t.Fatalf("point %d starts at %v, the one before at %v", i, p.StartSeconds, s.points[i-1].StartSeconds)
				}
				if p.CPUCores < 1.999 || p.CPUCores > 2.001 {
					t.Fatalf("point %d used %v cores, want the mean of its seconds, 2", i, p.CPUCores)
				}
				got[p.Warmup] = join(got[p.Warmup], p)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("sums and maxima by phase (-want +got):\n%s", diff)
			}
			if len(s.points) < maxPoints/4 {
				t.Errorf("%d points are left of %d windows", len(s.points), n)
			}
		})
	}
}

func TestJoinedLatenciesAreTheWorstAndCPUIsWeighted(t *testing.T) {
	a := Point{StartSeconds: 5, Seconds: 1, Acknowledged: 1, Failed: 2, Bytes: 3, P50: 10, P90: 1, P99: 30, P999: 4, Max: 50, SendDelayP99: 6, Oldest: 9, CPUCores: 4}
	b := Point{StartSeconds: 6, Seconds: 3, Acknowledged: 10, Failed: 20, Bytes: 30, P50: 1, P90: 20, P99: 3, P999: 40, Max: 5, SendDelayP99: 60}
	want := Point{StartSeconds: 5, Seconds: 4, Acknowledged: 11, Failed: 22, Bytes: 33, P50: 10, P90: 20, P99: 30, P999: 40, Max: 50, SendDelayP99: 60, Oldest: 9, CPUCores: 1}
	must.Match(t, want, join(a, b), "join(a, b)")
	must.Match(t, want, join(b, a), "join(b, a)")
	must.Match(t, 0, join(Point{}, Point{CPUCores: 1}).CPUCores, "points of no length used … cores")
}

// window is one at a rate of 1000 records/s, in which as many were sent as answered.
func window(from, to time.Duration, warmup bool, records int64, latency time.Duration) stats.Window {
	w := stats.Window{Start: from, End: to, Warmup: warmup, Offered: records, Acknowledged: records, FirstDue: from}
	w.Response.RecordN(latency, records)
	return w
}

// row is what the tests below look at.
type row struct {
	from, seconds float64
	warmup        bool
	records       int64
	p50, max      Micros
	cpu           float64
}

func rowsOf(points []Point) (rows []row) {
	for _, p := range points {
		rows = append(rows, row{p.StartSeconds, p.Seconds, p.Warmup, p.Acknowledged, p.P50, p.Max, math.Round(1000*p.CPUCores) / 1000})
	}
	return rows
}

func TestEachSecondHasOneRow(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	sample := func(seconds, cores float64) host.Sample {
		return host.Sample{Interval: time.Duration(seconds * float64(time.Second)), ProcessCPU: cores}
	}
	late := func(from, to time.Duration, records int64) stats.Window { // of the warm-up, known when it was over
		w := window(from, to, true, records, 30*ms)
		w.Offered, w.FirstDue = 0, 0
		return w
	}
	measured := func(from, to, first time.Duration, records int64) stats.Window {
		w := window(from, to, false, records, 4*ms)
		w.Offered, w.FirstDue = max(1, records), first
		return w
	}
	type second struct {
		windows []stats.Window
		sample  host.Sample
	}
	for _, tc := range []struct {
		name string
		in   []second
		want []row
	}{
		{"the last milliseconds belong to the second before", []second{
			{[]stats.Window{window(0, s, false, 1000, 4*ms)}, sample(1, 0.12)},
			{[]stats.Window{window(s, 2*s, false, 1000, 4*ms)}, sample(1, 0.12)},
			{[]stats.Window{window(2*s, 2002*ms, false, 10, 30*ms)}, sample(0.002, 5)},
		}, []row{{0, 1, false, 1000, 4000, 4000, 0.12}, {1, 1.002, false, 1010, 4001, 30_000, 0.13}}},
		{"a run of milliseconds has a row without CPU", []second{
			{[]stats.Window{window(0, 2*ms, false, 10, 4*ms)}, sample(0.002, 5)},
		}, []row{{0, 0.002, false, 10, 4000, 4000, 0}}},
		{"the warm-up ends with a second", []second{
			{[]stats.Window{window(0, s, true, 1000, 4*ms)}, sample(1, 0.5)},
			{[]stats.Window{late(s, 2*s, 21), measured(s, 2*s, s, 979)}, sample(1, 0.5)},
			{[]stats.Window{late(2*s, 3*s, 4), measured(2*s, 3*s, 2*s, 1000)}, sample(1, 0.5)},
		}, []row{{0, 1, true, 1025, 4001, 30_000, 0.5}, {1, 1, false, 979, 4000, 4000, 0.5}, {2, 1, false, 1000, 4000, 4000, 0.5}}},
		{"and in the midst of one", []second{
			{[]stats.Window{window(0, s, true, 1000, 4*ms)}, sample(1, 0.5)},
			{[]stats.Window{window(s, 2*s, true, 600, 4*ms), measured(s, 2*s, 1600*ms, 400)}, sample(1, 0.5)},
			{[]stats.Window{late(2*s, 3*s, 5), measured(2*s, 3*s, 2*s, 1000)}, sample(1, 0.5)},
		}, []row{{0, 1, true, 1000, 4000, 4000, 0.5}, {1, 0.6, true, 605, 4001, 30_000, 0.5}, {1.6, 1.4, false, 1400, 4000, 4000, 0.5}}},
		{"just before one", []second{
			{[]stats.Window{window(0, s, true, 999, 4*ms), measured(0, s, 999*ms, 0)}, sample(1, 0.5)},
			{[]stats.Window{late(s, 2*s, 1), measured(s, 2*s, s, 1000)}, sample(1, 0.5)},
		}, []row{{0, 0.999, true, 1000, 4001, 30_000, 0.5}, {0.999, 1.001, false, 1000, 4000, 4000, 0.5}}},
	} {
		f := NewFold(header(1000))
		for _, s := range tc.in {
			for _, w := range s.windows {
				f.AddWindow(w)
			}
			f.AddSample(s.sample)
		}
		if diff := cmp.Diff(tc.want, rowsOf(f.Result().Series), cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestAPointOfAMomentInWhichNothingHappenedIsNotTold(t *testing.T) {
	f := NewFold(header(0))
	windows := []stats.Window{window(0, time.Second, true, 0, 0), window(0, time.Second, false, 10, time.Millisecond)}
	for _, w := range windows {
		f.AddWindow(w)
	}
	if got := rowsOf(f.Snapshot().Recent); len(got) != 1 || got[0].warmup {
		t.Errorf("points %+v, want that of the measured part alone", got)
	}
}

func TestAPointHoldsTheQuantilesOfItsWindow(t *testing.T) {
	w := stats.Window{Start: 3 * time.Second, End: 4500 * time.Millisecond, Warmup: true, Acknowledged: 1000, Failed: 1, Bytes: 7}
	for i := range 1000 {
		w.Response.Record(time.Duration(i+1) * time.Microsecond)
	}
	w.SendDelay.Record(42 * time.Microsecond)
	want := Point{
		StartSeconds: 3, Seconds: 1.5, Warmup: true, Acknowledged: 1000, Failed: 1, Bytes: 7,
		P50: 500, P90: 900, P99: 990, P999: 999, Max: 1000, SendDelayP99: 42,
	}
	must.Match(t, want, pointOf(&w), "PointOf")
}

func TestPointsKnowHowManyRecordsWait(t *testing.T) {
	windows := []stats.Window{
		{End: time.Second, Read: stats.Read{ConsumerLag: 500, Consumed: 10, ConsumedBytes: 100}, Events: make([]stats.Event, 2)},
		{Start: time.Second, End: 2 * time.Second, Read: stats.Read{ConsumerLag: -200, Consumed: 5, ConsumedBytes: 50}, Events: make([]stats.Event, 1)},
	}
	windows[0].EndToEnd.RecordN(3*time.Millisecond, 10)
	windows[1].EndToEnd.RecordN(2*time.Millisecond, 5)
	var points steps
	a, b := points.of(windows[:1], host.Sample{})[0], points.of(windows[1:], host.Sample{})[0]
	joined := join(a, b)
	want := Point{
		Seconds: 2, Consumed: 15, ConsumedBytes: 150, ConsumerLag: 300, Events: 3,
		EndToEndP50: 3000, EndToEndP90: 3000, EndToEndP99: 3000, EndToEndP999: 3000, EndToEndMax: 3000,
	}
	if joined != want || a.ConsumerLag != 500 || b.ConsumerLag != 300 {
		t.Errorf("points with %d and %d waiting; joined they are %+v, want %+v", a.ConsumerLag, b.ConsumerLag, joined, want)
	}
}
