package study

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// FindDocument has the trials of a search and the peak. It is made of the study's folder alone.
type FindDocument struct {
	Schema   int          `json:"schema"`
	ID       string       `json:"id"`
	Study    *Study       `json:"study"`
	Peak     PeakRate     `json:"peak"`
	Limit    FindLimit    `json:"limit"`
	Trials   []Trial      `json:"trials"`
	Curve    []CurvePoint `json:"curve"`
	Sentence string       `json:"sentence"`
	Over     bool         `json:"over"` // false: the search was cut off

	embedded bool // the broker was inside kt
}

// FindLimit is what limited the trial at the lowest rate that did not hold.
type FindLimit struct {
	Rate            float64  `json:"rate,omitempty"`    // 0: every rate held, so it is of the burst
	Reasons         []string `json:"reasons,omitempty"` // why it did not
	verdict.Verdict          // of the burst, where that of the trial says nothing
}

// CurvePoint is the latency at a share of the peak.
type CurvePoint struct {
	Share   float64          `json:"share"`
	Rate    float64          `json:"rate"`
	Latency Latency[float64] `json:"latency_us"`
	Knee    bool             `json:"knee,omitempty"` // the highest rate with a p99 of at most twice that of the lowest rate; at the next two it is higher
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
	named := make(map[string]bool)
	for _, f := range l.Flags {
		named[f.Name] = true
		if slices.Contains(ofTrials, f.Name) {
			return fmt.Errorf("--%s: kt find gives every trial its rate and its time: leave it out (--ladder and --trial-time choose them)", f.Name)
		}
	}
	switch {
	case l.Command == "consume" && !named["topic"]:
		return errors.New("consume: each trial reads old records at a rate: name a topic that holds enough of them with --topic")
	case l.Command == "consume" && named["group"]:
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

// trials returns the trials that were made, and the next step if there is one.
func (f *Folder) trials() (made []Trial, turns []Turn, over bool, err error) {
	for {
		step, over := f.Study.Find.Next(made)
		if over {
			return made, turns, true, nil
		}
		t := Turn{len(turns) + 1, step.cell(len(turns)), 1}
		turns = append(turns, t)
		if !f.isDone(t) {
			return made, turns, false, nil
		}
		figures, err := f.figures(t)
		if err != nil {
			return nil, nil, false, err
		}
		made = append(made, f.Study.Find.judge(step, &figures[0]))
	}
}

// Find reads the run files of a search and returns its trials and the peak.
func (f *Folder) Find() (*FindDocument, error) {
	trials, turns, over, err := f.trials()
	if err != nil {
		return nil, err
	}
	d := &FindDocument{Schema: Schema, ID: f.ID, Study: f.Study, Peak: f.Study.Find.Peak(trials), Trials: trials, Over: over, Curve: []CurvePoint{}}
	d.Limit.Limit = verdict.None
	if d.Trials == nil {
		d.Trials = []Trial{}
	}
	for i, t := range trials {
		figures, err := f.figures(turns[i])
		if err != nil {
			return nil, err
		}
		d.add(t, &figures[0])
		d.embedded = d.embedded || figures[0].cluster == insideKt
	}
	d.markKnee()
	d.Sentence = d.say()
	return d, nil
}

// add adds a trial to the curve, and takes the limit from it.
func (d *FindDocument) add(t Trial, l *LoadFigures) {
	limit, says := verdict.Verdict{Limit: l.Limit, Evidence: l.Evidence}, l.Limit != verdict.None && l.Limit != verdict.Unknown
	switch {
	case t.Kind == Burst:
		d.Limit.Verdict = limit
	case t.Kind == Point, t.Kind == Rung && t.Outcome == Passed:
		d.Curve = append(d.Curve, CurvePoint{t.Rate / d.Peak.Low, t.Rate, l.Latency, false})
	case t.Rate == d.Peak.High && t.Outcome != Passed:
		d.Limit.Rate, d.Limit.Reasons = t.Rate, t.Reasons
		if says || len(d.Study.Find.SLO) > 0 || d.Limit.Evidence == "" {
			d.Limit.Verdict = limit
		}
	}
}

// markKnee marks the highest rate before the p99 grows. The next two points must both be above: one alone may be noise.
func (d *FindDocument) markKnee() {
	grown := func(i int) bool {
		p99 := d.Curve[i].Latency.P99
		return p99 == 0 || p99 > kneeRise*d.Curve[0].Latency.P99 // 0: failed
	}
	for i := range len(d.Curve) - 2 {
		if grown(i+1) && grown(i+2) {
			d.Curve[i].Knee = true
			return
		}
	}
}
