package study

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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

// backlogOf returns the backlog of a result at a target in records a second; nil: it has no measured second.
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
		made, lag := p.Acknowledged+p.Failed, p.ConsumerLag
		if r.Plan.ReadsOnly() {
			made, lag = p.Consumed, 0
		}
		done += float64(made)
		if lag != result.NotKnown && !p.Warmup && p.Seconds >= result.ShortRow && p.End() <= first+r.Plan.Load.Duration.Std().Seconds()+result.ShortRow {
			at = append(at, p.End())
			waiting = append(waiting, max(0, target*(p.End()-first)-done)+float64(lag))
		}
	}
	return backlog(at, waiting)
}

func backlog(at, waiting []float64) *Backlog {
	if len(at) == 0 {
		return nil
	}
	last := slices.Sorted(slices.Values(waiting[max(0, len(waiting)-lastSeconds):]))
	return &Backlog{at[len(at)-1] - at[0], inference.TheilSen(at, waiting, alpha).Value, last[len(last)/2]}
}

// judge returns what a trial showed, and why it did not pass. Of a workload every load has to pass at its own target.
func (s *Search) judge(step Step, loads []LoadFigures) Trial {
	if !s.Scale {
		return s.judgeLoad(step, &loads[0])
	}
	t := Trial{Step: step, Outcome: Passed, Achieved: loads[0].Measures[metric.Rate], Reasons: []string{}}
	for i := range loads[1:] {
		l := &loads[1+i]
		if l.aborted != "" { // the others ended with it
			t.Load, t.Outcome, t.Reasons = l.Load, Failed, []string{l.Load + ": ended by " + l.aborted}
			return t
		}
		of := step
		of.Rate = l.Target
		one := s.judgeLoad(of, l)
		if one.Outcome == Passed {
			continue
		}
		if t.Load = cmp.Or(t.Load, l.Load); t.Outcome != Invalid {
			t.Outcome = one.Outcome
		}
		t.Reasons = append(t.Reasons, mapped(one.Reasons, func(why string) string { return l.Load + ": " + why })...)
	}
	return t
}

func (s *Search) judgeLoad(step Step, l *LoadFigures) Trial {
	t := Trial{Step: step, Outcome: Passed, Achieved: l.Measures[metric.Rate], Reasons: []string{}}
	limit := l.Limit.String() + ": " + l.Evidence
	elsewhere := !l.Valid || ofClient(l.Limit) || l.Limit == verdict.Throttle
	if step.Rate > 0 || s.Scale {
		t.Reasons = step.reasons(l)
	}
	switch {
	case step.Rate == 0 && !s.Scale && elsewhere:
		t.Reasons = []string{limit}
	case step.Rate == 0 && !s.Scale:
	case step.Rate > 0 && (l.Backlog == nil || l.Backlog.Seconds+2 < step.Time.Std().Seconds()/2): // rows are seconds, and the first and last may be missing
		t.Outcome, t.Reasons = Invalid, append(t.Reasons, "too little was measured; a topic to read from must hold more")
	case len(t.Reasons) == 0 && l.Valid:
	case elsewhere:
		t.Outcome, t.Reasons = Invalid, append(t.Reasons, limit)
	default:
		t.Outcome = Failed
	}
	return t
}

// reasons returns why a load does not hold. A stall at the end leaves a backlog within the residue, and no missing rate.
func (s Step) reasons(l *LoadFigures) []string {
	b, reached := cmp.Or(l.Backlog, new(Backlog)), l.Measures[metric.Rate]/s.Rate
	return lines("reasons", map[string]any{
		"Load": l, "Reached": reached, "Backlog": b,
		"Slow":    1-reached > max(1-kept, min(ripple, residue/s.Time.Std().Seconds())),
		"Grows":   b.GrowsPerSecond > growth*s.Rate && b.GrowsPerSecond*b.Seconds > ripple*s.Rate,
		"Waits":   b.AtEnd > 0 && b.AtEnd >= residue*s.Rate,
		"Behind":  s.Rate == 0 && l.behind,
		"Traffic": theme.Duration(time.Duration(b.AtEnd / s.Rate * float64(time.Second))),
		"Late":    !l.Valid && l.Limit != verdict.Schedule, // that limit says it with numbers
	})
}

// FindDoc has the trials of a search and the peak.
type FindDoc struct {
	Peak   PeakRate     `json:"peak"`
	Limit  FindLimit    `json:"limit"`
	Trials []Trial      `json:"trials"`
	Curve  []CurvePoint `json:"curve"`
}

// FindLimit is what limited the trial at the lowest rate that did not hold.
type FindLimit struct {
	Rate            float64  `json:"rate,omitempty"`    // 0: every rate held, so it is of the burst
	Load            string   `json:"load,omitempty"`    // of a workload, that the verdict is of
	Reasons         []string `json:"reasons,omitempty"` // why it did not
	verdict.Verdict          // of the burst, where that of the trial says nothing

	First *FirstOut `json:"first_out,omitempty"` // the resource that ran out first; nil: it is not known, or kt was the limit
}

// CurvePoint is the latency at a share of the peak.
type CurvePoint struct {
	Load              string  `json:"load,omitempty"` // of a workload, which has a point for each
	Share             float64 `json:"share"`
	Rate              float64 `json:"rate"`
	Measures[float64] `json:"metrics"`
	Knee              bool `json:"knee,omitempty"` // the highest rate with a p99 of at most twice that of the lowest rate; at the next two it is higher
}

// NewFind returns the search for the highest rate at which a load holds. A load that only reads needs old
// records: beside a writer kt would measure the writer.
func NewFind(l Load, s Search, rest plan.Duration) (*Study, error) {
	s.Scale = l.IsWorkload()
	study := &Study{Name: "find", About: "What is the highest " + map[bool]string{false: "rate", true: "scale"}[s.Scale] + " that holds?", Loads: []Load{l}, Repeats: 1, Order: Listed, Rest: rest, Find: &s}
	return study, study.Check()
}

func (s Step) settle() time.Duration {
	return min(s.Time.Std()/6, 5*time.Second).Round(time.Millisecond)
}

func (s *Search) trials(d *Document) (trials []Trial, loads [][]LoadFigures, err error) {
	for _, t := range d.turns {
		if !d.state.isDone(t) {
			break
		}
		all, err := d.folder.figures(t)
		if err != nil {
			return nil, nil, err
		}
		step, _ := s.Next(trials)
		trials, loads = append(trials, s.judge(step, all)), append(loads, all)
	}
	return trials, loads, nil
}

func (s *Search) next(d *Document) ([]Turn, error) {
	trials, _, err := s.trials(d)
	step, over := s.Next(trials)
	if err != nil || over {
		return nil, err
	}
	rate, at, settle := "-1", "unlimited", step.settle()
	if step.Rate > 0 {
		rate, at = strconv.FormatFloat(step.Rate, 'f', 3, 64), theme.PerSecond(step.Rate)+" records/s"
	}
	flags := []Flag{{"rate", rate}, {"warmup", settle.String()}, {"duration", (settle + step.Time.Std()).String()}}
	if s.Scale {
		rate = strconv.FormatFloat(step.Rate, 'f', -1, 64)
		at, flags = "scale "+rate, []Flag{{"scale", rate}, {settleFlag, settle.String()}, {"run-time", flags[2].Value}}
	}
	return []Turn{{Cell: Cell{len(d.turns), flags, fmt.Sprintf("%s, %s, %v", step.Kind, at, step.Time.Std())}, Repeat: 1}}, nil
}

func (s *Search) conclude(d *Document) error {
	trials, loads, err := s.trials(d)
	if err != nil {
		return err
	}
	d.FindDoc = &FindDoc{Peak: s.Peak(trials), Trials: append([]Trial{}, trials...), Curve: []CurvePoint{}, Limit: FindLimit{Verdict: verdict.Verdict{Limit: verdict.None}}}
	for i, t := range trials {
		l, points := &loads[i][0], loads[i][:1]
		if j := slices.IndexFunc(loads[i], func(l LoadFigures) bool { return l.Load == t.Load }); j > 0 {
			l = &loads[i][j]
		}
		if s.Scale {
			points = slices.DeleteFunc(slices.Clone(loads[i][1:]), func(l LoadFigures) bool { return !figures{&l}.know(metric.P99) })
		}
		limit, says := verdict.Verdict{Limit: l.Limit, Evidence: l.Evidence}, l.Limit != verdict.None && l.Limit != verdict.Unknown
		switch {
		case t.Kind == Burst:
			d.Limit.Verdict = limit
		case t.Kind == Point, t.Kind == Rung && t.Outcome == Passed:
			for _, p := range points {
				d.Curve = append(d.Curve, CurvePoint{p.Load, t.Rate / d.Peak.Low, t.Rate, p.Measures, false})
			}
		case t.Rate == d.Peak.High && t.Outcome != Passed:
			d.Limit.Rate, d.Limit.Reasons, d.Limit.Load, d.Limit.First = t.Rate, t.Reasons, t.Load, loads[i][0].first
			if says || len(s.SLO) > 0 || d.Limit.Evidence == "" {
				d.Limit.Verdict = limit
			}
		}
	}
	curves := make(map[string][]*CurvePoint) // by load
	for i := range d.Curve {
		p := &d.Curve[i]
		curves[p.Load] = append(curves[p.Load], p)
	}
	for _, curve := range curves {
		markKnee(curve)
	}
	d.Sentence = say(map[bool]string{false: "peak", true: "peak scale"}[s.Scale], d)
	return nil
}

// markKnee marks the highest rate before the p99 grows. The next two points must both be above: one alone may be noise.
func markKnee(curve []*CurvePoint) {
	const rise = 2 // how far the p99 may grow over that of the lowest rate
	grown := func(c *CurvePoint) bool {
		p99 := c.Measures[metric.P99]
		return p99 == 0 || p99 > rise*curve[0].Measures[metric.P99] // 0: failed
	}
	for i := range len(curve) - 2 {
		if grown(curve[i+1]) && grown(curve[i+2]) {
			curve[i].Knee = true
			return
		}
	}
}
