package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

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
