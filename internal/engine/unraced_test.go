//go:build !race

package engine

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// The race detector has seen what these run in the other tests, and takes several times as long.

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
			_, got := mustRun(t.Context(), t, p, &fake{latency: c.latency}, Options{NewSleeper: func() (func(time.Duration), func() error) {
				return func(d time.Duration) { sleeps.Add(1); time.Sleep(d) }, func() error { return nil }
			}})
			w := got.total[stats.Measured]
			p50 := w.OwnSendDelay.ValueAtQuantile(0.5)
			must.True(t, p50 <= c.delay, "own send delay p50 is %v, want %v at most", p50, c.delay)
			const first = 16_800 // in the warm-up nothing is known yet
			n := sleeps.Load()
			must.True(t, n <= c.sleeps/4+min(first, int64(c.rate)+100), "the senders slept %d times, want %d a second at most", n, c.sleeps)
		})
	}
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
				must.True(t, within(got[i], age-2*ms, 4*ms), "second %d: the oldest record has waited for %v, want about %v", i+1, got[i], age)
			}
		})
	}
}

func TestEachRecordIsDueByTheRateOfItsTimeInEveryShard(t *testing.T) {
	list := []asked{{1210 * time.Millisecond, 1100}, {2 * time.Second, 330}, {2010 * time.Millisecond, 5000}, {4199 * time.Millisecond, 70}}
	want := plan.NewSchedule(1000).Change(1300*time.Millisecond, 1100).Change(2100*time.Millisecond, 330).
		Change(2100*time.Millisecond+1, 5000).Change(4300*time.Millisecond, 70)
	for _, tc := range []struct {
		name   string
		fake   fake
		shards int
		o      Options
	}{
		{"one", fake{}, 1, Options{}},
		{"five", fake{latency: 3 * time.Millisecond}, 5, Options{}},
		{"many at once", fake{most: 100}, 3, Options{}},
		{"late", fake{stall: [2]time.Duration{time.Second, 3500 * time.Millisecond}}, 2, Options{BufferRecords: 64}},
		{"late and many at once", fake{most: 100, stall: [2]time.Duration{time.Second, 3500 * time.Millisecond}}, 2, Options{BufferRecords: 64}},
		{"asleep", fake{}, 200, Options{}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			p := producing(plan.Load{Rate: perSecond(1000), Duration: seconds(6)})
			p.Producers = tc.shards
			_, c := mustRun(t.Context(), t, p, &tc.fake, ask(tc.o, list...))
			records := int64(0)
			for i, w := range tc.fake.workers {
				for _, op := range w.took {
					records += int64(op.records)
					first, last := want.Due(float64(op.index)*float64(tc.shards)+float64(i)), want.Due(float64(op.index+int64(op.records)-1)*float64(tc.shards)+float64(i))
					if d := op.due - first; d < -1 || d > 1 || op.last-last < -1 || op.last-last > 1 || op.sent < op.due {
						t.Fatalf("records %d to %d of shard %d: due at %v to %v and sent at %v, want %v to %v", op.index, op.index+int64(op.records)-1, i, op.due, op.last, op.sent, first, last)
					}
				}
			}
			if total := int64(want.Position(6*time.Second) + 1e-4); records != total || c.total[stats.Measured].Offered != total {
				t.Errorf("%d records were handed over and %d counted, want %d", records, c.total[stats.Measured].Offered, total)
			}
			var at []string
			for _, e := range c.changes() {
				at = append(at, fmt.Sprintf("%v: %g to %g", e.At, e.OldRate, e.NewRate))
			}
			want := []string{"1.3s: 1000 to 1100", "2.1s: 1100 to 330", "2.100000001s: 330 to 5000", "4.3s: 5000 to 70"}
			must.True(t, slices.Equal(at, want), "changes %q, want %q", at, want)
		})
	}
}

func TestNoTimeIsMeasuredBeforeTheFirstMeasuredRecord(t *testing.T) {
	warm := plan.Warmup{Duration: seconds(1)}
	for name, tc := range map[string]struct {
		plan plan.Plan
		d    Drivers
	}{
		"a rate":           {producing(plan.Load{Rate: perSecond(2000), Duration: seconds(3), Warmup: warm}), Drivers{Send: &fake{latency: 3 * time.Millisecond}}},
		"a low rate":       {producing(plan.Load{Rate: perSecond(0.4), Duration: seconds(6), Warmup: warm}), Drivers{Send: &fake{}}},
		"some records":     {producing(plan.Load{Rate: perSecond(10), Duration: seconds(3), Warmup: plan.Warmup{Records: 10}}), Drivers{Send: &fake{}}},
		"an unlimited one": {producing(plan.Load{Duration: seconds(2), Warmup: warm}), Drivers{Send: &fake{latency: time.Millisecond}}},
		"readers":          {consuming(plan.Load{Duration: seconds(3), Warmup: warm}, plan.Read{Consumers: 2}), Drivers{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, d := &collector{}, tc.d
			if d.Send == nil {
				d.Read = newLog(1000, 1e6)
			}
			must.Have(Run(t.Context(), tc.plan, d, Options{BufferRecords: 100}, c))(t)
			for _, windows := range c.calls {
				for _, w := range windows {
					began := w.Offered+w.Consumed > 0 || c.total[stats.Measured].FirstDue+c.total[stats.Measured].FirstRead < w.Start
					must.True(t, w.Warmup || began || w.ShardTime+w.ReadTime <= 0,
						"%s: the measured window from %v has %v of sending and %v of reading, and no record", name, w.Start, w.ShardTime, w.ReadTime)
				}
			}
		})
	}
}

func TestAFixedRateHandsOverEachRecordWhenItIsDue(t *testing.T) {
	for _, tc := range []struct {
		rate, seconds float64
		shards        int
	}{{1, 30, 1}, {999, 10, 1}, {50_000, 2, 1}, {50_000, 0.2, 4}} {
		inBubble(t, fmt.Sprintf("%v records a second in %d shards", tc.rate, tc.shards), func(t *testing.T) {
			f := &fake{latency: 3 * time.Millisecond, saw: func(now time.Duration, op *Op) {
				late := now - op.Due
				must.True(t, late >= 0 && late <= time.Millisecond, "record %d, due at %v, was handed over at %v", op.Index, op.Due, now)
				must.True(t, now == op.Sent && op.Wall.Sub(op.shard.run.started()) == now,
					"record %d, handed over at %v, is stamped %v and %v", op.Index, now, op.Sent, op.Wall)
			}}
			p := producing(plan.Load{Rate: perSecond(tc.rate), Duration: seconds(tc.seconds)})
			p.Producers = tc.shards
			end, c := mustRun(t.Context(), t, p, f, Options{})
			m := &c.total[stats.Measured]
			if want := int64(tc.rate * tc.seconds); m.Offered != want || m.Acknowledged != want || m.Unsent != 0 {
				t.Errorf("offered %d, acknowledged %d, unsent %d; want %d, all acknowledged", m.Offered, m.Acknowledged, m.Unsent, want)
			}
			if last := time.Duration((tc.seconds - 1/tc.rate) * 1e9); m.FirstDue != 0 || !within(m.LastSent, last, time.Millisecond) {
				t.Errorf("sent from %v to %v, want 0 to %v", m.FirstDue, m.LastSent, last)
			}
			must.True(t, m.Service.Min() == f.latency && m.Service.Max() == f.latency && m.Response.Max() <= f.latency+time.Millisecond,
				"service %v to %v, response up to %v; want %v and a tick more", m.Service.Min(), m.Service.Max(), m.Response.Max(), f.latency)
			if m.OwnSendDelay.Count() != m.Offered || m.OwnSendDelay.Max() > time.Millisecond || m.BufferFull != 0 {
				t.Errorf("%d own send delays up to %v, buffer full for %v; want %d up to 1ms, 0", m.OwnSendDelay.Count(), m.OwnSendDelay.Max(), m.BufferFull, m.Offered)
			}
			must.True(t, !end.Stopped && !end.TimedOut && within(end.Elapsed, m.LastSent, f.latency),
				"it ended with %+v, want soon after %v", end, m.LastSent)
		})
	}
}
