package result

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// verifying returns the limits of a round trip with a verdict.
func verifying(v *ledger.Verdict, limits ...string) []Limit {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Roundtrip, Verify: true}, Limits: limits})
	f.Finish(Trailer{Ended: Completed, ReadEnd: ReadAll, Verify: v})
	return f.Result().Limits
}

func TestAFindingHasAValueOnlyIfEveryRecordWasChecked(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name        string
		V           ledger.Verdict
		Limit       string
		Held, Known bool
	}](t, "verify") {
		l := verifying(&tc.V, tc.Limit)[0]
		if l.Held != tc.Held || (l.Value != nil) != tc.Known || tc.Known == strings.HasPrefix(l.Note, "not known: ") {
			t.Errorf("%s: %s: %+v", tc.Name, tc.Limit, l)
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
