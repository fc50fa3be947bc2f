//go:build !race

package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// These tests are long and of one goroutine: the race detector would find nothing.

func TestAWholeReadingFindsExactlyWhatHappened(t *testing.T) {
	for seed := range uint64(150) {
		w := newWorld(seed, seed%2 == 0, false, seed%3 == 0, maxRanges)
		got := w.book.Verify(w.read())
		addsUp(t, got)
		want := w.truth()
		want.Readers = 1
		want.Corrupted, want.Unstamped, want.Foreign, want.OtherRun = got.Corrupted, got.Unstamped, got.Foreign, got.OtherRun // see the tables
		want.Gaps, want.GapsBeyond, want.Blame, want.RepeatsAllowed = got.Gaps, got.GapsBeyond, got.Blame, got.RepeatsAllowed
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-model +got):\n%s", seed, diff)
		}
	}
}

func TestAPartialReadingCallsNothingLostThatMayBeThere(t *testing.T) {
	var lost, certain, trueLost int64
	for seed := range uint64(250) {
		w := newWorld(seed, seed%2 == 0, true, seed%3 == 0, maxRanges)
		got := w.book.Verify(w.read())
		addsUp(t, got)
		want := w.truth()
		if got.AcknowledgedRead != want.AcknowledgedRead || got.Aborted != want.Aborted || got.AbortedRead != want.AbortedRead ||
			got.Resurrected != want.Resurrected || got.UnknownRead != want.UnknownRead || got.Checked != want.Checked || got.Inexact {
			t.Fatalf("seed %d: got %+v, want %+v", seed, got, want)
		}
		must.Hold(t, got.Lost <= want.Lost, "seed %d: %d lost, and only %d are", seed, got.Lost, want.Lost)
		must.Hold(t, w.disorder || got.Lost >= w.certain, "seed %d: %d lost, and %d certainly are", seed, got.Lost, w.certain)
		lost, certain, trueLost = lost+got.Lost, certain+w.certain, trueLost+want.Lost
	}
	t.Logf("%d found lost; %d lie between records that were read; %d are lost", lost, certain, trueLost)
}

func TestTooLittleMemoryIsSaidAndClaimsNothingFalse(t *testing.T) {
	var inexact, undecided int
	for seed := range uint64(250) {
		limit := 3 + int(seed%20)
		w := newWorld(seed, seed%2 == 0, seed%4 > 1, seed%3 == 0, limit)
		for _, l := range w.book.Lanes {
			n := max(len(l.Acknowledged), len(l.Failed), len(l.Aborted))
			must.Hold(t, n <= limit, "seed %d: %d ranges, the limit is %d", seed, n, limit)
		}
		got := w.book.Verify(w.read())
		addsUp(t, got)
		want := w.truth()
		if got.AcknowledgedRead > want.AcknowledgedRead || got.Lost > want.Lost || got.Resurrected > want.Resurrected ||
			got.UnknownRead > want.UnknownRead || got.Duplicated > want.Duplicated || got.Reordered > want.Reordered || got.Checked != want.Checked {
			t.Fatalf("seed %d: got %+v, want no more than %+v", seed, got, want)
		}
		must.Hold(t, got.LateUndecided == want.Duplicated+want.Reordered-got.Duplicated-got.Reordered, "seed %d: %+v does not say which are late of %+v", seed, got, want)
		if got.Inexact {
			inexact++
		}
		if got.Undecided > 0 {
			undecided++
		}
	}
	must.True(t, inexact >= 25 && undecided >= 25, "%d worlds were inexact and %d undecided: this tests nothing", inexact, undecided)
}
