package result

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// steadied returns the stability of a run whose rate at each second is that of rate.
func steadied(h Header, seconds int, rate func(s int) float64) *Stability {
	f, rng := NewFold(h), rand.New(rand.NewPCG(1, 2))
	for s := range seconds {
		n := int64(rate(s) * (1 + 0.01*rng.NormFloat64()))
		w := stats.Window{
			Start: time.Duration(s) * time.Second, End: time.Duration(s+1) * time.Second, Offered: n, Acknowledged: n,
			FirstDue: time.Duration(s) * time.Second, LastSent: time.Duration(s+1) * time.Second, LastAck: time.Duration(s+1) * time.Second,
		}
		w.Warmup = w.End <= h.Plan.Load.Warmup.Duration.Std()
		f.AddWindow(w)
		f.AddSample(host.Sample{At: w.End, Interval: time.Second})
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result().Stability
}

func TestAResultSaysWhetherItsRateWasSteady(t *testing.T) {
	const n = 1e5
	warm := header(0)
	warm.Plan.Load.Warmup.Duration = plan.Duration(10 * time.Second)
	staged := header(0)
	staged.Plan.Load.Rate, _ = plan.ParseTarget("100k@30s,200k@30s")
	paused := header(0)
	paused.Plan.Load.Rate, _ = plan.ParseTarget("100k@30s,0@15s,100k@30s")
	step := func(at int, before, after float64) func(int) float64 {
		return func(s int) float64 {
			if s < at {
				return before
			}
			return after
		}
	}
	for _, tc := range []struct {
		name    string
		header  Header
		seconds int
		rate    func(int) float64
		want    inference.Label
		warmup  float64 // about
	}{
		{"even", header(0), 60, step(0, n, n), inference.Flat, 0},
		{"slow at first", header(0), 120, step(20, n/2, n), inference.WarmUp, 20},
		{"slow at first, after a warm-up", warm, 120, step(30, n/2, n), inference.WarmUp, 30},
		{"slower later", header(0), 120, step(60, n, 0.8*n), inference.Slowdown, 60},
		{"rising to the end", header(0), 60, func(s int) float64 { return n * (1 + float64(s)/60) }, inference.None, 0},
		{"as its stages tell", staged, 60, step(30, n, 2*n), inference.Flat, 0},
		{"with a pause between two stages", paused, 75, func(s int) float64 { return paused.Plan.Schedule().Rate(time.Duration(s) * time.Second) }, inference.Flat, 0},
		{"three hours of even rate", header(0), 3 * 3600, step(0, n, n), inference.Flat, 0},
		{"three hours with a slow first one", header(0), 3 * 3600, step(3600, n/2, n), inference.WarmUp, 3600},
	} {
		s := steadied(tc.header, tc.seconds, tc.rate)
		if s == nil || s.Label != tc.want || math.Abs(s.WarmupSeconds-tc.warmup) > 5 {
			t.Errorf("%s: %+v, want %s after %v s", tc.name, s, tc.want, tc.warmup)
		}
	}
	if s := steadied(paused, 75, func(s int) float64 { return paused.Plan.Schedule().Rate(time.Duration(s) * time.Second) }); s == nil || s.MeansSeconds != 5 {
		t.Errorf("with a pause: %+v, want means of 5 s", s)
	}
	if s := steadied(header(0), 20, step(0, n, n)); s != nil {
		t.Errorf("20 s have the stability %+v", s)
	}
}

func TestTheMeansOfALongRunAreOfItsPoints(t *testing.T) {
	for seconds, want := range map[int]float64{60: 5, 3600: 5, 3601: 10, 4*3600 - 100: 20, 24 * 3600: 160} {
		if s := steadied(header(0), seconds, func(int) float64 { return 1e5 }); s == nil || s.MeansSeconds != want {
			t.Errorf("%d s: %+v, want means of %v s", seconds, s, want)
		}
	}
}
