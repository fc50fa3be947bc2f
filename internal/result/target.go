package result

import (
	"cmp"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// maxRates bounds the changes of the target: those of all processes of a merged run.
const maxRates = 10_000

// retarget takes over changes of the target. Each is the difference that it makes: of several
// processes, each has changed its own. None is dropped: the target would be wrong from then on.
func (f *Fold) retarget(events []stats.Event) {
	before := len(f.rates)
	for _, e := range events {
		switch n := len(f.rates); {
		case e.Kind != stats.RateChanged || f.header.Plan.RecordsPerSecond() <= 0:
		case n == maxRates:
			f.rates[n-1].NewRate += e.NewRate - e.OldRate
		default:
			f.rates = append(f.rates, e)
		}
	}
	if len(f.rates) == before && before < maxRates {
		return
	}
	slices.SortStableFunc(f.rates, func(a, b stats.Event) int { return cmp.Compare(a.At, b.At) })
	f.schedule = f.header.Plan.Schedule()
	for _, e := range f.rates {
		f.schedule = f.schedule.Change(e.At, f.schedule.Rate(e.At)+e.NewRate-e.OldRate)
	}
}

// Targets returns the target over time, with the changes by the user; nil: the rate was unlimited.
func (r *Result) Targets() plan.Schedule {
	if r.Plan.RecordsPerSecond() <= 0 {
		return nil
	}
	s := r.Plan.Schedule()
	for i := range r.Events {
		if e := &r.Events[i]; e.Kind == stats.RateChanged {
			at := secondsOf(e.AtSeconds)
			s = s.Change(at, s.Rate(at)+e.NewRate-e.OldRate)
		}
	}
	return s
}

// varies reports whether the target is not one rate: it has stages, or was changed.
func (f *Fold) varies() bool { return len(f.rates) > 0 || len(f.header.Plan.Load.Rate.Stages) > 0 }

// paused reports whether a window is of a pause between stages, which shows nothing of the rate.
func (f *Fold) paused(start, end time.Duration) bool {
	return f.varies() && f.schedule.Rate((start+end)/2) == 0
}

// target sets the target of the evidence.
func (f *Fold) target(e *verdict.Evidence, t *Throughput, w *stats.Window) {
	e.Target = t.TargetRecordsPerSecond
	if !f.varies() {
		return
	}
	e.TargetSending, e.TargetLast = e.Target, f.schedule.Rate(w.End)
	if f.together == nil || f.together.Overlap == nil {
		e.TargetSending = f.schedule.Mean(w.FirstDue, w.LastSent)
	}
}
