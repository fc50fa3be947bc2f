package result

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
)

// verifying returns the limits of a round trip with a verdict.
func verifying(v *ledger.Verdict, limits ...string) []Limit {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Roundtrip, Verify: true}, Limits: limits})
	f.Finish(Trailer{Ended: Completed, ReadEnd: ReadAll, Verify: v})
	return f.Result().Limits
}

func TestAFindingHasAValueOnlyIfEveryRecordWasChecked(t *testing.T) {
	for _, tc := range []struct {
		name        string
		v           ledger.Verdict
		limit       string
		held, known bool
	}{
		{"all were checked", ledger.Verdict{Acknowledged: 9, AcknowledgedRead: 9}, "lost==0", true, true},
		{"one was not", ledger.Verdict{Acknowledged: 9, AcknowledgedRead: 8, Unchecked: 1}, "lost==0", false, false},
		{"one is undecided", ledger.Verdict{Acknowledged: 9, AcknowledgedRead: 8, Undecided: 1}, "duplicated==0", false, false},
		{"a process left nothing", ledger.Verdict{Acknowledged: 9, AcknowledgedRead: 9, PartsUnknown: 1}, "corrupted==0", false, false},
		{"it is duplicated or reordered", ledger.Verdict{Acknowledged: 9, AcknowledgedRead: 9, LateUndecided: 1}, "reordered==0", false, false},
		{"another run", ledger.Verdict{Acknowledged: 9, Lost: 9, OfAnotherRun: true}, "lost<100", false, false},
		{"it is broken all the same", ledger.Verdict{Acknowledged: 9, Lost: 3, Unchecked: 6}, "lost==0", false, true},
		{"it may be broken", ledger.Verdict{Acknowledged: 9, Lost: 3, Unchecked: 6}, "lost<5", false, false},
		{"it is certain", ledger.Verdict{Acknowledged: 9, Lost: 5, Unchecked: 4}, "lost<5", false, true},
		{"some lost ones are wanted", ledger.Verdict{Acknowledged: 9, Unchecked: 9}, "lost>0", false, false},
	} {
		l := verifying(&tc.v, tc.limit)[0]
		if l.Held != tc.held || (l.Value != nil) != tc.known || tc.known == strings.HasPrefix(l.Note, "not known: ") {
			t.Errorf("%s: %s: %+v", tc.name, tc.limit, l)
		}
	}
}

func TestWhatWasNotCheckedIsNamedWithItsNumber(t *testing.T) {
	for _, tc := range []struct {
		v    ledger.Verdict
		want string
	}{
		{ledger.Verdict{Acknowledged: 6000, Unchecked: 5900}, "5,900 of 6,000 acknowledged records were not checked"},
		{ledger.Verdict{Readers: 2, Acknowledged: 3000, Unchecked: 5000, Undecided: 900}, "5,900 of 6,000 "},
		{ledger.Verdict{Acknowledged: 6000, Unchecked: 3000, PartsUnknown: 1}, "3,000 of 6,000 acknowledged records were not checked, because 1 process "},
		{ledger.Verdict{Acknowledged: 6000, PartsUnknown: 2}, "2 processes of the run left no verification"},
		{ledger.Verdict{Acknowledged: 6000, LateUndecided: 1}, "1 record is duplicated or reordered"},
		{ledger.Verdict{OfAnotherRun: true, Lost: 5}, "nothing was compared"},
		{ledger.Verdict{Acknowledged: 6000}, ""},
	} {
		if got := NotChecked(&tc.v); !strings.Contains(got, tc.want) || (got == "") != tc.v.Complete() {
			t.Errorf("%+v: %q, want %q", tc.v, got, tc.want)
		}
	}
}
