package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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
					if !ok || i == 0 && due != op.due || i == op.records-1 && due != op.last {
						t.Fatalf("record %d of %+v is due at %v", i, op, due)
					}
				}
				offered += int64(op.records)
				sum += time.Duration(op.records) * (op.sent - op.due)
			}
			m := &c.total[stats.Measured]
			if m.Offered != offered || m.Acknowledged != offered || len(f.workers[0].took) > 60 {
				t.Errorf("offered %d, acknowledged %d, in %d ops with %d; want few ops and all records", m.Offered, m.Acknowledged, len(f.workers[0].took), offered)
			}
			if got, want := m.SendDelay.Mean(), sum/time.Duration(offered); (got - want).Abs() > time.Microsecond {
				t.Errorf("mean send delay %v, want %v: all records count from the first", got, want)
			}
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
