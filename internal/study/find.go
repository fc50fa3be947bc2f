package study

import (
	"fmt"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Search finds the highest rate that holds. It is a plan made step by step: Next tells the next run
// from those that were made, and nothing else, so a search that was cut off goes on from its files.
//
// The way is: a burst without a limit says where to look; a bracket of a rate that holds and one that
// does not is halved until it is narrow; the rate that holds is confirmed by a longer run; and then the
// latency is measured below it.
type Search struct {
	Trial     plan.Duration `json:"trial"`            // of each run, without its settling time
	Precision float64       `json:"precision"`        // the bracket ends at this share of its upper rate
	SLO       []SLO         `json:"slo,omitempty"`    // what the latency must stay below
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
	Confirm StepKind = "confirm" // for longer, at the highest rate that held
	Rung    StepKind = "rung"    // of a ladder
	Point   StepKind = "point"   // of the curve
)

// Step is one run of a search.
type Step struct {
	Kind StepKind      `json:"step"`
	Rate float64       `json:"rate"` // records a second; 0: unlimited
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

	Outcome  Outcome  `json:"outcome"`
	Achieved float64  `json:"records_per_second"`
	Reasons  []string `json:"reasons"` // why it did not pass
}

// PeakRate is the highest rate that holds.
type PeakRate struct {
	RecordsPerSecond float64 `json:"records_per_second"` // the highest that was confirmed; 0: none
	Low              float64 `json:"low"`                // the same
	High             float64 `json:"high,omitempty"`     // the lowest that did not hold; 0: none did not
	Confirmations    int     `json:"confirmations"`      // longer runs that passed
	ClientBound      bool    `json:"client_bound"`       // kt could not offer more: the peak is not known
}

const (
	burstMargin  = 1.1 // a burst may be slower than what holds
	confirmTimes = 4   // a confirmation is as many trials long
	expand       = 1.5
	shrink       = 0.5
	stepDown     = 0.99 // after a confirmation that failed
	leastRate    = 1    // records a second: below it nothing holds
	tries        = 2    // of a rate whose trial is invalid

	// longestBurst is long enough for a rate without a limit.
	longestBurst = plan.Duration(20 * time.Second)
)

// state is what the trials so far say.
type state struct {
	low, high float64 // low holds, high does not; 0: not known
	confirmed int
	failed    bool // a confirmation at low has failed
	bound     bool // above low, trials were invalid
	upper     float64
	points    int
	invalid   int // in a row
}

// Next returns the next step after some trials, or that the search is over.
func (s Search) Next(done []Trial) (next Step, over bool) {
	if len(s.Ladder) > 0 {
		return s.nextRung(done)
	}
	st := s.replay(done)
	switch {
	case len(done) == 0:
		return Step{Burst, 0, min(s.Trial, longestBurst)}, false
	case st.upper < leastRate:
		return Step{}, true
	case st.low == 0 && st.high == 0:
		return Step{Bracket, st.upper, s.Trial}, false
	case st.high == 0 && !st.bound:
		return Step{Bracket, st.low * expand, s.Trial}, false
	case st.low == 0:
		if st.high*shrink < leastRate {
			return Step{}, true
		}
		return Step{Bracket, st.high * shrink, s.Trial}, false
	case st.confirmed == 0 && !st.failed && !st.bound && (st.high-st.low)/st.high > s.Precision:
		return Step{Halve, (st.low + st.high) / 2, s.Trial}, false
	case st.confirmed == 0:
		return Step{Confirm, st.low, confirmTimes * s.Trial}, false
	case st.points < len(s.Curve):
		return Step{Point, st.low * s.Curve[st.points], s.Trial}, false
	}
	return Step{}, true
}

// replay goes through the trials in their order.
func (s Search) replay(done []Trial) (st state) {
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
		case t.Outcome == Invalid:
			if st.low == 0 { // not even this much can be offered: look below
				st.high = t.Rate
				continue
			}
			st.bound = true
			if t.Kind == Confirm {
				st.confirmed++ // no more can be said
			}
		case t.Kind == Confirm && t.Outcome == Passed:
			st.confirmed++
		case t.Kind == Confirm:
			st.failed, st.high, st.low = true, t.Rate, t.Rate*stepDown
		case t.Outcome == Passed:
			st.low = math.Max(st.low, t.Rate)
		case st.high == 0 || t.Rate < st.high:
			st.high = t.Rate
		}
	}
	return st
}

// nextRung walks up a ladder until a rate does not hold.
func (s Search) nextRung(done []Trial) (next Step, over bool) {
	rung, tried := 0, 0
	for _, t := range done {
		if t.Outcome == Failed {
			return Step{}, true
		}
		if tried++; t.Outcome == Invalid && tried < tries {
			continue
		}
		if t.Outcome == Invalid {
			return Step{}, true
		}
		rung, tried = rung+1, 0
	}
	if rung == len(s.Ladder) {
		return Step{}, true
	}
	return Step{Rung, s.Ladder[rung], s.Trial}, false
}

// Peak returns what the trials say of the highest rate that holds.
func (s Search) Peak(done []Trial) PeakRate {
	var p PeakRate
	if len(s.Ladder) > 0 {
		for _, t := range done {
			switch t.Outcome {
			case Passed:
				p.Low, p.Confirmations = t.Rate, p.Confirmations+1
			case Failed:
				p.High = t.Rate
			case Invalid:
				p.ClientBound = true
			}
		}
		p.RecordsPerSecond = p.Low
		return p
	}
	st := s.replay(done)
	p = PeakRate{Low: st.low, High: st.high, Confirmations: st.confirmed, ClientBound: st.bound}
	if st.confirmed > 0 {
		p.RecordsPerSecond = st.low
	}
	return p
}

// String returns the step in a few words.
func (s Step) String() string {
	if s.Rate == 0 {
		return string(s.Kind)
	}
	return fmt.Sprintf("%s at %.0f records/s", s.Kind, s.Rate)
}
