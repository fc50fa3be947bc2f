package study

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// The rules of a trial that holds. OpenMessaging Benchmark stops at a backlog of 1,000 records, which
// is a millisecond of a fast cluster; shares of the rate do not depend on how fast it is.
const (
	kept    = 0.99  // share of the rate that must be reached in long trials
	growth  = 0.005 // share of the rate by which the backlog may grow
	residue = 0.5   // seconds of traffic that may wait in the end
	ripple  = 0.05  // seconds of traffic, or share of a short trial, by which any load goes up and down

	// lastSeconds is the end of a run in which the residue is looked at.
	lastSeconds = 10
)

// Backlog is what waited while a load went on at a rate: records that were due and are not acknowledged,
// or not read.
type Backlog struct {
	Seconds        float64 `json:"seconds"`          // over which it was looked at
	GrowsPerSecond float64 `json:"grows_per_second"` // records; Theil-Sen slope of the measured seconds
	AtEnd          float64 `json:"at_end"`           // records, median of the last 10 s
}

// backlogOf returns the backlog of a result at a target in records a second; nil: it has no measured
// second. The lag of a run that only reads is no backlog: its records are older than the run.
func backlogOf(r *result.Result, target float64) *Backlog {
	if len(r.Series) == 0 {
		return nil
	}
	var at, waiting []float64
	done, first := 0.0, r.Series[0].StartSeconds
	if r.Fetch != nil && r.Plan.ReadsOnly() {
		first = r.Fetch.FirstReadSeconds
	}
	for i := range r.Series {
		p := &r.Series[i]
		lag, known := float64(p.ConsumerLag), p.ConsumerLag != result.NotKnown
		if r.Plan.ReadsOnly() {
			done, lag, known = done+float64(p.Consumed), 0, true
		} else {
			done += float64(p.Acknowledged + p.Failed)
		}
		if known && !p.Warmup && p.Seconds >= result.ShortRow && p.End() <= first+r.Plan.Load.Duration.Std().Seconds()+result.ShortRow {
			at = append(at, p.End())
			waiting = append(waiting, max(0, target*(p.End()-first)-done)+lag)
		}
	}
	return backlog(at, waiting)
}

// backlog concludes on what waited at some seconds.
func backlog(at, waiting []float64) *Backlog {
	if len(at) == 0 {
		return nil
	}
	last := slices.Sorted(slices.Values(waiting[max(0, len(waiting)-lastSeconds):]))
	return &Backlog{at[len(at)-1] - at[0], inference.TheilSen(at, waiting, alpha).Value, last[len(last)/2]}
}

// reasons returns why a backlog does not hold at a rate in records a second.
func (b *Backlog) reasons(rate float64) (why []string) {
	if b.GrowsPerSecond > growth*rate && b.GrowsPerSecond*b.Seconds > ripple*rate {
		why = append(why, fmt.Sprintf("the backlog grows by %s records a second", theme.PerSecond(b.GrowsPerSecond)))
	}
	if b.AtEnd >= residue*rate {
		why = append(why, fmt.Sprintf("%s records waited in the end, the traffic of %s", theme.Count(int64(b.AtEnd)),
			theme.Duration(time.Duration(b.AtEnd/rate*float64(time.Second)))))
	}
	return why
}

// slo returns what each trial has to keep, as it was given.
func (s *Study) slo() (texts []string) {
	if s.Find != nil {
		for _, e := range s.Find.SLO {
			texts = append(texts, e.String())
		}
	}
	return texts
}

// checkSLO returns an error if a trial of a plan cannot be judged.
func (s *Search) checkSLO(p *plan.Plan) error {
	for _, e := range s.SLO {
		if err := e.Check(p); err != nil {
			return fmt.Errorf("--slo %q cannot be judged: %w", e, err)
		}
	}
	return nil
}

// offSchedule is the reason of a run that is not valid. The limit of the same name says it with numbers.
const offSchedule = "kt did not keep its schedule"

// judge returns what a trial showed, and why it did not pass.
func (s *Search) judge(step Step, l *LoadFigures) Trial {
	t := Trial{Step: step, Outcome: Passed, Achieved: l.Of(metric.Rate), Reasons: []string{}}
	limit := l.Limit.String() + ": " + l.Evidence
	elsewhere := !l.Valid || ofClient(l.Limit) || l.Limit == verdict.Throttle
	if step.Rate == 0 {
		if elsewhere {
			t.Reasons = append(t.Reasons, limit)
		}
		return t
	}
	t.Reasons = s.reasons(step, l)
	switch {
	case l.Backlog == nil || l.Backlog.Seconds+2 < step.Time.Std().Seconds()/2: // rows are seconds, and the first and last may be missing
		t.Outcome, t.Reasons = Invalid, append(t.Reasons, "too little was measured; a topic to read from must hold more")
	case len(t.Reasons) == 0:
	case elsewhere:
		said := func(reason string) bool { return reason == offSchedule && l.Limit == verdict.Schedule }
		t.Outcome, t.Reasons = Invalid, append(slices.DeleteFunc(t.Reasons, said), limit)
	default:
		t.Outcome = Failed
	}
	return t
}

// reasons returns why a load does not hold. A stall at the end of a trial leaves a part of the rate waiting,
// which is a backlog within its residue, and no missing rate.
func (s *Search) reasons(step Step, l *LoadFigures) []string {
	rate, why := step.Rate, []string{}
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if short := 1 - l.Of(metric.Rate)/rate; short > max(1-kept, min(ripple, residue/step.Time.Std().Seconds())) {
		add("%s of the rate was reached", theme.Percent(l.Of(metric.Rate)/rate))
	}
	if l.Backlog != nil {
		why = append(why, l.Backlog.reasons(rate)...)
	}
	if l.Failed > 0 {
		add("%s failed or unknown", theme.Plural(l.Failed, "record", "records"))
	}
	for _, o := range l.SLO {
		switch {
		case o.Held:
		case o.Value != nil:
			add("%s: it was %s", o.Expression, o.Shown())
		default:
			add("%s: %s", o.Expression, cmp.Or(o.Note, "it was not in every stretch"))
		}
	}
	if !l.Valid {
		add(offSchedule)
	}
	return why
}
