package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// slow is a Do that takes so long that records queue up behind it.
func slow(*Op) time.Duration { return 95 * time.Millisecond }

func TestAnOpTakesTheRecordsThatAreDueByThen(t *testing.T) {
	for _, arrivals := range []plan.Arrivals{plan.Uniform, plan.Poisson} {
		inBubble(t, string(arrivals), func(t *testing.T) {
			load := plan.Load{Rate: perSecond(1000), Duration: seconds(5), Arrivals: arrivals}
			p := producing(load)
			f := &fake{most: 500, holdUp: slow, latency: 3 * time.Millisecond}
			_, c := mustRun(t.Context(), t, p, f, Options{})
			pacer := load.Pacer(0, 1, 100, 0)
			var offered int64
			sum := time.Duration(0) // of the send delays, from the first record of each op
			for _, op := range f.workers[0].took {
				for i := range op.records {
					due, ok := pacer.Next()
					must.Hold(t, ok && (i != 0 || due == op.due) && (i != op.records-1 || due == op.last),
						"record %d of %+v is due at %v", i, op, due)
				}
				offered += int64(op.records)
				sum += time.Duration(op.records) * (op.sent - op.due)
			}
			m := &c.total[stats.Measured]
			if m.Offered != offered || m.Acknowledged != offered || len(f.workers[0].took) > 60 {
				t.Errorf("offered %d, acknowledged %d, in %d ops with %d; want few ops and all records", m.Offered, m.Acknowledged, len(f.workers[0].took), offered)
			}
			got, want := m.SendDelay.Mean(), sum/time.Duration(offered)
			must.True(t, (got-want).Abs() <= time.Microsecond, "mean send delay %v, want %v: all records count from the first", got, want)
			if parts := m.Partitions; parts[0].Records+parts[1].Records+parts[2].Records != offered || m.Service.Count() != offered {
				t.Errorf("%+v and %d service times, want %d records", parts, m.Service.Count(), offered)
			}
		})
	}
}

func TestEveryRecordOfAnOpIsAccountedForHoweverTheRunEnds(t *testing.T) {
	for _, tc := range []struct {
		name                        string
		fake                        fake
		load                        plan.Load
		o                           Options
		stopAt                      time.Duration // 0: not at all
		acked, failed, unknown, all int64
	}{
		{name: "the load is over", load: plan.Load{Rate: perSecond(1000), Duration: seconds(2)}, acked: 2000, all: 2000},
		{name: "as many records as wanted", load: plan.Load{Records: 5003}, acked: 5003, all: 5003},
		{name: "every op fails", fake: fake{fails: func(*Op) string { return "X" }}, load: plan.Load{Records: 5003}, failed: 5003, all: 5003},
		{
			name: "the brokers never answer", fake: fake{silent: true}, load: plan.Load{Rate: perSecond(1000), Duration: seconds(2)},
			o: Options{DrainTimeout: time.Second}, unknown: 2000, all: 2000,
		},
		{
			name: "a full buffer keeps most records from being sent", fake: fake{silent: true}, load: plan.Load{Rate: perSecond(1000), Duration: seconds(2)},
			o: Options{BufferRecords: 333, DrainTimeout: time.Second}, unknown: 333, all: 2000,
		},
		{
			name: "it is stopped while the buffer is full", fake: fake{silent: true}, load: plan.Load{Rate: perSecond(1000), Duration: seconds(2)},
			o: Options{BufferRecords: 333, StopTimeout: time.Second}, stopAt: 1500 * time.Millisecond, unknown: 333, all: 1501,
		},
	} {
		for _, holdUp := range []func(*Op) time.Duration{nil, slow} {
			inBubble(t, fmt.Sprintf("%s, held up: %v", tc.name, holdUp != nil), func(t *testing.T) {
				f, o := tc.fake, tc.o
				f.most, f.holdUp = 64, holdUp
				if tc.stopAt > 0 {
					o.Stop = after(tc.stopAt)
				}
				_, c := mustRun(t.Context(), t, producing(tc.load), &f, o)
				m := &c.total[stats.Measured]
				if m.Acknowledged+m.Unsent < tc.acked || m.Failed != tc.failed || m.Unknown > tc.unknown || m.Offered+m.Unsent != tc.all {
					t.Errorf("offered %d, acknowledged %d, failed %d, unknown %d, unsent %d; want %d, %d, %d of %d",
						m.Offered, m.Acknowledged, m.Failed, m.Unknown, m.Unsent, tc.acked, tc.failed, tc.unknown, tc.all)
				}
			})
		}
	}
}

func TestNoOpSpansTheEndOfTheWarmup(t *testing.T) {
	for _, tc := range []struct {
		name   string
		load   plan.Load
		warmup int64
	}{
		{"by time", plan.Load{Rate: perSecond(1000), Duration: seconds(5), Warmup: plan.Warmup{Duration: seconds(2.0335)}}, 2034},
		{"by records", plan.Load{Rate: perSecond(1000), Duration: seconds(5), Warmup: plan.Warmup{Records: 1234}}, 1234},
		{"by records, without a target", plan.Load{Records: 5000, Warmup: plan.Warmup{Records: 1234}}, 1234},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			_, c := mustRun(t.Context(), t, producing(tc.load), &fake{most: 500, holdUp: slow}, Options{})
			if w, m := c.total[stats.Warmup], c.total[stats.Measured]; w.Offered != tc.warmup || w.Offered+m.Offered != 5000 || m.FirstDue < w.LastDue {
				t.Errorf("%d warm-up records until %v and %d measured from %v, want %d of 5000", w.Offered, w.LastDue, m.Offered, m.FirstDue, tc.warmup)
			}
		})
	}
}

func TestTheBufferIsBoundedInRecordsWhateverAnOpHolds(t *testing.T) {
	for _, tc := range []struct{ most, buffer int }{{1, 10}, {7, 10}, {10, 10}, {64, 10}, {64, 1000}, {300, 1000}} {
		inBubble(t, fmt.Sprintf("ops of %d, %d records", tc.most, tc.buffer), func(t *testing.T) {
			f := &fake{most: tc.most, latency: 50 * time.Millisecond}
			_, c := mustRun(t.Context(), t, producing(plan.Load{Records: 5000}), f, Options{BufferRecords: tc.buffer})
			if w := f.workers[0]; w.mostRecords != tc.buffer || c.total[stats.Measured].Acknowledged != 5000 {
				t.Errorf("%d outstanding at most, %d acknowledged; want %d, 5000", w.mostRecords, c.total[stats.Measured].Acknowledged, tc.buffer)
			}
		})
	}
}

func TestAnOpThatFindsNoRoomFailsWithAllItsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{BufferRecords: 100, MaxBlock: 450 * time.Millisecond, DrainTimeout: time.Second}
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(1000), Duration: seconds(2)}), &fake{silent: true, most: 64}, o)
		m := &c.total[stats.Measured]
		if m.Unknown != 100 || m.Failed != 4*64 || m.Errors[errBufferFull] != m.Failed || m.Offered+m.Unsent != 2000 {
			t.Errorf("offered %d, failed %d (%v), unknown %d, unsent %d; want 100 unknown, 4 ops of 64 failed", m.Offered, m.Failed, m.Errors, m.Unknown, m.Unsent)
		}
	})
}

// TestShardsTellEachOtherOfAnswersOnceAMillisecond answers and fails records that were all
// sent at 0, in two shards.
func TestShardsTellEachOtherOfAnswersOnceAMillisecond(t *testing.T) {
	const us = time.Microsecond
	a := nullShard(plan.Load{})
	b := a.run.alone(1)
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
		must.Match(t, step.gap, step.shard.rec.Take(new(stats.Phases), 0, 0)[stats.Measured].Outage, "at %v: outage", step.at)
	}
}

func TestTheFirstSuccessIsToldAtOnce(t *testing.T) {
	a := nullShard(plan.Load{})
	b := a.run.alone(1)
	a.oneOp().Acknowledge(0, 100*time.Millisecond)
	b.oneOp().Fail(0, "X")
	a.oneOp().Acknowledge(0, 100*time.Millisecond+time.Microsecond)
	a.run.setStage(Finished)
	var kinds []stats.EventKind
	for _, e := range a.run.takeBeside(0, time.Second).Events {
		kinds = append(kinds, e.Kind)
	}
	must.True(t, slices.Equal(kinds, []stats.EventKind{stats.FirstError, stats.FirstSuccess}),
		"events %v, want the first error and the first success", kinds)
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
			got := s.Throttled(tc.broker, tc.length*time.Second)
			must.True(t, got == tc.want*time.Second, "%+v: %v are new, want %v s", tc, got, int64(tc.want))
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
			must.True(t, slices.Equal(events, want) && throttles == within(throttled, to-from, time.Second) && throttles == (gap < time.Second),
				"throttles %v: counted %v, a gap of %v, events %q", throttles, throttled, gap, events)
		})
	}
}
