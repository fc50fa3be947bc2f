package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// oversleeper sleeps too long.
type oversleeper struct {
	by     time.Duration
	closed *atomic.Int32
}

func (s oversleeper) Sleep(d time.Duration) { time.Sleep(d + s.by) }

func (s oversleeper) Close() error {
	s.closed.Add(1)
	return nil
}

func TestEachSenderSleepsWithASleeperOfItsOwnAndClosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made, closed atomic.Int32
		o := Options{NewSleeper: func() Sleeper {
			made.Add(1)
			return oversleeper{3 * time.Millisecond, &closed}
		}}
		p := producing(plan.Load{Rate: perSecond(2000), Duration: seconds(2)})
		p.Producers = 2
		_, c := mustRun(t.Context(), t, p, &fake{}, o)
		if made.Load() != 2 || closed.Load() != 2 {
			t.Errorf("%d sleepers were made and %d closed, want 2 of each", made.Load(), closed.Load())
		}
		for _, w := range c.total {
			if most := w.OwnSendDelay.Max(); w.Offered > 0 && !within(most, 3*time.Millisecond, time.Millisecond) {
				t.Errorf("own send delay up to %v, want that of the sleeper: 3 to 4ms", most)
			}
		}
	})
}

// counting sleeps as asked, and counts.
type counting struct{ sleeps *atomic.Int64 }

func (s counting) Sleep(d time.Duration) { s.sleeps.Add(1); time.Sleep(d) }

func (counting) Close() error { return nil }

func TestASenderSleepsForATenthOfTheServiceTimeAtMost(t *testing.T) {
	for _, c := range []struct {
		name      string
		rate      float64
		producers int
		latency   time.Duration
		delay     time.Duration // at most, of the median
		sleeps    int64         // a second, at most
	}{
		{"a fast broker: 60 µs", 20_000, 1, 300 * time.Microsecond, 60 * time.Microsecond, 16_800},
		{"a broker that takes 2 ms: 160 µs", 20_000, 1, 2 * time.Millisecond, 120 * time.Microsecond, 6_400},
		{"a slow broker: 1 ms", 20_000, 1, 50 * time.Millisecond, 550 * time.Microsecond, 1_100},
		{"many producers together wake no more often than one", 20_000, 8, 300 * time.Microsecond, 600 * time.Microsecond, 16_800},
		{"a high rate needs full requests: 300 µs", 300_000, 1, 300 * time.Microsecond, 300 * time.Microsecond, 3_400},
		{"a slow rate sleeps until the next record", 100, 1, time.Millisecond, 0, 110},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			var sleeps atomic.Int64
			p := producing(plan.Load{Rate: perSecond(c.rate), Duration: seconds(1.25), Warmup: plan.Warmup{Duration: seconds(1)}})
			p.Producers = c.producers
			_, got := mustRun(t.Context(), t, p, &fake{latency: c.latency}, Options{NewSleeper: func() Sleeper { return counting{&sleeps} }})
			w := got.total[stats.Measured]
			if p50 := w.OwnSendDelay.ValueAtQuantile(0.5); p50 > c.delay {
				t.Errorf("own send delay p50 is %v, want %v at most", p50, c.delay)
			}
			const first = 16_800 // in the warm-up nothing is known yet
			if n := sleeps.Load(); n > c.sleeps/4+min(first, int64(c.rate)+100) {
				t.Errorf("the senders slept %d times, want %d a second at most", n, c.sleeps)
			}
		})
	}
}
