package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// TestShardsTellEachOtherOfAnswersOnceAMillisecond answers and fails records that were all
// sent at 0, in two shards.
func TestShardsTellEachOtherOfAnswersOnceAMillisecond(t *testing.T) {
	const us = time.Microsecond
	a := nullShard(plan.Load{})
	b := newShard(a.run, 1)
	for _, step := range []struct {
		shard *Shard
		at    time.Duration
		gap   stats.Gap // that the shard counts then
	}{
		{a, 10_000 * us, stats.Gap{Length: 10_000 * us}},
		{a, 10_900 * us, stats.Gap{}},                                       // nobody else is told
		{b, 16_000 * us, stats.Gap{From: 10_000 * us, Length: 6000 * us}},   // it may be 1 ms too long
		{a, 28_000 * us, stats.Gap{From: 16_000 * us, Length: 12_000 * us}}, // b told
		{b, 41_000 * us, stats.Gap{From: 28_000 * us, Length: 13_000 * us}},
		{b, 41_900 * us, stats.Gap{}},
		{b, 55_900 * us, stats.Gap{From: 41_900 * us, Length: 14_000 * us}}, // its own answers are known exactly
	} {
		op := step.shard.oneOp()
		op.Acknowledge(0, step.at)
		if got := step.shard.rec.Take(new(stats.Phases), stats.Measured, 0, 0, 0)[stats.Measured].Outage; got != step.gap {
			t.Errorf("at %v: outage %+v, want %+v", step.at, got, step.gap)
		}
	}
}

func TestTheFirstSuccessIsToldAtOnce(t *testing.T) {
	a := nullShard(plan.Load{})
	b := newShard(a.run, 1)
	a.oneOp().Acknowledge(0, 100*time.Millisecond)
	b.oneOp().Fail(0, "X")
	a.oneOp().Acknowledge(0, 100*time.Millisecond+time.Microsecond)
	a.run.setStage(Finished)
	var kinds []stats.EventKind
	for _, e := range a.run.takeBeside(0, time.Second).Events {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []stats.EventKind{stats.FirstError, stats.FirstSuccess}) {
		t.Errorf("events %v, want the first error and the first success", kinds)
	}
}

func TestATimeForWhichABrokerThrottlesIsNoGap(t *testing.T) {
	for _, tc := range []struct {
		throttled time.Duration
		want      time.Duration
	}{{0, 4 * time.Second}, {3 * time.Second, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			said := false
			f := &fake{stall: [2]time.Duration{2 * time.Second, 6 * time.Second}}
			f.saw = func(now time.Duration, op *Op) {
				if !said && now >= 2*time.Second {
					said = true
					op.shard.Throttled(1, tc.throttled)
				}
			}
			_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(8)}), f, Options{})
			if got := c.total[stats.Measured].Outage.Length; !within(got, tc.want-20*time.Millisecond, 40*time.Millisecond) {
				t.Errorf("throttled for %v of 4s without an answer: a gap of %v, want %v", tc.throttled, got, tc.want)
			}
		})
	}
}

func TestAnswersThatTellOfOneWaitAddNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := nullShard(plan.Load{})
		for _, tc := range []struct {
			after        time.Duration
			broker       int32
			length, want time.Duration
		}{{0, 1, 4, 4}, {0, 1, 4, 0}, {1, 1, 2, 0}, {0, 2, 2, 2}, {1, 1, 5, 3}, {9, 1, 1, 1}} {
			time.Sleep(tc.after * time.Second)
			if got := s.Throttled(tc.broker, tc.length*time.Second); got != tc.want*time.Second {
				t.Errorf("%+v: %v are new, want %v s", tc, got, int64(tc.want))
			}
		}
	})
}

func TestAPauseOfKtIsCountedAndAnEvent(t *testing.T) {
	var b beside
	b.tick(0, 150*time.Millisecond)
	if b.tick(time.Second, 4*time.Second); b.paused != 3*time.Second || len(b.found.Events) != 1 || b.found.Events[0].At != time.Second {
		t.Errorf("paused for %v, events %v; want 3s, and one event at 1s", b.paused, b.found.Events)
	}
}

// A client is looked at each half second, and throttled for the time of a stall.
func TestASystemThatIsLookedAtThrottlesAsABrokerThatSaysSo(t *testing.T) {
	for _, reasons := range [][]string{nil, {"a limit"}, {"a limit", "another limit"}} { // of looks by turns
		throttles := reasons != nil
		synctest.Test(t, func(t *testing.T) {
			const from, to = 2 * time.Second, 6 * time.Second
			looks := 0
			f := &fake{stall: [2]time.Duration{from, to}}
			f.saw = func(now time.Duration, op *Op) {
				for ; time.Duration(looks+1)*time.Second/2 <= now; looks++ {
					why := ""
					if throttles && now > from && now <= to+time.Second/2 {
						why = reasons[looks%len(reasons)]
					}
					op.shard.LookThrottled(3, why)
				}
			}
			_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(12)}), f, Options{})
			var events []string
			for _, e := range c.total[stats.Measured].Events {
				if e.Kind == stats.AlarmOn || e.Kind == stats.AlarmOff {
					events = append(events, e.Text)
				}
			}
			throttled, gap, want := c.total[stats.Measured].Brokers[3].Throttle, c.total[stats.Measured].Outage.Length, []string(nil)
			if throttles {
				for _, why := range reasons {
					want = append(want, stats.KtIsThrottled+why)
				}
				want = append(want, "kt is not throttled any more")
			}
			if !slices.Equal(events, want) || throttles != within(throttled, to-from, time.Second) || throttles != (gap < time.Second) {
				t.Errorf("throttles %v: counted %v, a gap of %v, events %q", throttles, throttled, gap, events)
			}
		})
	}
}
