package run

import (
	"errors"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func TestRecordsThatWereDeletedBeforeTheyWereReadAreAFault(t *testing.T) {
	res := result.Result{Header: result.Header{Plan: plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 1}}}, Valid: true, Fetch: &result.Fetch{Deleted: 3}}
	if f := (*Fault)(nil); !errors.As(Judge(&res, false), &f) || f.Kind != Failed {
		t.Errorf("the fault is %v, want one", f)
	}
	res.Plan.Read.AllowGaps = true
	must.Err(t, "", Judge(&res, false), "with --allow-gaps")
}

// An empty ledger is no proof of anything.
func TestALedgerWithoutAcknowledgedRecordsIsAFault(t *testing.T) {
	res := result.Result{Header: result.Header{Plan: plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 1}}}, Valid: true}
	for acknowledged, want := range map[int64]string{0: "nothing was verified: the ledger has no acknowledged record", 1: ""} {
		res.Verify = &ledger.Verdict{Issued: 1, Acknowledged: acknowledged, AcknowledgedRead: acknowledged}
		must.Err(t, want, Judge(&res, false), "%d acknowledged", acknowledged)
	}
}

func TestARunThatIsNotValidAlsoSaysWhichLimitsItBroke(t *testing.T) {
	value := 3000.0
	res := result.Result{
		Invalid: []string{"kt sent 4 % of the records late"},
		Limits:  []result.Limit{{Expression: "p99<1ms", Value: &value, Unit: "us"}, {Expression: "errors==0", Held: true}},
	}
	res.AbortedBy = "errors>1: 2 records at 3s"
	err := Judge(&res, false)
	want := "the run is not valid: kt sent 4 % of the records late; also ended by --abort-on errors>1: 2 records at 3s; " +
		"also 1 limit of 2 not held: p99<1ms: 3.00ms"
	if f := (*Fault)(nil); !errors.As(err, &f) || f.Kind != NotValid || f.Error() != want {
		t.Errorf("the fault is %v, want %s", err, want)
	}
}
