package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// What a system says of a queue is a guess or a second old. In queues of its own kt knows better.
func TestNoMoreWaitsInNewQueuesThanWasWrittenAndNotRead(t *testing.T) {
	for fresh, want := range map[bool]int64{true: 3, false: 9} {
		a := NewArrivals(Options{
			Plan: plan.Plan{Read: plan.Read{Consumers: 1}}, Queues: 2, Fresh: fresh, Written: func() []int64 { return []int64{10, 5} },
		})
		a.counted[0].Store(7)
		a.counted[1].Store(6) // read before its receipt came
		a.lag = []int64{8, 1}
		must.Match(t, want, a.Take().ConsumerLag, "fresh %v: wait", fresh)
	}
}

// A system answers at some times, and each answer takes a while.
func TestTheBacklogIsLookedAtAtOnceAndInTheEnd(t *testing.T) {
	never := func(time.Duration) bool { return false }
	for _, tc := range []struct {
		name    string
		answers func(at time.Duration) bool
		length  time.Duration // of the load
		lag     int64         // in the end
		known   bool
		most    time.Duration // that the end takes
	}{
		{"a load of less than a second", func(time.Duration) bool { return true }, 300 * time.Millisecond, 1300, true, 100 * time.Millisecond},
		{"it changes after the last look", func(time.Duration) bool { return true }, 5500 * time.Millisecond, 12300, true, 100 * time.Millisecond},
		{"a system that never answers", never, 5 * time.Second, 0, false, 0},
		{"a system that hangs", nil, 5 * time.Second, 0, false, 0},
		{"one that answers no more", func(at time.Duration) bool { return at < 3*time.Second }, 9 * time.Second, 5300, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			a := NewArrivals(Options{Queues: 2, Backlog: func(ctx context.Context) ([]int64, error) {
				at := time.Since(began)
				if tc.answers == nil {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				if !tc.answers(at) {
					return nil, errors.New("no answer")
				}
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return []int64{300, 1000 + 1000*int64(2*at/time.Second)}, nil
			}})
			ctx, end := context.WithCancel(t.Context())
			a.Start(ctx, nil)
			time.Sleep(tc.length)
			end()
			over := time.Now()
			a.Wait()
			w := a.Take()
			if took := time.Since(over); w.ConsumerLag != tc.lag || (w.LagUnknown == 0) != tc.known || took > tc.most {
				t.Errorf("%s: %d wait, not known to %d, after %v; want %d, known %v", tc.name, w.ConsumerLag, w.LagUnknown, took, tc.lag, tc.known)
			}
		})
	}
}

func TestTheBacklogOfAQueueThatIsNotToldIsNotKnown(t *testing.T) {
	a := NewArrivals(Options{Queues: 2, Backlog: func(context.Context) ([]int64, error) { return []int64{5, -1}, nil }})
	if a.ask(t.Context()); a.Take().LagUnknown != 1 {
		t.Error("the backlog of both queues counts as known")
	}
}
