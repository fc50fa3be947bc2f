package study

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
)

// Search finds the highest rate that holds. Next returns the next run from those that were made, and from
// nothing else, so a search that was cut off goes on from its files.
//
// A burst without a limit gives a first rate. A bracket of a rate that holds and one that does not is
// halved until it is narrow. Longer runs confirm both, and then the latency is measured below. Rates are halved as ratios, because a bracket may span powers of ten.
// Of a workload the scale is searched for: it is in the place of a rate everywhere, and the first one is 1.
type Search struct {
	Trial     plan.Duration `json:"trial"`            // of each run, without its settling time
	Precision float64       `json:"precision"`        // the bracket ends at this share of its upper rate
	SLO       []metric.Expr `json:"slo,omitempty"`    // what each trial has to keep
	Scale     bool          `json:"scale,omitempty"`  // of a workload
	Ladder    []float64     `json:"ladder,omitempty"` // rates in records a second to walk up instead; nil: search
	Curve     []float64     `json:"curve,omitempty"`  // shares of the peak at which the latency is measured in the end
}

// DefaultSearch returns the search that kt makes if it is not told. Trials of 30 s cover a periodic
// stall of brokers (a log flush, a new segment) that shorter ones miss.
func DefaultSearch() Search {
	return Search{Trial: plan.Duration(30 * time.Second), Precision: 0.01, Curve: []float64{0.2, 0.5, 0.7, 0.8, 0.9, 0.95}}
}

// StepKind is why a run of a search is made.
type StepKind string

// The kinds of steps.
const (
	Burst   StepKind = "burst"   // without a limit
	Bracket StepKind = "bracket" // to find a rate that holds and one that does not
	Halve   StepKind = "halve"   // between the two
	Confirm StepKind = "confirm" // for longer, at each end of the bracket
	Rung    StepKind = "rung"    // of a ladder
	Point   StepKind = "point"   // of the curve
)

// Step is one run of a search.
type Step struct {
	Kind StepKind      `json:"step"` // burst, bracket, halve, confirm, rung or point
	Rate float64       `json:"rate"` // records a second, or the scale of a workload; 0: unlimited
	Time plan.Duration `json:"time"` // that is measured
}

// Outcome is what a run of a search showed.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Invalid Outcome = "invalid" // kt, its host or a quota was the limit, and not the cluster
)

// Trial is a step that was made.
type Trial struct {
	Step

	Outcome  Outcome  `json:"outcome"` // pass, fail or invalid
	Achieved float64  `json:"records_per_second"`
	Reasons  []string `json:"reasons"`        // why it did not pass
	Load     string   `json:"load,omitempty"` // of a workload: the first one that did not
}

// PeakRate is the highest rate that holds.
type PeakRate struct {
	RecordsPerSecond float64 `json:"records_per_second"` // the highest that was confirmed, or held on a ladder; 0: none
	Scale            float64 `json:"scale,omitempty"`    // of a workload, with the records a second of all its loads that were reached there
	Low              float64 `json:"low"`                // the highest that held, or its scale
	High             float64 `json:"high,omitempty"`     // the lowest that did not; 0: each one held
	Confirmations    int     `json:"confirmations"`      // longer runs that passed
	ClientBound      bool    `json:"client_bound"`       // the trial at High is invalid: it may hold
}

const (
	burstMargin  = 1.1 // a burst may be slower than a rate that holds
	confirmTimes = 4   // a confirmation is as many trials long
	expand       = 1.5
	shrink       = 0.5
	leastRate    = 1     // records a second: below it nothing holds
	leastScale   = 0.001 // likewise
	tries        = 2     // of a rate whose trial is invalid

	// longestBurst is long enough for a rate without a limit.
	longestBurst = plan.Duration(20 * time.Second)
)

// bracket is the conclusion from the trials so far.
type bracket struct {
	PeakRate

	upper   float64 // from the burst
	down    int     // rates below upper that did not hold before one did
	refuted int     // confirmations that did not pass
	points  int
	invalid int // in a row, at one rate
}

// Next returns the next step after some trials, or that the search is over.
func (s Search) Next(done []Trial) (next Step, over bool) {
	st, least := s.replay(done), map[bool]float64{false: leastRate, true: leastScale}[s.Scale]
	lower := st.High * math.Pow(shrink, float64(st.down)) // in growing steps: a latency may be met far below the burst
	rung := slices.IndexFunc(s.Ladder, func(rate float64) bool { return rate > st.Low })
	switch {
	case len(s.Ladder) > 0 && (st.High > 0 || rung < 0):
		return Step{}, true
	case len(s.Ladder) > 0:
		return Step{Rung, s.Ladder[rung], s.Trial}, false
	case len(done) == 0 && !s.Scale:
		return Step{Burst, 0, min(s.Trial, longestBurst)}, false
	case st.upper < least, st.Low == 0 && st.High > 0 && lower < least, st.refuted > 0 && st.Low < least:
		return Step{}, true
	case st.Low == 0 && st.High == 0:
		return Step{Bracket, round(st.upper), s.Trial}, false
	case st.High == 0:
		return Step{Bracket, round(st.Low * expand), s.Trial}, false
	case st.Low == 0:
		return Step{Bracket, round(lower), s.Trial}, false
	case st.Confirmations+st.refuted == 0 && (st.High-st.Low)/st.High > s.Precision:
		return Step{Halve, round(math.Sqrt(st.Low * st.High)), s.Trial}, false
	case st.Confirmations == 0:
		return Step{Confirm, st.Low, confirmTimes * s.Trial}, false
	case st.refuted == 0 && !st.ClientBound:
		return Step{Confirm, st.High, confirmTimes * s.Trial}, false
	case st.points < len(s.Curve):
		return Step{Point, round(st.Low * s.Curve[st.points]), s.Trial}, false
	}
	return Step{}, true
}

// takes returns how many seconds a search takes, least and most of some peaks. A limit of latency far below the burst takes longer.
func (s Search) takes(rest float64) (least, most float64) {
	burst, peaks := 1e6, []float64{0.25, 0.5, 0.75, 0.9, 1, 1.2}
	if s.Scale {
		burst, peaks = 1, []float64{0.1, 0.5, 0.9, 1, 2, 10}
	}
	if len(s.Ladder) > 0 {
		peaks = []float64{0, math.Inf(1)}
	}
	least = math.Inf(1)
	for _, peak := range peaks {
		var done []Trial
		seconds := -rest
		for step, over := s.Next(done); !over; step, over = s.Next(done) {
			outcome := map[bool]Outcome{true: Passed, false: Failed}[step.Rate <= peak*burst]
			done = append(done, Trial{Step: step, Outcome: outcome, Achieved: burst})
			seconds += rest + (step.settle() + step.Time.Std()).Seconds()
		}
		least, most = math.Min(least, seconds), math.Max(most, seconds)
	}
	return least, most
}

// replay goes through the trials in their order.
func (s Search) replay(done []Trial) (st bracket) {
	if s.Scale {
		st.upper = 1
	}
	for _, t := range done {
		if t.Outcome == Invalid && t.Kind != Burst && t.Kind != Point {
			if st.invalid++; st.invalid < tries {
				continue
			}
		}
		st.invalid = 0
		switch {
		case t.Kind == Burst:
			st.upper = t.Achieved * burstMargin
		case t.Kind == Point:
			st.points++
		case t.Kind == Confirm && t.Outcome == Passed:
			st.Low = t.Rate
			if st.Confirmations++; st.refuted == 0 && st.High <= t.Rate { // it contradicts the short trials
				st.High = round(t.Rate * (1 + growing(s.Precision, st.Confirmations-1)))
			}
		case t.Kind == Confirm:
			st.High, st.ClientBound = t.Rate, t.Outcome == Invalid
			if st.refuted++; st.Confirmations == 0 {
				st.Low = round(t.Rate * (1 - growing(s.Precision, st.refuted)))
			}
		case t.Outcome == Passed:
			st.Low = math.Max(st.Low, t.Rate)
		case st.High == 0 || t.Rate < st.High:
			st.High, st.ClientBound = t.Rate, t.Outcome == Invalid
			if st.Low == 0 {
				st.down++
			}
		}
	}
	return st
}

// growing returns the size of the n-th step: the first three are alike, and each later one is twice as large.
func growing(step float64, n int) float64 { return step * math.Pow(2, float64(max(0, n-3))) }

// round rounds a rate to five digits: a rate with more is hard to read, and no precision needs it.
func round(rate float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 5, 64), 64) // it is a number
	return rounded
}

// Peak returns what the trials say of the highest rate that holds.
func (s Search) Peak(done []Trial) PeakRate {
	st := s.replay(done)
	if st.Confirmations > 0 || len(s.Ladder) > 0 {
		st.RecordsPerSecond = st.Low
	}
	if s.Scale && st.RecordsPerSecond > 0 {
		st.Scale = st.Low
		for _, t := range done {
			if t.Rate == st.Low && t.Outcome == Passed {
				st.RecordsPerSecond = t.Achieved
			}
		}
	}
	return st.PeakRate
}
