package engine

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// asked is a new rate that is asked for at some time of a run.
type asked struct {
	at        time.Duration
	perSecond float64
}

// ask returns options that change the rate.
func ask(o Options, list ...asked) Options {
	rates := make(chan float64)
	o.Rates = rates
	o.Started = func() {
		for _, a := range list {
			time.AfterFunc(a.at, func() { rates <- a.perSecond })
		}
	}
	return o
}

// changes returns the changes of the rate that the windows have.
func (c *collector) changes() (list []stats.Event) {
	for _, windows := range c.calls {
		for _, w := range windows {
			for _, e := range w.Events {
				if e.Kind == stats.RateChanged {
					list = append(list, e)
				}
			}
		}
	}
	return list
}

func TestARateThatRisesWakesASenderThatSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{saw: func(now time.Duration, op *Op) {
			must.True(t, now-op.Due <= time.Millisecond, "record %d, due at %v, was handed over at %v", op.Index, op.Due, now)
		}}
		p := producing(plan.Load{Rate: perSecond(0.01), Duration: seconds(200)})
		_, c := mustRun(t.Context(), t, p, f, ask(Options{}, asked{10 * time.Second, 10}))
		// 0.01/s until 10.1 s, and 10/s after that.
		want := int64(1900)
		must.True(t, c.total[stats.Measured].Offered == want, "%d records, want %d", c.total[stats.Measured].Offered, want)
	})
}

func TestChangesThatComeTooLateOrHaveNoRateToChangeAreNone(t *testing.T) {
	for _, tc := range []struct {
		name string
		load plan.Load
		ask  asked
	}{
		{"unlimited", plan.Load{Records: 100}, asked{0, 10}},
		{"near the end", plan.Load{Rate: perSecond(1), Duration: seconds(10)}, asked{9500 * time.Millisecond, 10}},
		{"while it drains", plan.Load{Rate: perSecond(1000), Records: 10}, asked{time.Second, 10}},
		{"zero", plan.Load{Rate: perSecond(10), Duration: seconds(10)}, asked{time.Second, 0}},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			rates := make(chan float64, 1)
			o := Options{Rates: rates, Started: func() { time.AfterFunc(tc.ask.at, func() { rates <- tc.ask.perSecond }) }}
			_, c := mustRun(t.Context(), t, producing(tc.load), &fake{latency: 2 * time.Second}, o)
			list := c.changes()
			must.True(t, len(list) == 0, "changes %v, want none", list)
		})
	}
}

func TestReadersFollowAChangedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ask(Options{}, asked{4950 * time.Millisecond, 2000})
		_, w := runReaders(t, consuming(plan.Load{Rate: perSecond(500), Duration: seconds(10)}, plan.Read{Consumers: 3}), newLog(0, 1e6), o)
		// 500/s until 5 s, and 2000/s after that, the first and the last at the ends; a poll is 100 records at most.
		want := int64(12_501)
		must.True(t, w.Consumed <= want && w.Consumed >= want-300, "%d records were read, want %d", w.Consumed, want)
		must.True(t, len(w.Events) == 1 && w.Events[0].At == 5*time.Second && w.Events[0].NewRate == 2000,
			"events %v, want the change at 5 s", w.Events)
	})
}

func TestEachStageThatBeginsHasAnEvent(t *testing.T) {
	rate := must.Have(plan.ParseTarget("10@2s,20..40@2s,10@1s"))(t)
	for name, tc := range map[string]struct {
		load plan.Load
		want []time.Duration
	}{
		"to the end":          {plan.Load{Rate: rate, Duration: seconds(5)}, []time.Duration{0, 2 * time.Second, 4 * time.Second}},
		"a shorter time":      {plan.Load{Rate: rate, Duration: seconds(4)}, []time.Duration{0, 2 * time.Second}},
		"a number of records": {plan.Load{Rate: rate, Duration: seconds(5), Records: 10}, []time.Duration{0}},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, c := mustRun(t.Context(), t, producing(tc.load), &fake{latency: 3 * time.Second}, Options{})
			var got []time.Duration
			for _, w := range slices.Concat(c.calls...) {
				for _, e := range w.Events {
					if e.Kind == stats.StageBegan {
						got = append(got, e.At)
					}
				}
			}
			must.True(t, slices.Equal(got, tc.want), "stages began at %v, want %v", got, tc.want)
		})
	}
}

func TestTheTargetIsThatOfTheStageOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := must.Have(plan.ParseTarget("100@5s,400@5s"))(t)
		var status Status
		if got := status.Target(); got != 0 {
			t.Errorf("without a run it is %v", got)
		}
		o := ask(Options{Status: &status}, asked{time.Second, 200})
		began := o.Started
		var targets [9]atomic.Uint64 // by the second
		o.Started = func() {
			began()
			for second := range 9 {
				time.AfterFunc(time.Duration(second)*time.Second+500*time.Millisecond, func() { targets[second].Store(uint64(status.Target())) })
			}
		}
		mustRun(t.Context(), t, producing(plan.Load{Rate: rate, Duration: seconds(10)}), &fake{}, o)
		for second, want := range map[int]uint64{0: 100, 1: 200, 3: 200, 5: 800, 8: 800} {
			must.Match(t, want, targets[second].Load(), "in second %d it", second)
		}
	})
}

// Records of the load: 10 in the first second, none for three, and 10 in the fifth.
func TestALoadLastsUntilItsLastPauseIsOver(t *testing.T) {
	rate := must.Have(plan.ParseTarget("10@1s,0@3s,10@1s,0@2s"))(t)
	for name, tc := range map[string]struct {
		load    plan.Load
		stop    time.Duration
		lasts   time.Duration
		records int64
	}{
		"to the end":                    {plan.Load{Rate: rate, Duration: seconds(7)}, 0, 7 * time.Second, 20},
		"to the end of another pause":   {plan.Load{Rate: rate, Duration: seconds(3)}, 0, 3 * time.Second, 10},
		"until it is stopped":           {plan.Load{Rate: rate, Duration: seconds(7)}, 5500 * time.Millisecond, 5500 * time.Millisecond, 20},
		"until enough records are sent": {plan.Load{Rate: rate, Duration: seconds(7), Records: 15}, 0, 4400 * time.Millisecond, 15},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := Options{}
			if tc.stop > 0 {
				stop := make(chan struct{})
				o.Stop, o.Started = stop, func() { time.AfterFunc(tc.stop, func() { close(stop) }) }
			}
			end, c := mustRun(t.Context(), t, producing(tc.load), &fake{latency: time.Millisecond}, o)
			w := c.total[stats.Measured]
			if late := end.Sending - tc.lasts; late < 0 || late > 5*time.Millisecond || w.Offered != tc.records || w.Acknowledged != tc.records || w.Unsent != 0 {
				t.Errorf("it sends for %v, with %d records offered, %d acknowledged and %d unsent; want %v and %d", end.Sending, w.Offered, w.Acknowledged, w.Unsent, tc.lasts, tc.records)
			}
			must.True(t, w.OwnSendDelay.Max() <= 2*time.Millisecond && w.Outage.Length <= 5*time.Millisecond,
				"records left up to %v late, and %v is an outage", w.OwnSendDelay.Max(), w.Outage.Length)
		})
	}
}

func TestEachSenderSleepsWithASleeperOfItsOwnAndClosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made, closed atomic.Int32
		o := Options{NewSleeper: func() (func(time.Duration), func() error) {
			made.Add(1)
			return func(d time.Duration) { time.Sleep(d + 3*time.Millisecond) }, func() error { closed.Add(1); return nil }
		}}
		p := producing(plan.Load{Rate: perSecond(2000), Duration: seconds(2)})
		p.Producers = 2
		_, c := mustRun(t.Context(), t, p, &fake{}, o)
		must.True(t, made.Load() == 2 && closed.Load() == 2, "%d sleepers were made and %d closed, want 2 of each", made.Load(), closed.Load())
		for _, w := range c.total {
			if most := w.OwnSendDelay.Max(); w.Offered > 0 && !within(most, 3*time.Millisecond, time.Millisecond) {
				t.Errorf("own send delay up to %v, want that of the sleeper: 3 to 4ms", most)
			}
		}
	})
}

// filling is a log into which records are written at times of the test's own.
type filling struct {
	*fakeLog
}

func (l *filling) at(after time.Duration, records int64) {
	time.AfterFunc(after, func() { l.records.Add(records) })
}

// reading returns the records of each second of a run that reads at a rate.
func reading(t *testing.T, p plan.Plan, l *filling) (perSecond []int64) {
	t.Helper()
	c := &collector{}
	must.Have(Run(t.Context(), p, Drivers{Read: l}, Options{}, c))(t)
	for _, windows := range c.calls {
		perSecond = append(perSecond, windows[len(windows)-1].Consumed)
	}
	return perSecond
}

func TestAReaderAtARateMakesUpForNoIdleTime(t *testing.T) {
	for name, fill := range map[string]struct {
		fill func(l *filling)
		from []int // seconds from which on it keeps the rate for three
	}{
		"records that come late":           {func(l *filling) { l.at(3500*time.Millisecond, 1000) }, []int{4}},
		"records that come in two bursts":  {func(l *filling) { l.at(500*time.Millisecond, 50); l.at(9500*time.Millisecond, 500) }, []int{1, 10}},
		"many records after some that lag": {func(l *filling) { l.at(100*time.Millisecond, 1); l.at(4100*time.Millisecond, 1000) }, []int{5}},
	} {
		for _, consumers := range []int{1, 3} {
			for _, records := range []int64{0, 100} { // with a number of records, polls come back empty
				synctest.Test(t, func(t *testing.T) {
					l := &filling{newLog(0, 0)}
					fill.fill(l)
					p := consuming(plan.Load{Rate: perSecond(10), Duration: seconds(15), Records: records}, plan.Read{Consumers: consumers})
					got := reading(t, p, l)
					for i, n := range got {
						must.True(t, n <= 13, "%s, %d consumers: %d records in second %d of %v", name, consumers, n, i, got)
					}
					for _, from := range fill.from {
						n := got[from] + got[from+1] + got[from+2]
						must.True(t, n >= 29 && n <= 31, "%s, %d consumers: %v, want 10 in each second from %d on", name, consumers, got, from)
					}
				})
			}
		}
	}
}

func TestAReaderAtARateMakesUpForAShortDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &filling{newLog(0, 0)}
		l.at(0, 300)
		l.at(3700*time.Millisecond, 1e6) // 700 ms without a record
		got := reading(t, consuming(plan.Load{Rate: perSecond(100), Duration: seconds(6)}, plan.Read{}), l)
		sum := got[0] + got[1] + got[2] + got[3] + got[4]
		must.True(t, sum >= 495 && sum <= 502, "%v: want 500 in five seconds", got)
	})
}

func TestAReaderThatCannotKeepItsRateIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &filling{newLog(0, 1e6)} // a poll of 100 records works for 100 ms
		p := consuming(plan.Load{Rate: perSecond(5000), Duration: seconds(5)}, plan.Read{Processing: plan.FixedWork(time.Millisecond)})
		for i, n := range reading(t, p, l)[:5] {
			must.True(t, n >= 900, "%d records in second %d, want 1000", n, i)
		}
	})
}

func TestNoRecordIsOldAfterTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fake{saw: func(time.Duration, *Op) { time.Sleep(3 * time.Millisecond) }} // the cut comes before the sender ends
		p := producing(plan.Load{Rate: perSecond(0.4), Duration: seconds(10.5), Warmup: plan.Warmup{Duration: seconds(1)}})
		p.Producers = 1
		shard := (&run{plan: p, made: time.Now(), rates: newRates(&p)}).alone(0)
		shard.more = true
		shard.publish(4, 10*time.Second)
		shard.due, shard.more = 0, false
		shard.publish(5, 0)
		if since := shard.oldest(); since != never || shard.phase != stats.Measured {
			t.Errorf("after its last record a shard waits since %v, in phase %d; want never, measured", since, shard.phase)
		}
		_, c := mustRun(t.Context(), t, p, slow, Options{})
		must.True(t, c.total[stats.Measured].Oldest <= time.Second, "a record is %v old", c.total[stats.Measured].Oldest)
	})
}

// A reader that is held back, or works on what it has, waits for no record.
func TestTheTimeoutIsOfWaitingForRecords(t *testing.T) {
	for _, tc := range []struct {
		name string
		load plan.Load
		read plan.Read
		want int64
		end  ReadEnd
	}{
		{"a poll takes longer to work on", plan.Load{}, plan.Read{ToEnd: true, Processing: plan.FixedWork(50 * time.Millisecond)}, 300, ReadAll},
		{"a rate lets a record through more seldom", plan.Load{Rate: plan.Rate{PerSecond: 0.2}, Records: 3}, plan.Read{}, 3, ReadCount},
		{"none comes after the work", plan.Load{Records: 400}, plan.Read{Processing: plan.FixedWork(50 * time.Millisecond)}, 300, ReadIdle},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			log := newLog(0, 300)
			tc.read.Timeout = plan.Duration(time.Second)
			end := must.Have(Run(t.Context(), consuming(tc.load, tc.read), Drivers{Read: log}, Options{}))(t)
			must.True(t, end.ReadEnd == tc.end && log.read.Load() == tc.want,
				"%d records, end %q, want %d, %q", log.read.Load(), end.ReadEnd, tc.want, tc.end)
		})
	}
}

// others is a log of which other processes read the rest, record by record.
type others struct {
	*fakeLog
	until time.Duration
}

func (o *others) Progress() int64 { return int64(min(time.Since(o.began), o.until) / time.Second) }

func TestReadersDoNotGiveUpWhileOthersOfTheirGroupRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &others{newLog(0, 300), time.Minute}
		p := consuming(plan.Load{}, plan.Read{Timeout: plan.Duration(10 * time.Second)})
		end := must.Have(Run(t.Context(), p, Drivers{Read: log}, Options{}))(t)
		must.True(t, end.ReadEnd == ReadIdle && within(end.Elapsed, 70*time.Second, time.Second),
			"it ended after %v, %q; want 10s after the others", end.Elapsed, end.ReadEnd)
	})
}

func TestTheWarmupOfReadingIsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := consuming(plan.Load{Duration: seconds(4), Warmup: plan.Warmup{Duration: seconds(1)}}, plan.Read{})
		must.Have(Run(t.Context(), p, Drivers{Read: newLog(1000, 1e6)}, Options{}, c))(t)
		n := c.total[stats.Warmup].Consumed
		must.True(t, n >= 950 && n <= 1050, "%d records in the warm-up, want 1000", n)
		if n := c.total[stats.Measured].Consumed; n < 2900 || n > 3050 {
			t.Errorf("%d records measured, want 3000", n)
		}
	})
}

func TestTheReadersOfAllProcessesShareOutTheWarmup(t *testing.T) {
	for name, producers := range map[string]int{"of a round trip": 4, "of what only reads": 0} {
		p := consuming(plan.Load{Warmup: plan.Warmup{Records: 101}}, plan.Read{Consumers: 3, Groups: 2})
		p.Producers = producers
		shares := must.Have(p.Divide(2))(t)
		var warmup int64
		for _, share := range shares {
			n := share.Read.Clients()
			for i := range n {
				warmup += newReadShard(&run{plan: share}, i, n).warm.records
			}
		}
		must.True(t, warmup == 101, "%s: %d records of the warm-up, want 101", name, warmup)
	}
}
