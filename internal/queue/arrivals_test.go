package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// says is a system that says one backlog after the other, and the last one for ever.
func says(backlogs ...[]int64) func(context.Context) ([]int64, error) {
	return func(context.Context) ([]int64, error) {
		now := backlogs[0]
		if len(backlogs) > 1 {
			backlogs = backlogs[1:]
		}
		return now, nil
	}
}

// The broker of a partition is away.
func TestAQueueWhoseBacklogIsNotKnownIsNotEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := written(10)
		a := NewArrivals(Options{Queues: 1, Book: book, Written: func() []int64 { return []int64{10} }, Backlog: says([]int64{-1})})
		defer a.Wait()
		must.Do(t, a.SetEndOffsets(t.Context()))
		time.Sleep(2 * time.Second)
		readers, err := a.Readers(t.Context())
		if v := book.Verify(readers...); a.AtEndOffsets() || err == nil || v.Lost != 0 || v.Unchecked != 10 {
			t.Errorf("at the end: %v; %d lost, %d unchecked, %v", a.AtEndOffsets(), v.Lost, v.Unchecked, err)
		}
	})
}

func TestReadingEndsWhenABacklogBecomesKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewArrivals(Options{Queues: 2, Backlog: says([]int64{1, -1}, []int64{1, -1}, []int64{1, 1})})
		defer a.Wait()
		must.Do(t, a.SetEndOffsets(t.Context()))
		rec := stats.NewRecorder()
		for q := range int32(2) {
			time.Sleep(2 * time.Second)
			must.True(t, !a.AtEndOffsets(), "reading ends before queue %d was read", q)
			a.account(rec, 0, 0, []Message{{Queue: q}}, 0, 0)
		}
		time.Sleep(2 * time.Second)
		if !a.AtEndOffsets() { // others write to the queues
			t.Error("reading goes on")
		}
	})
}

// Others write to queue 1 and never let it be empty. Queue 0 has lost what was written.
func TestALossShowsThoughOthersWriteToAnotherQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := written(10)
		var a *Arrivals
		a = NewArrivals(Options{Queues: 2, Book: book, Backlog: func(context.Context) ([]int64, error) {
			a.counted[1].Add(1)
			return []int64{0, 1}, nil
		}})
		defer a.Wait()
		must.Do(t, a.SetEndOffsets(t.Context()))
		time.Sleep(3 * time.Second)
		readers, err := a.Readers(t.Context())
		if v := book.Verify(readers...); !a.AtEndOffsets() || v.Lost != 10 || v.Unchecked != 0 {
			t.Errorf("at the end: %v; %d lost, %d unchecked, %v", a.AtEndOffsets(), v.Lost, v.Unchecked, err)
		}
	})
}

// Reading was cut off. What was not acknowledged comes back when the system has seen that the connection is gone.
func TestMessagesThatComeBackToTheirQueueAreNotLost(t *testing.T) {
	for _, tc := range []struct {
		name            string
		backlogs        [][]int64
		lost, unchecked int64
	}{
		{"it comes back late", [][]int64{{0}, {1}}, 0, 1},
		{"it is there", [][]int64{{1}}, 0, 1},
		{"it is not known at first", [][]int64{{-1}, {0}}, 0, 1},
		{"it does not come back", [][]int64{{0}}, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			book := written(1)
			a := NewArrivals(Options{Queues: 1, Book: book, Backlog: says(tc.backlogs...)})
			readers, err := a.Readers(t.Context())
			if v := book.Verify(readers...); v.Lost != tc.lost || v.Unchecked != tc.unchecked || (err != nil) != (tc.unchecked > 0) {
				t.Errorf("%s: %d lost, %d unchecked, %v", tc.name, v.Lost, v.Unchecked, err)
			}
		})
	}
}

func TestNothingIsAskedAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		a := NewArrivals(Options{Queues: 1, Backlog: func(context.Context) ([]int64, error) { asked++; return []int64{1}, nil }})
		must.Do(t, a.SetEndOffsets(t.Context()))
		time.Sleep(time.Second)
		a.Wait()
		before := asked
		a.Start(t.Context(), nil)
		time.Sleep(time.Minute)
		must.Match(t, before, asked, "it was asked %d times more", asked-before)
	})
}

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
