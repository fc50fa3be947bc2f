package engine

import (
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
			want := time.Duration(i+1) * time.Second
			must.True(t, age == want, "second %d: the oldest record has waited for %v, want %v", i+1, age, want)
		}
		last := got[len(got)-1]
		must.True(t, last == 0 && c.all().Unknown == 200, "at the end %d records are given up, and one still waits for %v", c.all().Unknown, last)
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
		synctest.Wait() // for the looks
		for i, l := range looks {
			stalled := l.now > f.stall[0] && l.now < f.stall[1]
			switch {
			case stalled && (!l.waits || !within(l.since, 1197*time.Millisecond, 3*time.Millisecond)):
				t.Errorf("look %d at %v: %v since %v, want since 1.2s", i, l.now, l.waits, l.since)
			case !stalled && l.waits && l.now-l.since > 3*time.Millisecond:
				t.Errorf("look %d at %v: a record waits since %v", i, l.now, l.since)
			}
		}
		since, _, waits := status.Oldest()
		must.True(t, !waits, "after the run a record waits since %v", since)
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

func TestAStateThatFlapsIsToldOnceWithACount(t *testing.T) {
	outage := func(op *Op) bool { return op.Due >= 2*time.Second && op.Due < 3*time.Second }
	for _, tc := range []struct {
		name  string
		fails func(op *Op) string
		want  []string
	}{
		{"nothing fails", func(*Op) string { return "" }, nil},
		{"a partition never takes records", func(op *Op) string { return map[bool]string{true: "NO"}[op.Index%2 == 1] }, []string{"0 first_error [1] records fail: NO"}},
		{"all partitions fail for a second", func(op *Op) string { return map[bool]string{true: "NO"}[outage(op)] }, []string{
			"2 first_error [0 1] records fail: NO", "3 first_success [0 1] records are acknowledged again",
		}},
		{"a partition fails for a moment each second", func(op *Op) string {
			return map[bool]string{true: "NO"}[op.Index%2 == 1 && op.Due >= time.Second && op.Due < 11*time.Second && op.Due%time.Second < 200*time.Millisecond]
		}, []string{"1 first_error [1] records fail: NO", "10 first_success [1] records are acknowledged again (flapping: 9 more)"}},
		{"another code comes meanwhile", func(op *Op) string {
			switch {
			case op.Index%2 == 0:
				return ""
			case op.Due == 9*time.Second+10*time.Millisecond:
				return "DENIED"
			}
			return "NO"
		}, []string{"0 first_error [1] records fail: NO", "9 first_error [] records fail: DENIED"}},
		{"it flaps to the end", func(op *Op) string {
			return map[bool]string{true: "NO"}[op.Index%2 == 1 && op.Due%(2*time.Second) >= time.Second]
		}, []string{"1 first_error [1] records fail: NO", "19 first_error [1] records fail: NO (flapping: 9 more)"}},
		{"twice, with a long time between", func(op *Op) string {
			return map[bool]string{true: "NO"}[op.Index%2 == 1 && (op.Due < time.Second || op.Due >= 12*time.Second && op.Due < 13*time.Second)]
		}, []string{"0 first_error [1] records fail: NO", "1 first_success [1] records are acknowledged again", "12 first_error [1] records fail: NO", "13 first_success [1] records are acknowledged again"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent, c := &fake{latency: time.Millisecond, fails: tc.fails, place: func(op *Op) int32 { return int32(op.Index % 2) }}, &collector{}
			must.Have(Run(t.Context(), producing(plan.Load{Rate: perSecond(100), Duration: seconds(20)}), Drivers{Send: sent}, Options{}, c))(t)
			var got []string
			for _, e := range c.all().Events {
				got = append(got, fmt.Sprintf("%d %s %v %s", e.At/time.Second, e.Kind, e.Partitions, e.Text))
			}
			must.True(t, slices.Equal(got, tc.want),
				"%s:\n  got  %s\n  want %s", tc.name, strings.Join(got, "\n       "), strings.Join(tc.want, "\n       "))
		})
	}
}

func TestAnAlarmThatFlapsLeavesRoomForOthers(t *testing.T) {
	var s states
	tell := func(at time.Duration, kind stats.EventKind, broker int32) bool {
		return s.note(stats.Event{At: at, Kind: kind, Broker: broker, Text: string(kind)}, -1)
	}
	var got []stats.Event
	for i := range 500 {
		at := time.Duration(i) * time.Second
		tell(at, stats.AlarmOn, -1)
		tell(at+time.Second/2, stats.AlarmOff, -1)
		got = append(got, s.settle(at+time.Second, false)...)
	}
	must.True(t, !tell(0, stats.BrokerBack, 3) && !tell(0, stats.Rebalance, -1),
		"an end without a beginning, and an event of no state, are not told as they are")
	got = append(got, s.settle(501*time.Second, true)...)
	if len(got) != 2 || got[0].Kind != stats.AlarmOn || got[0].At != 0 || got[1].Kind != stats.AlarmOff || got[1].At != 499*time.Second+time.Second/2 || !strings.Contains(got[1].Text, "499 more") {
		t.Errorf("events %+v; want the alarm, and its end with a count", got)
	}
	tell(0, stats.BrokerGone, -1)
	must.True(t, !tell(1, stats.BrokerGone, -1), "another host without a number is gone, and it is not told")
	s = states{}
	for i, kind := range []stats.EventKind{stats.FirstError, stats.FirstSuccess, stats.FirstError} {
		s.note(stats.Event{At: time.Duration(i), Kind: kind, Text: string(kind)}, 4)
	}
	if got = s.settle(3, true); len(got) != 1 || got[0].Count != 1 || !slices.Equal(got[0].Partitions, []int32{4}) {
		t.Errorf("%+v; want one event of the partition that began to fail and came back in the last second", got)
	}
}

func TestWindowsAreCutAtWholeSecondsHoweverLateTheTickIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		s := nullShard(plan.Load{})
		r := s.run
		r.shards, r.spare = []*Shard{s}, new(stats.Phases)
		r.feed = NewFeed(c.Observe, MergeWindows)
		r.setStage(Running)
		const ms = time.Millisecond
		for _, tick := range []struct{ at, windows int }{
			{0, 0}, {999, 0}, {1000, 1}, {1001, 1}, {2400, 2}, {3000, 3}, {5999, 4}, {6001, 5},
		} {
			now := time.Duration(tick.at) * ms
			s.rec.Acknowledged(stats.Measured, 1, 0, 1, ms, ms, now)
			r.cut(now)
			if synctest.Wait(); len(c.calls) != tick.windows {
				t.Errorf("%d windows at %v, want %d", len(c.calls), now, tick.windows)
			}
		}
		<-r.feed.Close()
		for i, want := range []struct{ start, end, acknowledged int64 }{{0, 1000, 3}, {1000, 2000, 2}, {2000, 3000, 1}, {3000, 5000, 1}, {5000, 6000, 1}} {
			w := c.calls[i][0]
			must.True(t, int64(w.Start/ms) == want.start && int64(w.End/ms) == want.end && w.Acknowledged == want.acknowledged,
				"window %d is from %v to %v and has %d records, want %+v", i, w.Start, w.End, w.Acknowledged, want)
		}
	})
}

func TestASecondThatIsOverBeforeTheEndHasAWindowOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := nullShard(plan.Load{})
		r := s.run
		r.shards, r.spare = []*Shard{s}, new(stats.Phases)
		var cuts []time.Duration
		r.feed = NewFeed(func([]stats.Window) {}, func(_, next []stats.Window) []stats.Window {
			cuts = append(cuts, next[0].End)
			return next
		})
		for _, end := range []time.Duration{2*windowLength + 1, 3 * windowLength, 3 * windowLength} {
			r.cutLast(end)
		}
		want := []time.Duration{2 * windowLength, 2*windowLength + 1, 3 * windowLength, 3 * windowLength}
		if <-r.feed.Close(); !slices.Equal(cuts, want) {
			t.Errorf("windows end at %v, want %v", cuts, want)
		}
	})
}
