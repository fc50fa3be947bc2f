package result

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// staged is the fold of a load with these stages, of which an ideal client offers what shape leaves of each second.
func staged(t *testing.T, stages string, arrivals plan.Arrivals, shape func(*stats.Window)) Result {
	t.Helper()
	rate := must.Have(plan.ParseTarget(stages))(t)
	bounds := rate.Bounds()
	length := bounds[len(bounds)-1]
	f := NewFold(Header{Plan: plan.Plan{
		Command: plan.Produce, Producers: 1, Load: plan.Load{Rate: rate, Duration: plan.Duration(length), Arrivals: arrivals},
	}})
	for _, w := range follow(rate.Schedule(rate.PerSecond), 1, int(length/time.Second)) {
		if shape != nil {
			shape(&w)
		}
		f.AddWindow(w)
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result()
}

func TestAStageThatMissedItsTargetSaysHowMuchItReached(t *testing.T) {
	for name, tc := range map[string]struct {
		arrivals plan.Arrivals
		second   time.Duration
		keeps    float64 // of the records of that second
		want     []float64
	}{
		"all are kept":               {plan.Uniform, 0, 1, []float64{0, 0, 0}},
		"one was cut a little late":  {plan.Uniform, 2 * time.Second, 0.98, []float64{0, 0, 0}},
		"a ramp lacks half a second": {plan.Uniform, 3 * time.Second, 0.5, []float64{0, 0.6875, 0}},
		"so does one at random":      {plan.Poisson, 3 * time.Second, 0.5, []float64{0, 0.6875, 0}},
		"the last one":               {plan.Uniform, 4 * time.Second, 0.25, []float64{0, 0, 0.25}},
	} {
		r := staged(t, "1000@2s,500..1500@2s,100@1s", tc.arrivals, func(w *stats.Window) {
			if w.Start == tc.second {
				w.Offered = int64(tc.keeps * float64(w.Offered))
			}
		})
		for i, row := range r.Stages {
			reached := 0.0
			if row.TargetReached != nil {
				reached = *row.TargetReached
			}
			if math.Abs(reached-tc.want[i]) > 0.001 {
				t.Errorf("%s: stage %d reached %v of its target, want %v (0: kept)", name, i+1, reached, tc.want[i])
			}
		}
	}
}

func TestRecordsOfTheNextStageAreNoLatenessOfThisOne(t *testing.T) {
	r := staged(t, "100@2s,1000000@2s", plan.Uniform, func(w *stats.Window) {
		if w.End == 2*time.Second { // it was cut a little late
			w.Offered += 3000
			w.LastDue += 3 * time.Millisecond
			w.LastSent += 3 * time.Millisecond
		}
	})
	for i, row := range r.Stages {
		if !row.Valid || row.TargetReached != nil {
			t.Errorf("stage %d: valid %t, %v of the target; %v", i+1, row.Valid, row.TargetReached, row.Invalid)
		}
	}
}

func TestRowsOfStagesAddUpToTheLoad(t *testing.T) {
	r := staged(t, "1000@2s,500..1500@2s,100@1s", plan.Uniform, nil)
	var sum Records
	for i, target := range []float64{1000, 1000, 100} {
		row := r.Stages[i]
		sum.Offered += row.Records.Offered
		sum.Acknowledged += row.Records.Acknowledged
		if math.Abs(row.TargetRecordsPerSecond-target) > 1e-6 || math.Abs(row.RecordsPerSecond/target-1) > 0.02 || row.MeasuredSeconds <= 0 {
			t.Errorf("stage %d: %v/s of %v/s in %v s, want about %v/s", i+1, row.RecordsPerSecond, row.TargetRecordsPerSecond, row.MeasuredSeconds, target)
		}
	}
	must.Match(t, r.Records, sum, "stages have, the load")
}

func TestTheSnapshotHasTheTargetOfTheStageOfItsSecond(t *testing.T) {
	rate := must.Have(plan.ParseTarget("100@2s,400@2s"))(t)
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Produce, Producers: 1, Load: plan.Load{Rate: rate, Duration: plan.Duration(4 * time.Second)}}})
	want := []float64{100, 100, 400, 400}
	for i, w := range follow(rate.Schedule(rate.PerSecond), 1, 4) {
		f.AddWindow(w)
		if s := f.Snapshot(); s.Target != want[i] || s.Targets.Rate(0) != 100 || s.Targets.Rate(3*time.Second) != 400 {
			t.Errorf("second %d: target %v, want %v", i, s.Target, want[i])
		}
	}
}

func TestTheStagesOfTheWireEngineKeepItsOwnBound(t *testing.T) {
	rate := must.Have(plan.ParseTarget("1000@2s,500@2s"))(t)
	for engine, valid := range map[plan.Engine]bool{plan.Client: true, plan.Wire: false} {
		f := NewFold(Header{Plan: plan.Plan{
			Command: plan.Produce, Engine: engine, Producers: 1, Load: plan.Load{Rate: rate, Duration: plan.Duration(4 * time.Second)},
		}})
		for _, w := range follow(rate.Schedule(rate.PerSecond), 1, 4) {
			w.OwnSendDelay.RecordN(3*time.Millisecond, w.Offered)
			f.AddWindow(w)
		}
		f.Finish(Trailer{Ended: Completed})
		stages := f.Result().Stages
		if len(stages) != 2 {
			t.Fatalf("%d stages, want 2", len(stages))
		}
		for i, row := range stages {
			must.Match(t, row.Valid, valid, "stage %d, 3ms late with the %s engine: valid; %v", i+1, engine, row.Invalid)
		}
	}
}

// A pause is no stall, no missed target and no broken limit, and nothing else of a run suffers from it.
func TestNothingIsJudgedInAPauseUnlessARecordFailsInIt(t *testing.T) {
	for failed, want := range map[int64]struct {
		stretches, held int64
		aborted         bool
	}{0: {6, 6, false}, 7: {7, 6, true}} {
		rate := must.Have(plan.ParseTarget("1000@3s,0@3s,1000@3s,0@1s"))(t)
		h := header(0)
		h.Plan.Load.Rate, h.Plan.Load.Duration = rate, plan.Duration(10*time.Second)
		h.Limits = []string{"rate>=900 over 1s"}
		f := NewFold(h)
		f.AbortOn([]string{"rate<100"})
		for i, w := range follow(rate.Schedule(rate.PerSecond), 1, 10) {
			switch i {
			case 4:
				w.Failed = failed
			case 9:
				w.ShardTime = 0
			}
			w.Response.RecordN(time.Millisecond, w.Acknowledged)
			f.AddWindow(w)
		}
		f.Finish(Trailer{Ended: Completed, SendingSeconds: 10})
		r := f.Result()
		if l := r.Limits[0]; l.Stretches != want.stretches || l.StretchesHeld != want.held || (f.Broken() != "") != want.aborted {
			t.Errorf("with %d failed, the limit is %+v and the condition %q; want %+v", failed, l, f.Broken(), want)
		}
		pause := r.Stages[1]
		if !pause.Valid || pause.TargetReached != nil || pause.MeasuredSeconds != 3 || pause.TargetRecordsPerSecond != 0 || !r.Valid || failed == 0 && r.BoundBy.Limit != verdict.None {
			t.Errorf("with %d failed, the pause is %+v, the run %v, bound by %s: %s", failed, pause, r.Invalid, r.BoundBy.Limit, r.BoundBy.Evidence)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}
