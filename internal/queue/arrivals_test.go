package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
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
			if a.AtEndOffsets() {
				t.Errorf("reading ends before queue %d was read", q)
			}
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
