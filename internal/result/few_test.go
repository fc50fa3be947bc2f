package result

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

func TestFewRecordsTakeAsManyIntervals(t *testing.T) {
	due := time.Duration(0)
	w := stats.Window{Offered: 5, Acknowledged: 5, FirstDue: due, LastDue: 10 * time.Second, LastSent: 10 * time.Second, LastAck: 10*time.Second + millis(4)}
	if got := throughputOf(&w); math.Abs(got.RecordsPerSecond-0.4) > 1e-9 || math.Abs(got.OfferedRecordsPerSecond-0.4) > 1e-9 {
		t.Errorf("%+v, want 0.4 records a second: one in 2.5 s", got)
	}
	w.LastAck = 20 * time.Second
	must.Match(t, 0.25, throughputOf(&w).RecordsPerSecond, "records a second")
}

func TestFewPollsTakeAsManyIntervals(t *testing.T) {
	s := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for name, tc := range map[string]struct {
		window stats.Window
		want   float64
	}{
		"a burst each 3 s":       {stats.Window{Read: stats.Read{Consumed: 1200, Fetches: 4, FirstRead: s(3), LastRead: s(12)}}, 100},
		"a record each 2.5 s":    {stats.Window{Read: stats.Read{Consumed: 5, Fetches: 5, FirstRead: s(1.2), LastRead: s(11.2)}}, 0.4},
		"a quota after a burst":  {stats.Window{End: s(11), Brokers: map[int32]stats.Broker{1: {Fetch: stats.Traffic{Throttle: s(9)}}}, Read: stats.Read{ReadTime: s(10), Consumed: 900, Fetches: 3, FirstRead: s(1), LastRead: s(1.5)}}, 100},
		"many polls":             {stats.Window{Read: stats.Read{Consumed: 10_000, Fetches: 1000, FirstRead: s(1), LastRead: s(11)}}, 1000},
		"bursts of a round trip": {stats.Window{Offered: 1200, LastDue: s(11.99), Read: stats.Read{Consumed: 1200, Fetches: 40, FirstRead: s(3), LastRead: s(12)}}, 100},
	} {
		if got := float64(tc.window.Consumed) / readSpan(&tc.window).Seconds(); math.Abs(got-tc.want) > 0.001*tc.want {
			t.Errorf("%s: %g records a second, want %g", name, got, tc.want)
		}
	}
}

// loaded returns the result of seconds with so many acknowledged records each.
func loaded(rate float64, perSecond func(second int) int64, seconds int) Result {
	f := NewFold(header(rate))
	for i := range seconds {
		f.AddWindow(even(i, millis(1), func(w *stats.Window) { w.Acknowledged, w.Offered = perSecond(i), perSecond(i) }))
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result()
}

func TestAKeptRateOfFewRecordsIsSteadyOrNotKnown(t *testing.T) {
	half := func(i int) int64 { return int64((i*3+2)/2 - (i*3-1)/2) } // 1.5 a second: one, two, one, two
	if r := loaded(1.5, half, 60); r.Stability != nil {
		t.Errorf("a minute at 1.5 records a second is %+v, want not known", r.Stability)
	}
	if r := loaded(1.5, half, 600); r.Stability == nil || r.Stability.Label != inference.Flat {
		t.Errorf("ten minutes at 1.5 records a second are %+v, want flat", r.Stability)
	}
}

func TestAMaximumThatStillRisesIsSaidToRise(t *testing.T) {
	grows := []int64{259_000, 445_000, 731_000}
	r := loaded(0, func(i int) int64 { return grows[i] }, 3)
	if first, last, warmup, still := r.Rising(); !still || first != 259_000 || last != 731_000 || warmup != 3 {
		t.Errorf("%g to %g, %g s, %v: want it to rise from 259000 to 731000, and a warm-up of 3 s", first, last, warmup, still)
	}
	for name, r := range map[string]Result{
		"an even one":              loaded(0, func(int) int64 { return 500_000 }, 9),
		"one that wavers":          loaded(0, func(i int) int64 { return 500_000 + int64(i%3)*40_000 }, 9),
		"one that rose at first":   loaded(0, func(i int) int64 { return min(int64(i+1)*200_000, 600_000) }, 9),
		"one with a target":        loaded(1000, func(i int) int64 { return int64(i+1) * 1000 }, 9),
		"one of a second":          loaded(0, func(int) int64 { return 500_000 }, 1),
		"one in which nothing was": loaded(0, func(int) int64 { return 0 }, 3),
	} {
		if first, last, _, still := r.Rising(); still {
			t.Errorf("%s: %g to %g", name, first, last)
		}
	}
}
