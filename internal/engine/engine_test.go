package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// after is closed when d has passed.
func after(d time.Duration) <-chan struct{} {
	ch := make(chan struct{})
	time.AfterFunc(d, func() { close(ch) })
	return ch
}

// within reports whether got is want, or more by at most by.
func within(got, want, by time.Duration) bool { return got >= want && got <= want+by }

func TestEachWindowHoldsTheRecordsOfItsSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(200), Duration: seconds(4)}), &fake{}, Options{})
		for i, windows := range c.calls[:4] {
			// A record that is due on the second may fall to either side.
			n := windows[0].Acknowledged
			must.True(t, n >= 199 && n <= 201, "second %d: %d acknowledged, want 200", i, n)
		}
	})
}

func TestAStallShowsInResponseAtFullWeightAndIsNotBlamedOnKt(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
	}{
		{"the buffer takes 50 records", Options{BufferRecords: 50}},
		{"the buffer takes the bytes of 50 records", Options{BufferBytes: 5000}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			f := &fake{latency: time.Millisecond, stall: [2]time.Duration{3 * time.Second, 5 * time.Second}}
			_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(1000), Duration: seconds(10)}), f, tc.o)
			m := &c.total[stats.Measured]
			must.Hold(t, m.Acknowledged == 10_000 && m.Unsent == 0, "acknowledged %d, unsent %d; want 10000, 0", m.Acknowledged, m.Unsent)
			if !within(m.Response.Max(), 1999*time.Millisecond, 5*time.Millisecond) || !within(m.Response.ValueAtQuantile(0.999), 1980*time.Millisecond, 20*time.Millisecond) {
				t.Errorf("response p99.9 %v, max %v; want the 2s of the stall", m.Response.ValueAtQuantile(0.999), m.Response.Max())
			}
			// One record in five was due during the stall, evenly spread over it.
			p90 := m.Response.ValueAtQuantile(0.90)
			must.True(t, within(p90, 950*time.Millisecond, 150*time.Millisecond), "response p90 %v, want about 1s: half of the stall", p90)
			// Only the 50 that filled the buffer know of it from their service time.
			p99 := m.Service.ValueAtQuantile(0.99)
			must.True(t, p99 <= 2*time.Millisecond, "service p99 %v: this driver hides the stall from all but 50 records", p99)
			if m.OwnSendDelay.Max() > time.Millisecond || m.OwnSendDelay.Count() > 8200 || m.SendDelay.Max() < 1900*time.Millisecond {
				t.Errorf("%d own send delays up to %v, send delay up to %v; want about 8000 up to 1ms, 2s", m.OwnSendDelay.Count(), m.OwnSendDelay.Max(), m.SendDelay.Max())
			}
			must.True(t, within(m.BufferFull, 1900*time.Millisecond, 200*time.Millisecond),
				"the buffer was full for %v, want about the 2s of the stall", m.BufferFull)
			if w := c.calls[3][0]; w.BufferFull < 900*time.Millisecond || w.BufferFull > time.Second {
				t.Errorf("within the stall's first second the buffer was full for %v", w.BufferFull)
			}
			w := c.calls[4][0]
			must.True(t, w.BufferFull == time.Second, "within the stall's second second the buffer was full for %v", w.BufferFull)
		})
	}
}

func TestSendDelayCountsTheTimeThatTheBrokerHoldsUpTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const commit = 100 * time.Millisecond
		f := &fake{latency: time.Millisecond, holdUp: func(op *Op) time.Duration {
			if op.Index > 0 && op.Index%1000 == 0 {
				return commit
			}
			return 0
		}}
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(1000), Records: 3500}), f, Options{})
		m := &c.total[stats.Measured]
		must.True(t, within(m.SendDelay.Max(), commit, 2*time.Millisecond) && within(m.Response.Max(), commit, 4*time.Millisecond),
			"send delay up to %v, response up to %v; want %v and a little", m.SendDelay.Max(), m.Response.Max(), commit)
		must.True(t, m.OwnSendDelay.Max() <= time.Millisecond && m.Service.Max() <= time.Millisecond,
			"own send delay up to %v, service up to %v; want 1ms", m.OwnSendDelay.Max(), m.Service.Max())
		held := m.SendDelay.Count() - m.OwnSendDelay.Count()
		must.True(t, held >= 300 && held <= 320, "%d records were held up, want the 100 of each of three commits", held)
	})
}

func TestEveryOfferedRecordIsAccountedForHoweverTheRunEnds(t *testing.T) {
	const never = time.Hour
	for _, tc := range []struct {
		name                            string
		fake                            fake
		o                               Options
		stopAt, cancelAt                time.Duration // 0: not at all
		elapsed                         time.Duration
		offered, acked, unknown, unsent int64
		oldest                          time.Duration
		stopped, timedOut               bool
	}{
		{
			name: "the load is over", fake: fake{latency: 5 * time.Millisecond},
			elapsed: 4995 * time.Millisecond, offered: 500, acked: 500, oldest: 5 * time.Millisecond,
		},
		{
			name: "it is stopped half-way", fake: fake{latency: 5 * time.Millisecond}, stopAt: 2505 * time.Millisecond,
			elapsed: 2510 * time.Millisecond, offered: 251, acked: 251, oldest: 5 * time.Millisecond, stopped: true,
		},
		{
			name: "it is stopped and the brokers never answer", fake: fake{silent: true}, stopAt: 2505 * time.Millisecond, o: Options{StopTimeout: 3 * time.Second},
			elapsed: 5505 * time.Millisecond, offered: 251, unknown: 251, stopped: true, timedOut: true,
		},
		{
			name: "it is cancelled with answers outstanding", fake: fake{latency: never}, cancelAt: 2505 * time.Millisecond,
			elapsed: 2505 * time.Millisecond, offered: 251, unknown: 251, stopped: true, timedOut: true,
		},
		{
			name: "it is cancelled while it drains", fake: fake{latency: never}, cancelAt: 7 * time.Second,
			elapsed: 7 * time.Second, offered: 500, unknown: 500, timedOut: true, stopped: true,
		},
		{
			name: "the brokers never answer", fake: fake{silent: true}, o: Options{DrainTimeout: 7 * time.Second},
			elapsed: 11990 * time.Millisecond, offered: 500, unknown: 500, timedOut: true,
		},
		{
			name: "the brokers answer the first half only", fake: fake{latency: time.Millisecond, stall: [2]time.Duration{2505 * time.Millisecond, never}}, o: Options{DrainTimeout: time.Second},
			elapsed: 5990 * time.Millisecond, offered: 500, acked: 251, unknown: 249, timedOut: true,
		},
		{
			name: "stop comes while it drains and the brokers never answer", fake: fake{silent: true}, stopAt: 7 * time.Second, o: Options{StopTimeout: 3 * time.Second},
			elapsed: 10 * time.Second, offered: 500, unknown: 500, timedOut: true, stopped: true,
		},
		{
			name: "stop comes while it drains and the brokers answer after all", fake: fake{latency: 8 * time.Second}, stopAt: 7 * time.Second,
			elapsed: 12990 * time.Millisecond, offered: 500, acked: 500, oldest: 8 * time.Second, stopped: true,
		},
		{
			name: "a full buffer keeps most records from being sent", fake: fake{silent: true}, o: Options{BufferRecords: 30, DrainTimeout: time.Second},
			elapsed: 6100 * time.Millisecond, offered: 30, unknown: 30, unsent: 470, timedOut: true,
		},
		{
			name: "it is stopped while the buffer is full", fake: fake{silent: true}, o: Options{BufferRecords: 30, StopTimeout: time.Second}, stopAt: 2505 * time.Millisecond,
			elapsed: 3505 * time.Millisecond, offered: 30, unknown: 30, unsent: 221, stopped: true, timedOut: true,
		},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.stopAt > 0 {
				tc.o.Stop = after(tc.stopAt)
			}
			if tc.cancelAt > 0 {
				time.AfterFunc(tc.cancelAt, cancel)
			}
			end, c := mustRun(ctx, t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(5)}), &tc.fake, tc.o)
			m := &c.total[stats.Measured]
			if m.Offered != tc.offered || m.Acknowledged != tc.acked || m.Unknown != tc.unknown || m.Unsent != tc.unsent {
				t.Errorf("offered %d, acknowledged %d, unknown %d, unsent %d; want %d, %d, %d, %d",
					m.Offered, m.Acknowledged, m.Unknown, m.Unsent, tc.offered, tc.acked, tc.unknown, tc.unsent)
			}
			longest := m.Response.Max()
			if m.Unknown+m.Unsent > 0 && longest != stats.Never || m.Unknown+m.Unsent == 0 && !within(longest, tc.oldest, 20*time.Millisecond) || m.Service.Count() != m.Acknowledged {
				t.Errorf("response up to %v, want %v, or never where a record got no answer", longest, tc.oldest)
			}
			// A sender in a short sleep sees the end of it up to 20 ms late.
			if !within(end.Elapsed, tc.elapsed, 20*time.Millisecond) || end.Stopped != tc.stopped || end.TimedOut != tc.timedOut {
				t.Errorf("ended after %v, stopped %v, timed out %v; want %v, %v, %v",
					end.Elapsed, end.Stopped, end.TimedOut, tc.elapsed, tc.stopped, tc.timedOut)
			}
		})
	}
}

func TestFailuresAreCountedByCodeAndRankAboveAllInResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{latency: 7 * time.Millisecond, fails: func(op *Op) string {
			switch op.Index % 10 {
			case 0:
				return "NOT_LEADER_OR_FOLLOWER"
			case 1, 2:
				return "client:CLOSED"
			}
			return ""
		}}
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(1000), Records: 1000}), f, Options{})
		m := &c.total[stats.Measured]
		must.True(t, m.Failed == 300 && m.Errors["NOT_LEADER_OR_FOLLOWER"] == 100 && m.Errors["client:CLOSED"] == 200 && m.Acknowledged == 700,
			"acknowledged %d, failed %d: %v; want 700, 300: 100 and 200", m.Acknowledged, m.Failed, m.Errors)
		if h := &m.Response; h.Count() != 700 || h.Ranked() != 1000 || h.ValueAtQuantile(0.69) != f.latency || h.ValueAtQuantile(0.71) != stats.Never || m.Bytes != 70_000 {
			t.Errorf("%d response times of %d, %v at 69 %% and %v at 71 %%, %d bytes; want 700, 1000, %v, never, 70000",
				h.Count(), h.Ranked(), h.ValueAtQuantile(0.69), h.ValueAtQuantile(0.71), m.Bytes, f.latency)
		}
	})
}

func TestARecordThatFindsNoRoomInTimeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{BufferRecords: 10, MaxBlock: 450 * time.Millisecond, DrainTimeout: time.Second}
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(2)}), &fake{silent: true}, o)
		m := &c.total[stats.Measured]
		// 10 records fill the buffer in 0.1 s; then one gives up each 0.45 s until 2.1 s.
		must.True(t, m.Offered == 14 && m.Failed == 4 && m.Errors["client:BUFFER_EXHAUSTED"] == 4 && m.Unknown == 10 && m.Unsent == 186,
			"offered %d, failed %d (%v), unknown %d, unsent %d; want 14, 4, 10, 186", m.Offered, m.Failed, m.Errors, m.Unknown, m.Unsent)
		must.True(t, m.BufferFull == 2*time.Second, "the buffer was full for %v, want the 2s until the end", m.BufferFull)
		must.True(t, m.OwnSendDelay.Count() == 10, "%d own send delays, want those of the 10 records before", m.OwnSendDelay.Count())
	})
}

func TestWarmupIsDecidedByWhenARecordIsDue(t *testing.T) {
	for _, tc := range []struct {
		name             string
		load             plan.Load
		shards           int
		warmup, measured int64
	}{
		{"by time", plan.Load{Rate: perSecond(1000), Duration: seconds(5), Warmup: plan.Warmup{Duration: seconds(2)}}, 1, 2000, 3000},
		{"by time, in shards", plan.Load{Rate: perSecond(1000), Duration: seconds(5), Warmup: plan.Warmup{Duration: seconds(2)}}, 3, 2000, 3000},
		{"by time, at a rate that float64 rounds", plan.Load{Rate: perSecond(29), Duration: seconds(3), Warmup: plan.Warmup{Duration: seconds(1)}}, 1, 29, 58},
		{"by records", plan.Load{Rate: perSecond(1000), Records: 500, Warmup: plan.Warmup{Records: 101}}, 1, 101, 399},
		{"by records, in shards", plan.Load{Rate: perSecond(1000), Records: 500, Warmup: plan.Warmup{Records: 101}}, 3, 101, 399},
		{"by records, without a target", plan.Load{Records: 5000, Warmup: plan.Warmup{Records: 1001}}, 2, 1001, 3999},
		{"not at all", plan.Load{Rate: perSecond(1000), Records: 500}, 2, 0, 500},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			p := producing(tc.load)
			p.Producers = tc.shards
			_, c := mustRun(t.Context(), t, p, &fake{latency: 5 * time.Millisecond}, Options{BufferRecords: 100})
			if w, m := c.total[stats.Warmup], c.total[stats.Measured]; w.Offered != tc.warmup || m.Offered != tc.measured {
				t.Errorf("%d warm-up and %d measured records, want %d and %d", w.Offered, m.Offered, tc.warmup, tc.measured)
			}
		})
	}
}

func TestSlowWarmupRecordsDoNotShowInTheMeasurement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// What is due in the first second is answered in the third.
		f := &fake{stall: [2]time.Duration{0, 2200 * time.Millisecond}}
		p := producing(plan.Load{Rate: perSecond(100), Duration: seconds(4), Warmup: plan.Warmup{Duration: seconds(2.2)}})
		_, c := mustRun(t.Context(), t, p, f, Options{})
		w, m := &c.total[stats.Warmup], &c.total[stats.Measured]
		must.True(t, w.Response.Max() == 2200*time.Millisecond && m.Response.Max() <= time.Millisecond && m.FirstDue == 2200*time.Millisecond,
			"response up to %v in warm-up and %v after, from %v on; want 2.2s, 0, 2.2s", w.Response.Max(), m.Response.Max(), m.FirstDue)
	})
}

func TestAnUnlimitedRateSendsWhatTheBufferTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{latency: 10 * time.Millisecond}
		p := producing(plan.Load{Duration: seconds(2), Warmup: plan.Warmup{Duration: seconds(0.5)}})
		end, c := mustRun(t.Context(), t, p, f, Options{BufferRecords: 100})
		w, m := &c.total[stats.Warmup], &c.total[stats.Measured]
		// 100 records each 10 ms, but for one more at either end of a phase.
		d := w.Offered - 5000
		must.True(t, d >= -100 && d <= 100, "%d warm-up records, want 5000", w.Offered)
		if d := m.Offered - 15_000; d < -100 || d > 200 || m.Acknowledged != m.Offered {
			t.Errorf("%d records, %d acknowledged; want 15000", m.Offered, m.Acknowledged)
		}
		must.True(t, m.Service.Max() == 10*time.Millisecond && m.Response.Max() == 20*time.Millisecond,
			"service up to %v, response up to %v; want 10ms, and 20ms with the wait for the buffer", m.Service.Max(), m.Response.Max())
		must.True(t, m.OwnSendDelay.Count()+w.OwnSendDelay.Count() == 0 && m.Unsent+w.Unsent == 0,
			"%d own send delays and %d unsent, but nothing was due", m.OwnSendDelay.Count()+w.OwnSendDelay.Count(), m.Unsent+w.Unsent)
		if !within(w.BufferFull, 490*time.Millisecond, 20*time.Millisecond) || !within(m.BufferFull, 1480*time.Millisecond, 20*time.Millisecond) {
			t.Errorf("the buffer was full for %v in warm-up and %v after, want about 0.5s and 1.5s", w.BufferFull, m.BufferFull)
		}
		if end.Stopped || end.TimedOut || !within(end.Sending, 2*time.Second, 0) || !within(end.Elapsed, 2*time.Second, 10*time.Millisecond) {
			t.Errorf("ended with %+v, want after 2s", end)
		}
	})
}

func TestAnUnlimitedRateEndsWithItsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := producing(plan.Load{Records: 1003})
		p.Producers = 4
		_, c := mustRun(t.Context(), t, p, &fake{latency: time.Millisecond}, Options{BufferRecords: 10})
		m := &c.total[stats.Measured]
		must.True(t, m.Acknowledged == 1003, "acknowledged %d, want 1003", m.Acknowledged)
	})
}

func TestOpsAreReusedAndNeverMoreThanTheBufferTakes(t *testing.T) {
	for _, ops := range []int{1, 10, 256, 300, 600} {
		inBubble(t, fmt.Sprintf("%d ops", ops), func(t *testing.T) {
			f := &fake{latency: 50 * time.Millisecond}
			_, c := mustRun(t.Context(), t, producing(plan.Load{Records: 5000}), f, Options{BufferRecords: ops})
			w := f.workers[0]
			if w.mostRecords != ops || len(w.distinct) != ops || c.total[stats.Measured].Acknowledged != 5000 {
				t.Errorf("%d outstanding at most, in %d ops, %d acknowledged; want %d, %d, 5000",
					w.mostRecords, len(w.distinct), c.total[stats.Measured].Acknowledged, ops, ops)
			}
		})
	}
}

func TestNoMoreBytesAreOutstandingThanTheLimitAndOneRecord(t *testing.T) {
	for _, limit := range []int64{1, 500, 10_000, 100_000} {
		inBubble(t, fmt.Sprintf("%d bytes", limit), func(t *testing.T) {
			const largest = 900
			f := &fake{latency: 5 * time.Millisecond, size: func(op *Op) int { return 100 + int(op.Index*7919%9)*100 }}
			_, c := mustRun(t.Context(), t, producing(plan.Load{Records: 3000}), f, Options{BufferBytes: limit})
			w := f.workers[0]
			if w.mostBytes < limit || w.mostBytes >= limit+largest || c.total[stats.Measured].Acknowledged != 3000 {
				t.Errorf("%d bytes outstanding at most, %d acknowledged; want %d and less than a record more, 3000",
					w.mostBytes, c.total[stats.Measured].Acknowledged, limit)
			}
		})
	}
}

func TestStopEndsALongSleepAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(0.1)}), &fake{}, Options{Stop: after(13300 * time.Millisecond)})
		if end.Elapsed != 13300*time.Millisecond || !end.Stopped || c.total[stats.Measured].Acknowledged != 2 || c.total[stats.Measured].Unsent != 0 {
			t.Errorf("ended with %+v and %d records, want after 13.3s with 2", end, c.total[stats.Measured].Acknowledged)
		}
	})
}

func TestStopBeforeTheStartSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		close(stop)
		end, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(0.1), Records: 5}), &fake{}, Options{Stop: stop})
		m := c.all()
		must.True(t, end.Stopped && end.Elapsed == 0 && m.Offered <= 1, "ended with %+v and %d records", end, m.Offered)
	})
}

func TestAProducerThatDoesNotOpenClosesTheOthers(t *testing.T) {
	for _, of := range []struct{ producers, fails, least, most int }{
		{4, 3, 3, 3},     // all opened at once
		{40, 3, 15, 31},  // most of the rest was not begun
		{40, 30, 15, 39}, // a later one
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{failOpen: of.fails, opening: time.Second}
			p := producing(plan.Load{Rate: perSecond(10), Records: 5})
			p.Producers = of.producers
			c := new(collector)
			_, err := Run(t.Context(), p, Drivers{Send: f}, Options{}, c)
			want := fmt.Sprintf("producer %d:", of.fails)
			must.True(t, errors.Is(err, errOpen) && strings.Contains(err.Error(), want), "got %v, want %v of %s", err, errOpen, want)
			n := len(f.workers)
			must.True(t, n >= of.least && n <= of.most, "%d of %d workers were opened, want %d to %d", n, of.producers, of.least, of.most)
			for _, w := range f.workers {
				must.True(t, w.closed, "the worker of shard %d was not closed", w.shard.Index)
			}
			must.True(t, len(c.calls) == 0, "the sink got %d windows of no run", len(c.calls))
		})
	}
}

func TestClientsThatOpenAreNotWaitedForOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{opening: time.Second}
		p := producing(plan.Load{Records: 1})
		p.Producers = 1000
		began := time.Now()
		mustRun(t.Context(), t, p, f, Options{})
		took := time.Since(began)
		must.True(t, took >= 1000/mostOpening*time.Second && took < 70*time.Second, "it took %v to open 1,000 clients in a second each", took)
	})
}

func TestStagesComeInOrder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		warmup plan.Warmup
		want   []Stage
	}{
		{"with warm-up", plan.Warmup{Duration: seconds(2.5)}, []Stage{Opening, WarmingUp, Running, Draining, Finished}},
		{"without warm-up", plan.Warmup{}, []Stage{Opening, Running, Draining, Finished}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			status := new(Status)
			var stages []Stage
			ctx, cancel := context.WithCancel(t.Context())
			looked := done(func() {
				for ctx.Err() == nil {
					if s := Stage(status.Stage.Load()); len(stages) == 0 || stages[len(stages)-1] != s {
						stages = append(stages, s)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
			f := &fake{opening: time.Second, latency: 2 * time.Second}
			mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(6), Warmup: tc.warmup}), f, Options{Status: status})
			time.Sleep(20 * time.Millisecond)
			cancel()
			<-looked
			must.True(t, slices.Equal(stages, tc.want), "stages %v, want %v", stages, tc.want)
		})
	}
}

func TestStatusTellsTheBytesThatWaitForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := new(Status)
		f := &fake{latency: 500 * time.Millisecond}
		var seen []int64
		sink := sinkFunc(func([]stats.Window) { seen = append(seen, status.Buffered.Load()) })
		must.Have(Run(t.Context(), producing(plan.Load{Rate: perSecond(1000), Duration: seconds(3)}), Drivers{Send: f}, Options{Status: status}, sink))(t)
		for i, n := range seen[:3] {
			must.True(t, n >= 49_800 && n <= 50_200, "after second %d %d bytes wait, want the 50000 of half a second", i+1, n)
		}
		last := seen[len(seen)-1]
		must.True(t, last == 0, "%d bytes wait at the end, want 0", last)
	})
}

// sinkFunc is a function as a Sink.
type sinkFunc func([]stats.Window)

func (f sinkFunc) Observe(windows []stats.Window) { f(windows) }

func TestSinksAreCalledOneAfterTheOtherWithTheSameWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		sink := func(name string) Sink {
			return sinkFunc(func(windows []stats.Window) {
				calls = append(calls, fmt.Sprintf("%s %d–%v", name, len(windows), windows[0].End))
			})
		}
		p := producing(plan.Load{Rate: perSecond(10), Duration: seconds(2.55), Warmup: plan.Warmup{Duration: seconds(1.5)}})
		must.Have(Run(t.Context(), p, Drivers{Send: &fake{}}, Options{}, sink("a"), sink("b")))(t)
		want := []string{"a 1–1s", "b 1–1s", "a 2–2s", "b 2–2s", "a 1–2.5s", "b 1–2.5s"}
		must.True(t, slices.Equal(calls, want), "calls %q, want %q", calls, want)
	})
}

func TestAWindowStaysAsItWasWhenItLeftTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []stats.Window
		var counts [][2]int64
		sink := sinkFunc(func(windows []stats.Window) {
			for _, w := range windows {
				kept = append(kept, w)
				counts = append(counts, [2]int64{w.Response.Count(), w.Partitions[0].Records})
			}
		})
		p := producing(plan.Load{Rate: perSecond(1000), Duration: seconds(5)})
		p.Producers = 2
		must.Have(Run(t.Context(), p, Drivers{Send: &fake{latency: time.Millisecond}}, Options{}, sink))(t)
		for i, w := range kept {
			got := [2]int64{w.Response.Count(), w.Partitions[0].Records}
			must.True(t, got == counts[i], "window %d has %v, had %v", i, got, counts[i])
		}
		must.True(t, len(kept) >= 5 && counts[0][0] != 0, "%d windows, the first with %d values: this test shows nothing", len(kept), counts[0][0])
	})
}

func TestWhatAWorkerRecordsBelongsToThePhaseOfItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{saw: func(_ time.Duration, op *Op) {
			op.shard.Record(func(rec *stats.Recorder, phase int) {
				rec.Broker(phase, int32(op.shard.Index)).Request(time.Millisecond, false)
			})
		}}
		p := producing(plan.Load{Rate: perSecond(20), Duration: seconds(5), Warmup: plan.Warmup{Duration: seconds(2)}})
		p.Producers = 2
		_, c := mustRun(t.Context(), t, p, f, Options{})
		for broker := range int32(2) {
			w, m := c.total[stats.Warmup].Brokers[broker].Requests, c.total[stats.Measured].Brokers[broker].Requests
			must.True(t, w == 20 && m == 30, "broker %d: %d requests in warm-up and %d after, want 20 and 30", broker, w, m)
		}
	})
}

func TestShardsShareTheLoadAndTheTime(t *testing.T) {
	for _, n := range []int{8, mostTallies, 100} { // 100 share tallies
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{latency: time.Millisecond}
				p := producing(plan.Load{Rate: perSecond(100 * float64(n)), Duration: seconds(4)})
				p.Producers = n
				_, c := mustRun(t.Context(), t, p, f, Options{})
				tallies := make(map[*tally]int)
				for _, w := range f.workers {
					must.True(t, w.shard.Count == n && len(w.took) == 400,
						"a worker is shard %d of %d with %d records; want one of %d with 400", w.shard.Index, w.shard.Count, len(w.took), n)
					tallies[w.shard.tally]++
				}
				must.True(t, n <= mostTallies && len(tallies) == n || len(tallies) >= 16 && len(tallies) <= mostTallies, "%d tallies", len(tallies))
				m, all := &c.total[stats.Measured], int64(400*n)
				must.True(t, m.Acknowledged == all && m.Bytes == 100*all && len(m.Partitions) == 3,
					"%d records, %d bytes, %d partitions; want %d, %d, 3", m.Acknowledged, m.Bytes, len(m.Partitions), all, 100*all)
				for i, windows := range c.calls[:3] {
					must.Match(t, time.Duration(n)*time.Second, windows[0].ShardTime, "second %d: time of the shards", i+1)
				}
			})
		})
	}
}

func TestPoissonArrivalsAreSentWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{latency: time.Millisecond}
		p := producing(plan.Load{Rate: perSecond(2000), Records: 20_000, Arrivals: plan.Poisson})
		p.Producers = 2
		_, c := mustRun(t.Context(), t, p, f, Options{})
		if m := &c.total[stats.Measured]; m.Acknowledged != 20_000 || m.OwnSendDelay.Max() > time.Millisecond || !within(m.LastSent, 9500*time.Millisecond, time.Second) {
			t.Errorf("%d records until %v, own send delay up to %v; want 20000 until about 10s, 1ms", m.Acknowledged, m.LastSent, m.OwnSendDelay.Max())
		}
	})
}

func TestProducersAreClosedAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := producing(plan.Load{Rate: perSecond(100), Duration: seconds(1)})
		p.Producers = 20
		began := time.Now()
		end, _ := mustRun(t.Context(), t, p, &fake{ending: time.Second}, Options{})
		took := time.Since(began) - end.Elapsed
		must.True(t, took == time.Second, "20 producers that take 1 s each were closed in %v", took)
	})
}
