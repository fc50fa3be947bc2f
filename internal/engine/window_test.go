package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

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
			if int64(w.Start/ms) != want.start || int64(w.End/ms) != want.end || w.Acknowledged != want.acknowledged {
				t.Errorf("window %d is from %v to %v and has %d records, want %+v", i, w.Start, w.End, w.Acknowledged, want)
			}
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
