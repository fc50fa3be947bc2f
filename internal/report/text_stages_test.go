package report

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func TestTheWorstOfTheStagesThatMissedTheirTargetsIsNamed(t *testing.T) {
	half, most := 0.5, 0.9
	readers := map[plan.Command]int{plan.Consume: 1}
	kept := result.StageRow{OfferedRecordsPerSecond: 10, TargetRecordsPerSecond: 10}
	bad := result.StageRow{OfferedRecordsPerSecond: 50, ReadRecordsPerSecond: 49, TargetRecordsPerSecond: 100, TargetReached: &half}
	less := result.StageRow{OfferedRecordsPerSecond: 90, TargetRecordsPerSecond: 100, TargetReached: &most}
	for name, tc := range map[string]struct {
		command plan.Command
		rows    []result.StageRow
		want    []string
	}{
		"none":     {plan.Produce, []result.StageRow{kept, kept}, nil},
		"one":      {plan.Produce, []result.StageRow{kept, bad}, []string{"50%", "stage 2:", "50 of 100 records/s offered"}},
		"two":      {plan.Produce, []result.StageRow{kept, less, bad, kept}, []string{"50%", "stage 3:", "2 of 4 stages"}},
		"a reader": {plan.Consume, []result.StageRow{bad}, []string{"49 of 100 records/s read"}},
	} {
		got := missedStages(&result.Result{Header: result.Header{Plan: plan.Plan{Command: tc.command, Read: plan.Read{Consumers: readers[tc.command]}}}, Stages: tc.rows})
		must.Match(t, (tc.want == nil), (got == ""), "%s: %q", name, got)
		must.Has(t, name, got, tc.want...)
	}
}
