package result

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestFewRecordsTakeAsManyIntervals(t *testing.T) {
	due := time.Duration(0)
	w := stats.Window{Offered: 5, Acknowledged: 5, FirstDue: due, LastDue: 10 * time.Second, LastSent: 10 * time.Second, LastAck: 10*time.Second + millis(4)}
	if got := throughputOf(&w); math.Abs(got.RecordsPerSecond-0.4) > 1e-9 || math.Abs(got.OfferedRecordsPerSecond-0.4) > 1e-9 {
		t.Errorf("%+v, want 0.4 records a second: one in 2.5 s", got)
	}
	w.LastAck = 20 * time.Second
	if got := throughputOf(&w).RecordsPerSecond; got != 0.25 {
		t.Errorf("%g records a second, want 5 in the 20 s until the last answer", got)
	}
}

func TestABurstThatWasReadFirstTookNoTime(t *testing.T) {
	read := func(at, until time.Duration, n int64) stats.Window {
		return stats.Window{
			Start: at.Truncate(time.Second), End: at.Truncate(time.Second) + time.Second,
			Read: stats.Read{Consumed: n, ConsumedBytes: 10 * n, FirstRead: at, LastRead: until},
		}
	}
	s := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	even := func(from, step float64, n int, each int64) (all []stats.Window) {
		for i := range n {
			at := s(from + float64(i)*step)
			all = append(all, read(at, at+millis(20), each))
		}
		return all
	}
	cutInTwo := append([]stats.Window{read(s(2.995), s(2.999), 60), read(s(3), s(3.02), 240)}, even(6, 3, 3, 300)...)
	var dense []stats.Window
	for i := range 10 {
		dense = append(dense, read(s(float64(i)), s(float64(i)+0.999), 1000))
	}
	for name, tc := range map[string]struct {
		windows []stats.Window
		want    float64
	}{
		"a burst each 3 s":                 {even(3, 3, 4, 300), 100},
		"the first one is in two windows":  {cutInTwo, 100},
		"a record each 2.5 s":              {even(1.2, 2.5, 5, 1), 0.4},
		"records without a pause":          {dense, 10_000 / 9.999},
		"a backlog, and then a few":        {append([]stats.Window{read(0, millis(300), 5000)}, even(1, 1, 20, 1)...), 5020 / 20.02},
		"all of them in one burst, thrice": {even(1, 3, 3, 50), 50. / 3},
	} {
		f := NewFold(readHeader(plan.Consume, 0))
		for _, w := range tc.windows {
			f.AddWindow(w)
		}
		got := f.Result().Fetch
		if math.Abs(got.RecordsPerSecond-tc.want) > 0.005*tc.want || math.Abs(got.MiBPerSecond*mib-10*got.RecordsPerSecond) > 1e-6 {
			t.Errorf("%s: %g records a second, want %g", name, got.RecordsPerSecond, tc.want)
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
	if rise, still := r.Rising(); !still || rise.First != 259_000 || rise.WarmupSeconds != 3 {
		t.Errorf("%+v, %v: want it to rise from 259000, and a warm-up of 3 s", rise, still)
	}
	for name, r := range map[string]Result{
		"an even one":              loaded(0, func(int) int64 { return 500_000 }, 9),
		"one that wavers":          loaded(0, func(i int) int64 { return 500_000 + int64(i%3)*40_000 }, 9),
		"one that rose at first":   loaded(0, func(i int) int64 { return min(int64(i+1)*200_000, 600_000) }, 9),
		"one with a target":        loaded(1000, func(i int) int64 { return int64(i+1) * 1000 }, 9),
		"one of a second":          loaded(0, func(int) int64 { return 500_000 }, 1),
		"one in which nothing was": loaded(0, func(int) int64 { return 0 }, 3),
	} {
		if rise, still := r.Rising(); still {
			t.Errorf("%s: %+v", name, rise)
		}
	}
}
