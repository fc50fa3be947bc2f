package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

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
						if n > 13 {
							t.Errorf("%s, %d consumers: %d records in second %d of %v", name, consumers, n, i, got)
						}
					}
					for _, from := range fill.from {
						if n := got[from] + got[from+1] + got[from+2]; n < 29 || n > 31 {
							t.Errorf("%s, %d consumers: %v, want 10 in each second from %d on", name, consumers, got, from)
						}
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
		if sum := got[0] + got[1] + got[2] + got[3] + got[4]; sum < 495 || sum > 502 {
			t.Errorf("%v: want 500 in five seconds", got)
		}
	})
}

func TestAReaderThatCannotKeepItsRateIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &filling{newLog(0, 1e6)} // a poll of 100 records works for 100 ms
		p := consuming(plan.Load{Rate: perSecond(5000), Duration: seconds(5)}, plan.Read{Processing: plan.Duration(time.Millisecond)})
		for i, n := range reading(t, p, l)[:5] {
			if n < 900 {
				t.Errorf("%d records in second %d, want 1000", n, i)
			}
		}
	})
}

func TestNoRecordIsOldAfterTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fake{saw: func(time.Duration, *Op) { time.Sleep(3 * time.Millisecond) }} // the cut comes before the sender ends
		p := producing(plan.Load{Rate: perSecond(0.4), Duration: seconds(10.5), Warmup: plan.Warmup{Duration: seconds(1)}})
		p.Producers = 1
		shard := newShard(&run{plan: p, made: time.Now(), rates: newRates(&p)}, 0)
		shard.more = true
		shard.publish(4, 10*time.Second)
		shard.due, shard.more = 0, false
		shard.publish(5, 0)
		if since := shard.oldest(); since != never || shard.phase != stats.Measured {
			t.Errorf("after its last record a shard waits since %v, in phase %d; want never, measured", since, shard.phase)
		}
		if _, c := mustRun(t.Context(), t, p, slow, Options{}); c.total[stats.Measured].Oldest > time.Second {
			t.Errorf("a record is %v old", c.total[stats.Measured].Oldest)
		}
	})
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
					if !w.Warmup && !began && w.ShardTime+w.ReadTime > 0 {
						t.Errorf("%s: the measured window from %v has %v of sending and %v of reading, and no record", name, w.Start, w.ShardTime, w.ReadTime)
					}
				}
			}
		})
	}
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
		{"a poll takes longer to work on", plan.Load{}, plan.Read{ToEnd: true, Processing: plan.Duration(50 * time.Millisecond)}, 300, ReadAll},
		{"a rate lets a record through more seldom", plan.Load{Rate: plan.Rate{PerSecond: 0.2}, Records: 3}, plan.Read{}, 3, ReadCount},
		{"none comes after the work", plan.Load{Records: 400}, plan.Read{Processing: plan.Duration(50 * time.Millisecond)}, 300, ReadIdle},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			log := newLog(0, 300)
			tc.read.Timeout = plan.Duration(time.Second)
			end := must.Have(Run(t.Context(), consuming(tc.load, tc.read), Drivers{Read: log}, Options{}))(t)
			if end.ReadEnd != tc.end || log.read.Load() != tc.want {
				t.Errorf("%d records, end %q, want %d, %q", log.read.Load(), end.ReadEnd, tc.want, tc.end)
			}
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
		if end.ReadEnd != ReadIdle || !within(end.Elapsed, 70*time.Second, time.Second) {
			t.Errorf("it ended after %v, %q; want 10s after the others", end.Elapsed, end.ReadEnd)
		}
	})
}

func TestTheWarmupOfReadingIsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := consuming(plan.Load{Duration: seconds(4), Warmup: plan.Warmup{Duration: seconds(1)}}, plan.Read{})
		must.Have(Run(t.Context(), p, Drivers{Read: newLog(1000, 1e6)}, Options{}, c))(t)
		if n := c.total[stats.Warmup].Consumed; n < 950 || n > 1050 {
			t.Errorf("%d records in the warm-up, want 1000", n)
		}
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
		if warmup != 101 {
			t.Errorf("%s: %d records of the warm-up, want 101", name, warmup)
		}
	}
}
