package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// fakeLog is a log that fills at a rate, and the driver of its readers.
type fakeLog struct {
	ReadDriver // nothing is asked of what it read

	perSecond float64       // how fast it fills; 0: it holds records from the start
	records   atomic.Int64  // there are at most so many
	batch     int           // records of a poll at most
	keys      uint64        // of the records, in turns
	fails     error         // of a poll, when all were read
	answer    time.Duration // how long after the end a commit is answered; 0: there is none

	began time.Time
	read  atomic.Int64
	end   atomic.Int64 // -1: not set
}

func (l *fakeLog) there() int64 {
	if l.perSecond == 0 {
		return l.records.Load()
	}
	return min(l.records.Load(), int64(l.perSecond*time.Since(l.began).Seconds()))
}

func (l *fakeLog) SetEndOffsets(context.Context) error { l.end.Store(l.there()); return nil }

func (l *fakeLog) AtEndOffsets() bool { end := l.end.Load(); return end >= 0 && l.read.Load() >= end }

func (l *fakeLog) Progress() int64 { return 0 }

func (l *fakeLog) OpenReader(_ context.Context, s *Shard) (Reader, error) {
	return &fakeReader{l, s}, nil
}

type fakeReader struct {
	log   *fakeLog
	shard *Shard
}

func (r *fakeReader) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	began := time.Now()
	for ctx.Err() == nil && (patience == 0 || time.Since(began) < patience) {
		read := r.log.read.Load()
		n := min(r.log.there()-read, int64(limit), int64(r.log.batch))
		if n > 0 && r.log.read.CompareAndSwap(read, read+n) {
			r.shard.Working()
			r.shard.Record(func(rec *stats.Recorder, phase int) {
				rec.Consumed(phase, 0, int(n), 10*int(n), r.shard.Now())
				for i := uint64(read); r.shard.WantsKeys() && i < uint64(read+n); i++ {
					key := fmt.Append(nil, i%max(1, r.log.keys))
					r.shard.Key(key[:len(key)*int(min(1, r.log.keys))]) // without keys, none
				}
			})
			return int(n), nil
		}
		if n <= 0 && r.log.fails != nil {
			return 0, r.log.fails
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, nil
}

// Flush counts a commit, when it has been answered.
func (r *fakeReader) Flush(ctx context.Context) {
	if r.log.answer == 0 {
		return
	}
	select {
	case <-time.After(r.log.answer):
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Commits++ })
	case <-ctx.Done():
	}
}

func (r *fakeReader) Close() error { return nil }

func TestWhatIsOnItsWayWhenReadingEndsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(0, 1000)
		l.answer = 1500 * time.Millisecond
		end, w := runReaders(t, consuming(plan.Load{}, plan.Read{ToEnd: true, Consumers: 2}), l, Options{})
		must.True(t, w.Commits == 2 && w.Consumed == 1000, "%d commits and %d records, want 2 and 1000", w.Commits, w.Consumed)
		if w.End != end.Elapsed || end.Elapsed < l.answer || end.Sending > time.Second {
			t.Errorf("windows until %v, the run until %v, reading until %v; want the wait for answers after reading, and in a window", w.End, end.Elapsed, end.Sending)
		}
	})
}

func TestWhoLeavesAtOnceDoesNotWaitForWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, abort := context.WithCancel(t.Context())
		stop := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(stop) })
		time.AfterFunc(3100*time.Millisecond, abort)
		l, c := newLog(1000, 1e6), &collector{}
		l.answer = 2 * time.Second
		end := must.Have(Run(ctx, consuming(plan.Load{}, plan.Read{}), Drivers{Read: l}, Options{Stop: stop}, c))(t)
		if w := c.all(); !end.Stopped || w.Commits != 0 || end.Elapsed != 3100*time.Millisecond {
			t.Errorf("stopped %v, %d commits, over after %v; want it stopped, with none, after 3.1 s", end.Stopped, w.Commits, end.Elapsed)
		}
	})
}

func newLog(perSecond float64, records int64) *fakeLog {
	l := &fakeLog{perSecond: perSecond, batch: 100, began: time.Now()}
	l.records.Store(records)
	l.end.Store(-1)
	return l
}

func consuming(load plan.Load, read plan.Read) plan.Plan {
	read.Consumers = max(1, read.Consumers)
	return plan.Plan{Command: plan.Consume, Load: load, Read: read}
}

func runReaders(t *testing.T, p plan.Plan, l *fakeLog, o Options) (End, stats.Window) {
	t.Helper()
	c := &collector{}
	end := must.Have(Run(t.Context(), p, Drivers{Read: l}, o, c))(t)
	return end, c.all()
}

func TestReadingEndsForAReason(t *testing.T) {
	broken := errors.New("no such partition")
	for _, tc := range []struct {
		name string
		load plan.Load
		read plan.Read
		log  func() *fakeLog
		want int64
		why  ReadEnd
		took time.Duration
	}{
		{"to the end", plan.Load{}, plan.Read{ToEnd: true}, func() *fakeLog { return newLog(0, 5000) }, 5000, ReadAll, 0},
		{"to the end of nothing", plan.Load{}, plan.Read{ToEnd: true}, func() *fakeLog { return newLog(0, 0) }, 0, ReadAll, 0},
		{"a count", plan.Load{Records: 777}, plan.Read{}, func() *fakeLog { return newLog(0, 5000) }, 777, ReadCount, 0},
		{"a count shared by three", plan.Load{Records: 777}, plan.Read{Consumers: 3}, func() *fakeLog { return newLog(0, 5000) }, 777, ReadCount, 0},
		{"a duration", plan.Load{Duration: seconds(3)}, plan.Read{}, func() *fakeLog { return newLog(1000, 1e6) }, 3000, ReadDuration, 3 * time.Second},
		{"nothing comes any more", plan.Load{}, plan.Read{Timeout: seconds(2)}, func() *fakeLog { return newLog(1000, 1000) }, 1000, ReadIdle, 3 * time.Second},
		{"an error", plan.Load{}, plan.Read{}, func() *fakeLog { l := newLog(0, 100); l.fails = broken; return l }, 100, ReadFailed, 0},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			end, w := runReaders(t, consuming(tc.load, tc.read), tc.log(), Options{})
			must.True(t, end.ReadEnd == tc.why && math.Abs(float64(w.Consumed-tc.want)) <= 25 && (tc.why == ReadDuration || w.Consumed == tc.want),
				"%d records, end %q; want %d, %q", w.Consumed, end.ReadEnd, tc.want, tc.why)
			must.True(t, (end.ReadErr != nil) == (tc.why == ReadFailed), "error %v", end.ReadErr)
			d := end.Elapsed - tc.took
			must.True(t, d >= 0 && d <= 200*time.Millisecond, "it took %v, want %v", end.Elapsed, tc.took)
		})
	}
}

func TestAStopEndsReadingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(1500*time.Millisecond, func() { close(stop) })
		end, w := runReaders(t, consuming(plan.Load{}, plan.Read{}), newLog(1000, 1e6), Options{Stop: stop})
		must.True(t, end.Stopped && end.ReadEnd == ReadStopped && w.Consumed >= 1400 && w.Consumed <= 1500 && end.Elapsed <= 1600*time.Millisecond,
			"stopped %v, end %q, %d records in %v", end.Stopped, end.ReadEnd, w.Consumed, end.Elapsed)
	})
}

func TestAReaderThatFollowsEndsWithWhatIsThereThen(t *testing.T) {
	for why, load := range map[ReadEnd]plan.Load{ReadAll: {Records: 1e6}, ReadCount: {Records: 900}} {
		inBubble(t, string(why), func(t *testing.T) {
			until := make(chan struct{})
			time.AfterFunc(1500*time.Millisecond, func() { close(until) })
			end, w := runReaders(t, consuming(load, plan.Read{}), newLog(1000, 1200), Options{Until: until})
			must.True(t, !end.Stopped && end.ReadEnd == why && w.Consumed == min(load.Records, 1200) && end.Elapsed <= 1700*time.Millisecond,
				"stopped %v, end %q, %d records in %v", end.Stopped, end.ReadEnd, w.Consumed, end.Elapsed)
		})
	}
}

func TestAPacedReaderKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := consuming(plan.Load{Rate: perSecond(500), Duration: seconds(4)}, plan.Read{Consumers: 2})
		_, w := runReaders(t, p, newLog(0, 1e6), Options{})
		must.True(t, w.Consumed >= 1950 && w.Consumed <= 2010, "%d records in 4 s at 500 a second", w.Consumed)
		held := w.ReadHeld.Seconds() / w.ReadTime.Seconds()
		must.True(t, held >= 0.9, "held back %.0f %% of the time, want nearly all of it", 100*held)
	})
}

func TestConsumersWorkOnTheirRecordsForAsLongAsIsAsked(t *testing.T) {
	const blocking, continuous = plan.WorkBlocking, plan.WorkContinuous
	for _, tc := range []struct {
		work    string
		threads int
		mode    plan.WorkMode
		keys    uint64
		by      string
		least   int64 // records in 4 s
		most    int64
	}{
		{"1ms", 0, "", 0, "", 4000, 4100}, // with those of the last poll
		{"1ms", 4, blocking, 0, "", 15_600, 16_400},
		{"exp:1ms", 1, blocking, 0, "", 3800, 4200},
		{"exp:1ms", 4, blocking, 0, "", 14_000, 16_000}, // threads wait for the last one of a poll
		{"exp:1ms", 4, continuous, 0, "", 15_300, 16_400},
		{"lognormal:1ms,2", 4, continuous, 0, "", 12_000, 13_000}, // the mean is 1.27 ms
		{"1ms", 4, continuous, 1000, "key", 14_500, 16_400},
		{"1ms", 4, blocking, 1, "key", 4000, 4400},       // one key keeps one thread busy, with the records of a poll for four
		{"1ms", 4, continuous, 0, "key", 15_300, 16_400}, // without a key there is no order to keep
		{"50ms", 4, continuous, 1000, "", 320, 330},
	} {
		inBubble(t, fmt.Sprint(tc), func(t *testing.T) {
			read := plan.Read{Processing: must.Have(plan.ParseWork(tc.work))(t), Threads: tc.threads, Mode: tc.mode, OrderedBy: tc.by}
			p, l := consuming(plan.Load{Duration: seconds(4)}, read), newLog(0, 1e6)
			p.Verify, l.keys, l.batch = true, tc.keys, 1000
			_, w := runReaders(t, p, l, Options{})
			must.True(t, w.Consumed >= tc.least && w.Consumed <= tc.most, "%d records in 4 s, want %d to %d", w.Consumed, tc.least, tc.most)
			asked := float64(w.Consumed) * read.Processing.Mean().Seconds()
			must.True(t, math.Abs(w.Work.Seconds()/asked-1) < 0.02, "they worked %v, and %.3f s are asked for", w.Work, asked)
			must.True(t, tc.by == "" || w.Overtaken == 0, "%d records were done before an earlier one of their key", w.Overtaken)
		})
	}
}

func TestRecordsThatOvertakeOthersOfTheirKeyAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := consuming(plan.Load{Duration: seconds(2)}, plan.Read{Processing: must.Have(plan.ParseWork("exp:1ms"))(t), Threads: 8})
		l := newLog(0, 1e6)
		p.Verify, l.keys = true, 3
		_, w := runReaders(t, p, l, Options{})
		must.True(t, w.Overtaken > w.Consumed/10, "%d of %d records of three keys in eight threads", w.Overtaken, w.Consumed)
	})
}

func TestTheTimeOfReadersIsAccountedForInEveryWindow(t *testing.T) {
	for _, of := range []struct {
		consumers      int
		warmup, filled float64 // of the log, in records a second: most of a hundred readers wait all the time
	}{{2, 0, 0}, {2, 2, 100}, {100, 2, 10}} {
		synctest.Test(t, func(t *testing.T) {
			c := &collector{}
			load := plan.Load{Duration: seconds(5), Warmup: plan.Warmup{Duration: seconds(of.warmup)}}
			p := consuming(load, plan.Read{Consumers: of.consumers})
			end := must.Have(Run(t.Context(), p, Drivers{Read: newLog(of.filled, min(1e6, int64(1e6*of.filled)))}, Options{}, c))(t)
			for _, call := range c.calls {
				w := call[0]
				if w.End == end.Elapsed {
					continue // the readers do not stop at the same moment
				}
				want := time.Duration(of.consumers) * (w.End - w.Start)
				must.True(t, w.ReadTime == want && w.ReadWait == want,
					"window %v to %v: %v of reading and %v of waiting, want %v of each", w.Start, w.End, w.ReadTime, w.ReadWait, want)
				warm := w.End <= load.Warmup.Duration.Std()
				must.True(t, w.Warmup == warm && len(call) == 1, "window %v to %v: warm-up %v, want %v, one of %d", w.Start, w.End, w.Warmup, warm, len(call))
			}
		})
	}
}

func TestOneAtATimeWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog(0, 0)
		log.batch = 1
		sent := &fake{most: 64, latency: 2 * time.Millisecond, saw: func(time.Duration, *Op) {
			unread := log.records.Add(1) - log.read.Load()
			must.True(t, unread == 1, "a record was sent while %d before it were not read", unread-1)
		}}
		p := producing(plan.Load{Records: 50, OneAtATime: true})
		p.Read = plan.Read{Consumers: 1, Timeout: seconds(1)}
		c := &collector{}
		end := must.Have(Run(t.Context(), p, Drivers{Send: sent, Read: log}, Options{}, c))(t)
		w := c.all()
		must.True(t, w.Acknowledged == 50 && w.Consumed == 50 && end.ReadEnd == ReadAll,
			"%d acknowledged and %d consumed, end %q; want 50 each", w.Acknowledged, w.Consumed, end.ReadEnd)
	})
}

func TestReadersPauseUntilABacklogIsThere(t *testing.T) {
	for name, tc := range map[string]struct {
		groups int
		fails  bool

		built, end plan.Duration
	}{
		// 1000 records a second of 100 bytes: after the warm-up of 2 s, 5000 records more take 5 s. Reading 100 of them takes no time.
		"one group":                {1, false, seconds(7), seconds(11)},
		"two groups have it twice": {2, false, seconds(4.5), seconds(8.5)},
		"what fails is no backlog": {1, true, seconds(12), seconds(16)}, // every second one
	} {
		synctest.Test(t, func(t *testing.T) {
			log := newLog(0, 0)
			sent := &fake{saw: func(_ time.Duration, o *Op) {
				if !tc.fails || o.Index%2 == 0 {
					log.records.Add(int64(tc.groups))
				}
			}}
			if tc.fails {
				sent.fails = func(o *Op) string { return []string{"", "LOST"}[o.Index%2] }
			}
			p := producing(plan.Load{Rate: plan.Rate{PerSecond: 1000}, Duration: seconds(6), Warmup: plan.Warmup{Duration: seconds(2)}})
			p.Payload = plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100)}
			p.Read = plan.Read{Consumers: 1, Groups: tc.groups, Group: "g", Backlog: 500_000, Timeout: seconds(1)}
			c := &collector{}
			end := must.Have(Run(t.Context(), p, Drivers{Send: sent, Read: log}, Options{}, c))(t)
			w := c.all()
			var at []time.Duration
			for _, e := range w.Events {
				if e.Kind == stats.Backlog {
					at = append(at, e.At)
				}
			}
			near := func(x, y time.Duration) bool { return max(x-y, y-x) <= 400*time.Millisecond }
			must.True(t, len(at) == 2 && near(at[0], tc.built.Std()) && near(at[1], at[0]), "%s: events at %v, want the first at %v and the second soon after", name, at, tc.built)
			must.True(t, near(end.Sending, tc.end.Std()), "%s: sending ended after %v, want %v: four seconds after the backlog", name, end.Sending, tc.end)
			must.True(t, w.Consumed == log.records.Load(), "%s: %d of %d records read", name, w.Consumed, log.records.Load())
		})
	}
}

func TestARecordThatFailsDoesNotHoldUpTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &fake{latency: time.Millisecond, fails: func(*Op) string { return "NOT_LEADER_OR_FOLLOWER" }}
		p := producing(plan.Load{Records: 20, OneAtATime: true})
		p.Read = plan.Read{Consumers: 1, Timeout: seconds(1)}
		c := &collector{}
		must.Have(Run(t.Context(), p, Drivers{Send: sent, Read: newLog(0, 0)}, Options{}, c))(t)
		w := c.all()
		must.True(t, w.Failed == 20, "%d failed, want 20", w.Failed)
	})
}

func TestARecordThatNeverComesIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := producing(plan.Load{Records: 3, OneAtATime: true})
		p.Read = plan.Read{Consumers: 1, Timeout: seconds(2)}
		c := &collector{}
		end := must.Have(Run(t.Context(), p, Drivers{Send: &fake{}, Read: newLog(0, 0)}, Options{}, c))(t)
		if w := c.all(); w.Acknowledged != 3 || w.Consumed != 0 || end.Sending < 4*time.Second {
			t.Errorf("%d acknowledged, %d consumed, sending took %v; want 3, 0 and two timeouts of 2 s", w.Acknowledged, w.Consumed, end.Sending)
		}
	})
}

func TestSendingEndsWhenReadingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog(0, 10)
		log.fails = errors.New("not allowed")
		p := producing(plan.Load{Rate: perSecond(100), Duration: seconds(60)})
		p.Read = plan.Read{Consumers: 1, Timeout: seconds(2)}
		c := &collector{}
		end := must.Have(Run(t.Context(), p, Drivers{Send: &fake{}, Read: log}, Options{}, c))(t)
		must.True(t, end.ReadEnd == ReadFailed && end.Elapsed <= time.Second, "end %q after %v, want failed at once", end.ReadEnd, end.Elapsed)
	})
}

// A cluster that is away when the load ends keeps nobody waiting longer than the
// timeout.
func TestAnEndOffsetThatIsNeverReachedEndsWithTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &endless{newLog(0, 0)}
		p := producing(plan.Load{Rate: perSecond(100), Duration: seconds(2)})
		p.Read = plan.Read{Consumers: 1, Timeout: seconds(3)}
		c := &collector{}
		end := must.Have(Run(t.Context(), p, Drivers{Send: &fake{}, Read: log}, Options{}, c))(t)
		must.True(t, end.ReadEnd == ReadIdle && end.Elapsed >= 5*time.Second && end.Elapsed <= 6*time.Second,
			"end %q after %v, want timeout after 5 s", end.ReadEnd, end.Elapsed)
		must.True(t, len(c.calls) >= 5, "%d seconds were told while it waited, want 5", len(c.calls))
	})
}

// endless is a log whose end offset cannot be looked up.
type endless struct{ *fakeLog }

func (l *endless) SetEndOffsets(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestErrorsAndTheirEndAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &fake{latency: time.Millisecond, fails: func(op *Op) string {
			if op.Due > time.Second && op.Due < 2*time.Second {
				return "NOT_LEADER_OR_FOLLOWER"
			}
			return ""
		}}
		c := &collector{}
		must.Have(Run(t.Context(), producing(plan.Load{Rate: perSecond(100), Duration: seconds(3)}), Drivers{Send: sent}, Options{}, c))(t)
		w := c.all()
		must.Hold(t, len(w.Events) == 2 && w.Events[0].Kind == stats.FirstError && w.Events[1].Kind == stats.FirstSuccess,
			"events %+v, want the first error and the first success after it", w.Events)
		d := w.Outage.Length - time.Second
		must.True(t, d >= -20*time.Millisecond && d <= 20*time.Millisecond, "outage %+v, want one of a second from about 1 s on", w.Outage)
	})
}

func TestAnOutageAtTheEndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &fake{latency: time.Millisecond, stall: [2]time.Duration{2 * time.Second, time.Hour}}
		c := &collector{}
		o := Options{DrainTimeout: 3 * time.Second}
		must.Have(Run(t.Context(), producing(plan.Load{Rate: perSecond(100), Duration: seconds(4)}), Drivers{Send: sent}, o, c))(t)
		w := c.all()
		if d := w.Outage.Length - 5*time.Second; d < -150*time.Millisecond || d > 150*time.Millisecond {
			t.Errorf("outage %+v, want one from 2 s to the end of the drain at 7 s", w.Outage)
		}
		for id := range int32(3) {
			if d := w.Partitions[id].Outage.Length - w.Outage.Length; d < -50*time.Millisecond || d > 50*time.Millisecond {
				t.Errorf("outage of partition %d: %+v, want about that of all, %+v", id, w.Partitions[id].Outage, w.Outage)
			}
		}
	})
}

func TestAnOutageIsToldWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &fake{latency: time.Millisecond, stall: [2]time.Duration{1500 * time.Millisecond, 4700 * time.Millisecond}}
		_, c := mustRun(t.Context(), t, producing(plan.Load{Rate: perSecond(100), Duration: seconds(6)}), sent, Options{})
		for i, want := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond, 3200 * time.Millisecond, 0} {
			d := c.calls[i][0].Outage.Length - want
			must.True(t, d >= -20*time.Millisecond && d <= 20*time.Millisecond, "second %d has outage %+v, want %v", i, c.calls[i][0].Outage, want)
		}
	})
}

// What was due when the warm-up was over waited as well.
func TestAnOutageThatOutlastsTheWarmupIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &fake{latency: time.Millisecond, stall: [2]time.Duration{1500 * time.Millisecond, 4200 * time.Millisecond}}
		p := producing(plan.Load{Rate: perSecond(100), Duration: seconds(6), Warmup: plan.Warmup{Duration: seconds(2.2)}})
		_, c := mustRun(t.Context(), t, p, sent, Options{})
		d := c.total[stats.Measured].Outage.Length - 2700*time.Millisecond
		must.True(t, d >= -20*time.Millisecond && d <= 20*time.Millisecond, "outage %+v, want one from 1.5 to 4.2 s", c.total[stats.Measured].Outage)
	})
}

// told is a source that tells of one event a second.
type told struct{ now func() time.Duration }

func (s *told) Start(_ context.Context, now func() time.Duration) { s.now = now }

func (s *told) Wait() {}

func (s *told) Take() stats.Window {
	lag := map[int32]stats.Partition{40: {ConsumerLag: 1}, 41: {ConsumerLag: 2}}
	return stats.Window{Events: []stats.Event{{At: s.now(), Kind: stats.LeaderMoved}}, Read: stats.Read{ConsumerLag: 3}, Partitions: lag}
}

// lastWords is a source that finds something when it is ended.
type lastWords struct {
	ended chan struct{}
	said  bool
}

func (s *lastWords) Start(ctx context.Context, _ func() time.Duration) {
	go func() {
		<-ctx.Done()
		time.Sleep(time.Second)
		close(s.ended)
	}()
}

func (s *lastWords) Wait() { <-s.ended }

func (s *lastWords) Take() stats.Window {
	select {
	case <-s.ended:
		if !s.said {
			s.said = true
			return stats.Window{Events: []stats.Event{{Kind: stats.ExecEnded}}}
		}
	default:
	}
	return stats.Window{}
}

func TestWhatASourceFindsWhenItEndsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		o := Options{Sources: []Source{&lastWords{ended: make(chan struct{})}}}
		must.Have(Run(t.Context(), producing(plan.Load{Records: 10}), Drivers{Send: &fake{}}, o, c))(t)
		w := c.all()
		must.True(t, len(w.Events) == 1, "events %+v, want one", w.Events)
	})
}

func TestWhatSourcesFindJoinsTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		o := Options{Sources: []Source{&told{}}}
		load := plan.Load{Rate: perSecond(100), Duration: seconds(4), Warmup: plan.Warmup{Duration: seconds(2)}}
		must.Have(Run(t.Context(), producing(load), Drivers{Send: &fake{}}, o, c))(t)
		w := c.all()
		n := int64(len(w.Events))
		must.True(t, n >= 4 && w.ConsumerLag == 3*n, "%d events and consumer lag of %d", n, w.ConsumerLag)
		got := c.total[stats.Warmup].Acknowledged
		must.True(t, got == 200, "%d records in the warm-up, want 200: a source must not change the phase", got)
	})
}

func TestPartitionsThatShareARowAddUp(t *testing.T) {
	ten := func(number int32) int32 { return number / 10 }
	for _, of := range []struct {
		name string
		rows func(int32) int32
		want map[int32]int64 // acknowledged by row
		ids  []int32
	}{
		{"as they are", nil, map[int32]int64{20: 1, 29: 2, 30: 2}, []int32{0, 20, 29, 30, 40, 41}},
		{"ten to a row", ten, map[int32]int64{2: 3, 3: 2}, []int32{0, 2, 3, 4}},
	} {
		t.Run(of.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{
					place: func(op *Op) int32 { return []int32{20, 29, 30}[op.Index%3] },
					fails: func(op *Op) string { return map[int64]string{3: "NOT_LEADER_OR_FOLLOWER"}[op.Index] },
				}
				l := &fakeLog{batch: 7}
				l.records.Store(100)
				l.end.Store(-1)
				p := producing(plan.Load{Records: 6})
				p.Read = plan.Read{Consumers: 1}
				c := &collector{}
				o := Options{Sources: []Source{&told{}}, Rows: of.rows}
				must.Have(Run(t.Context(), p, Drivers{Send: f, Read: l}, o, c))(t)
				w := c.all()
				var lag int64
				for row, p := range w.Partitions {
					must.Match(t, of.want[row], p.Records, "acknowledged in row", row)
					lag += p.ConsumerLag
				}
				must.Match(t, w.ConsumerLag, lag, "consumer lag of all rows")
				must.True(t, w.Partitions[0].Consumed == w.Consumed && w.Consumed > 0, "row 0 has %d of %d records read", w.Partitions[0].Consumed, w.Consumed)
				must.Match(t, of.ids, w.PartitionIDs(), "rows")
			})
		})
	}
}
