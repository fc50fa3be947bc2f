package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/plan"
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
