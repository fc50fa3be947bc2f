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
	for _, tc := range must.Rows[[]struct {
		V    ledger.Verdict
		Want string
	}](t, "verify") {
		if got := NotChecked(&tc.V); !strings.Contains(got, tc.Want) || (got == "") != tc.V.Complete() {
			t.Errorf("%+v: %q, want %q", tc.V, got, tc.Want)
		}
	}
}
