package study

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	Reasons         []string `json:"reasons,omitempty"` // why it did not
	verdict.Verdict          // of the burst, where that of the trial says nothing
}

// CurvePoint is the latency at a share of the peak.
type CurvePoint struct {
	Share             float64 `json:"share"`
	Rate              float64 `json:"rate"`
	Measures[float64] `json:"metrics"`
	Knee              bool `json:"knee,omitempty"` // the highest rate with a p99 of at most twice that of the lowest rate; at the next two it is higher
}

// kneeRise is how far the p99 may grow over that of the lowest rate of a curve.
const kneeRise = 2

// settleShare and settleMost are the time at the beginning of a trial that is not measured.
const (
	settleShare = 6 // of the time of the trial, its n-th part
	settleMost  = 5 * time.Second
)

// NewFind returns the search for the highest rate at which a load holds. A load that only reads needs old
// records: beside a writer kt would measure the writer.
func NewFind(l Load, s Search, rest plan.Duration) (*Study, error) {
	study := &Study{
		Name: "find", About: "What is the highest rate that holds?", Loads: []Load{l}, Repeats: 1, Order: Listed, Rest: rest, Find: &s,
	}
	return study, study.Check()
}

// ofTrials are flags that a search gives its trials.
var ofTrials = []string{"rate", "throughput", "duration", "num-records", "messages", "warmup", "warmup-records"}

// checkFind returns what keeps a load from being tried at many rates.
func (l *Load) checkFind() error {
	for _, f := range l.Flags {
		if slices.Contains(ofTrials, f.Name) {
			return fmt.Errorf("--%s: kt find gives every trial its rate and its time: leave it out (--ladder and --trial-time choose them)", f.Name)
		}
	}
	switch {
	case l.Command == "consume" && !l.has("topic"):
		return errors.New("consume: each trial reads old records at a rate: name a topic that holds enough of them with --topic")
	case l.Command == "consume" && l.has("group"):
		return errors.New("--group: its committed offsets would let each trial begin where the one before ended; leave it out")
	}
	return nil
}

// settle returns the time at the beginning of a trial that is not measured.
func (s Step) settle() time.Duration {
	return min(s.Time.Std()/settleShare, settleMost).Round(time.Millisecond)
}

// cell returns the flags of a step.
func (s Step) cell(index int) Cell {
	settle := s.settle()
	rate, at := "-1", "unlimited"
	if s.Rate > 0 {
		rate, at = strconv.FormatFloat(s.Rate, 'f', 3, 64), theme.PerSecond(s.Rate)+" records/s"
	}
	flags := []Flag{{"rate", rate}, {"warmup", settle.String()}, {"duration", (settle + s.Time.Std()).String()}}
	return Cell{index, flags, fmt.Sprintf("%s, %s, %v", s.Kind, at, s.Time.Std())}
}

// trials returns the trials that were made, with their figures, and the next step if there is one.
func (s *Search) trials(d *Document) (trials []Trial, figures []*LoadFigures, next Step, over bool, err error) {
	for _, t := range d.turns {
		if !d.state.isDone(t) {
			break
		}
		loads, err := d.folder.figures(t)
		if err != nil {
			return nil, nil, next, false, err
		}
		next, _ = s.Next(trials)
		trials, figures = append(trials, s.judge(next, &loads[0])), append(figures, &loads[0])
	}
	next, over = s.Next(trials)
	return trials, figures, next, over, nil
}

func (s *Search) next(d *Document) ([]Turn, error) {
	_, _, step, over, err := s.trials(d)
	if err != nil || over {
		return nil, err
	}
	return []Turn{{Cell: step.cell(len(d.turns)), Repeat: 1}}, nil
}

func (s *Search) conclude(d *Document) error {
	trials, figures, _, _, err := s.trials(d)
	if err != nil {
		return err
	}
	d.FindDoc = &FindDoc{Peak: s.Peak(trials), Trials: append([]Trial{}, trials...), Curve: []CurvePoint{}, Limit: FindLimit{Verdict: verdict.Verdict{Limit: verdict.None}}}
	for i, t := range trials {
		d.addTrial(t, figures[i])
	}
	d.markKnee()
	d.Sentence = d.sayPeak()
	return nil
}

// addTrial adds a trial to the curve, and takes the limit from it.
func (d *Document) addTrial(t Trial, l *LoadFigures) {
	limit, says := verdict.Verdict{Limit: l.Limit, Evidence: l.Evidence}, l.Limit != verdict.None && l.Limit != verdict.Unknown
	switch {
	case t.Kind == Burst:
		d.Limit.Verdict = limit
	case t.Kind == Point, t.Kind == Rung && t.Outcome == Passed:
		d.Curve = append(d.Curve, CurvePoint{t.Rate / d.Peak.Low, t.Rate, l.Measures, false})
	case t.Rate == d.Peak.High && t.Outcome != Passed:
		d.Limit.Rate, d.Limit.Reasons = t.Rate, t.Reasons
		if says || len(d.Study.Find.SLO) > 0 || d.Limit.Evidence == "" {
			d.Limit.Verdict = limit
		}
	}
}

// markKnee marks the highest rate before the p99 grows. The next two points must both be above: one alone may be noise.
func (d *FindDoc) markKnee() {
	grown := func(i int) bool {
		p99 := d.Curve[i].Of(metric.P99)
		return p99 == 0 || p99 > kneeRise*d.Curve[0].Of(metric.P99) // 0: failed
	}
	for i := range len(d.Curve) - 2 {
		if grown(i+1) && grown(i+2) {
			d.Curve[i].Knee = true
			return
		}
	}
}

// sayPeak returns what a search found in a sentence.
func (d *Document) sayPeak() string {
	rate := func(r float64) string { return theme.Plural(r, "record/s", "records/s") }
	p, why := d.Peak, strings.Join(d.Limit.Reasons, "; ")
	limit := ""
	if l := d.Limit.Limit; l != verdict.None && l != verdict.Unknown && d.Limit.Evidence != "" && !strings.Contains(why, d.Limit.Evidence) {
		limit = fmt.Sprintf("; limited by %s: %s", l, d.Limit.Evidence)
	}
	switch {
	case p.RecordsPerSecond == 0 && !d.Over:
		return fmt.Sprintf("the search is not over; go on with: kt study resume %s", d.ID)
	case p.RecordsPerSecond == 0 && d.Limit.Rate > 0:
		return fmt.Sprintf("no rate was found that holds; at %s: %s%s", rate(d.Limit.Rate), why, limit)
	case p.RecordsPerSecond == 0:
		return "no rate was found that holds" + limit
	case p.ClientBound:
		return fmt.Sprintf("at least %s hold; %s: at %s, %s%s", rate(p.Low), d.Limit.unknown(), rate(p.High), why, limit)
	case p.High == 0:
		return fmt.Sprintf("%s hold, and no higher rate was tried", rate(p.Low))
	}
	return fmt.Sprintf("%s hold, but not %s: %s%s", rate(p.Low), rate(p.High), why, limit)
}

// unknown returns why a rate that was tried is not judged.
func (l *FindLimit) unknown() string {
	switch {
	case l.Limit == verdict.Throttle:
		return "the brokers throttled higher rates"
	case ofClient(l.Limit):
		return "kt could not offer more"
	}
	return "more was not measured"
}
