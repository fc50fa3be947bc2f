package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// oldest is the age of the oldest record without an outcome, window by window.
func (c *collector) oldest() []time.Duration {
	var ages []time.Duration
	for _, windows := range c.calls {
		var age time.Duration
		for _, w := range windows {
			age = max(age, w.Oldest)
		}
		ages = append(ages, age)
	}
	return ages
}

func TestTheAgeOfTheOldestRecordGrowsWhileNothingIsAnswered(t *testing.T) {
	const ms = time.Millisecond
	stall := [2]time.Duration{2500 * ms, 6200 * ms}
	want := []time.Duration{ms, ms, 500 * ms, 1500 * ms, 2500 * ms, 3500 * ms, ms, ms}
	for _, tc := range []struct {
		name string
		load plan.Load
		o    Options
	}{
		{"at a fixed rate", plan.Load{Rate: perSecond(1000), Duration: seconds(8)}, Options{}},
		{"at a fixed rate, while the sender waits for room", plan.Load{Rate: perSecond(1000), Duration: seconds(8)}, Options{BufferRecords: 50}},
		{"through the end of the warm-up", plan.Load{Rate: perSecond(1000), Duration: seconds(8), Warmup: plan.Warmup{Duration: seconds(4)}}, Options{}},
		{"at an unlimited rate", plan.Load{Duration: seconds(8)}, Options{BufferRecords: 50}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			_, c := mustRun(t.Context(), t, producing(tc.load), &fake{latency: ms, stall: stall}, tc.o)
			got := c.oldest()
			for i, age := range want {
				if !within(got[i], age-2*ms, 4*ms) {
					t.Errorf("second %d: the oldest record has waited for %v, want about %v", i+1, got[i], age)
				}
			}
		})
	}
}

func TestARecordThatTheSenderStillHoldsHasAnAgeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{holdUp: func(op *Op) time.Duration {
			if op.Index == 5 {
				return 2200 * time.Millisecond
			}
			return 0
		}}
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(10), Duration: seconds(4)}), f, Options{})
		if got := c.oldest(); !within(got[1], 1500*time.Millisecond, time.Millisecond) {
			t.Errorf("the record that was due at 0.5 s has waited for %v at 2 s, want 1.5s", got[1])
		}
	})
}

func TestNoRecordIsOldOnceAllHaveTheirOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(2)}), &fake{silent: true},
			Options{DrainTimeout: 3500 * time.Millisecond})
		got := c.oldest()
		for i, age := range got[:len(got)-1] {
			if want := time.Duration(i+1) * time.Second; age != want {
				t.Errorf("second %d: the oldest record has waited for %v, want %v", i+1, age, want)
			}
		}
		if last := got[len(got)-1]; last != 0 || c.all().Unknown != 200 {
			t.Errorf("at the end %d records are given up, and one still waits for %v", c.all().Unknown, last)
		}
	})
}

func TestTheOldestRecordIsKnownBetweenTwoWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var status Status
		if _, _, waits := status.Oldest(); waits {
			t.Error("a record waits before the run")
		}
		f := &fake{latency: time.Millisecond, stall: [2]time.Duration{1200 * time.Millisecond, 1900 * time.Millisecond}}
		type look struct {
			since, now time.Duration
			waits      bool
		}
		var looks []look
		go func() {
			for range 20 {
				time.Sleep(99_900 * time.Microsecond)
				since, now, waits := status.Oldest()
				looks = append(looks, look{since, now, waits})
			}
		}()
		p := producing(plan.Load{Rate: perSecond(1000), Duration: seconds(3)})
		p.Producers = 2
		mustRun(t.Context(), t, p, f, Options{Status: &status})
		for i, l := range looks {
			stalled := l.now > f.stall[0] && l.now < f.stall[1]
			switch {
			case stalled && (!l.waits || !within(l.since, 1197*time.Millisecond, 3*time.Millisecond)):
				t.Errorf("look %d at %v: %v since %v, want since 1.2s", i, l.now, l.waits, l.since)
			case !stalled && l.waits && l.now-l.since > 3*time.Millisecond:
				t.Errorf("look %d at %v: a record waits since %v", i, l.now, l.since)
			}
		}
		if since, _, waits := status.Oldest(); waits {
			t.Errorf("after the run a record waits since %v", since)
		}
	})
}

// BenchmarkOldest is what a look at the oldest record costs the shard: it holds the lock.
func BenchmarkOldest(b *testing.B) {
	s := nullShard(plan.Load{Rate: behind, Records: 1})
	s.worker = &nullWorker{shard: s, batch: make([]*Op, 0, DefaultBufferRecords)}
	s.pacer = &counted{left: DefaultBufferRecords - 1}
	s.send()
	for b.Loop() {
		if s.mu.Lock(); s.oldest() == never {
			b.Fatal("none waits")
		}
		s.mu.Unlock()
	}
}
