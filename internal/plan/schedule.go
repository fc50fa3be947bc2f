package plan

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"time"
)

// Schedule is the target of a load over time: records a second, in steps of one rate or of a
// rate that rises or falls evenly. It converts between the time and the position in the load, the
// number of records that are due before as a real number: the integral of the rate.
type Schedule []step

// step is a rate, and where it begins.
type step struct {
	at        time.Duration // from the start of the run
	position  float64
	perSecond float64
	slope     float64 // change of perSecond in a second
	perNano   float64 // nanoseconds a record, if slope is 0
}

func newStep(at time.Duration, position, perSecond, slope float64) step {
	return step{at, position, perSecond, slope, 1e9 / perSecond}
}

// rate returns the rate at a moment of the step.
func (s *step) rate(at time.Duration) float64 {
	if s.slope == 0 {
		return s.perSecond
	}
	return s.perSecond + s.slope*(at-s.at).Seconds()
}

// reached returns the position at a moment of the step.
func (s *step) reached(at time.Duration) float64 {
	if s.slope == 0 {
		return s.position + s.perSecond*float64(at-s.at)/1e9
	}
	return s.position + (s.perSecond+s.rate(at))/2*(at-s.at).Seconds()
}

// due returns when a position of the step is reached, in nanoseconds. With d records from the
// start of a slope, rate·t + slope·t²/2 = d. This form of the root is exact for any slope, and
// for a rate of 0 at either end.
func (s *step) due(position float64) float64 {
	d := position - s.position
	switch {
	case d <= 0:
		return float64(s.at)
	case s.slope == 0:
		return float64(s.at) + d*s.perNano
	}
	return float64(s.at) + 2e9*d/(s.perSecond+math.Sqrt(max(0, s.perSecond*s.perSecond+2*s.slope*d)))
}

// NewSchedule returns a schedule of one rate.
func NewSchedule(perSecond float64) Schedule { return Schedule{newStep(0, 0, perSecond, 0)} }

// Schedule returns the schedule of a target whose mean is perSecond. After its last stage, the
// rate stays as it is.
func (r Rate) Schedule(perSecond float64) Schedule {
	if len(r.Stages) == 0 {
		return NewSchedule(perSecond)
	}
	var s Schedule
	factor, at, position := perSecond/r.PerSecond, time.Duration(0), 0.0
	for _, g := range r.Stages {
		from, to, length := g.From*factor, g.To*factor, g.Length.Std()
		s = append(s, newStep(at, position, from, (to-from)/length.Seconds()))
		at, position = at+length, position+(from+to)/2*length.Seconds()
	}
	return append(s, newStep(at, position, r.Stages[len(r.Stages)-1].To*factor, 0))
}

// Change returns the schedule with another rate from a moment on. Later rates change in
// proportion. A rate of 0 stays.
func (s Schedule) Change(at time.Duration, perSecond float64) Schedule {
	i := s.step(at)
	before := s[i].rate(at)
	if before <= 0 {
		return s
	}
	out := append(slices.Clone(s[:i+1]), newStep(at, s.Position(at), perSecond, s[i].slope*perSecond/before))
	for _, next := range s[i+1:] {
		last := &out[len(out)-1]
		out = append(out, newStep(next.at, last.reached(next.at), next.perSecond*perSecond/before, next.slope*perSecond/before))
	}
	return out
}

// step returns the number of the step at a moment. Of two that begin then, it is the later one.
func (s Schedule) step(at time.Duration) int {
	return sort.Search(len(s)-1, func(i int) bool { return at < s[i+1].at })
}

// Rate returns the rate at a moment.
func (s Schedule) Rate(at time.Duration) float64 { return s[s.step(at)].rate(at) }

// Position returns the position in the load at a moment.
func (s Schedule) Position(at time.Duration) float64 { return s[s.step(at)].reached(at) }

// Due returns when a position is reached.
func (s Schedule) Due(position float64) time.Duration {
	return time.Duration(math.Min(s.due(position), math.MaxInt64/2))
}

// due is Due in nanoseconds. A record on the border of two rates has the time of the change by both.
func (s Schedule) due(position float64) float64 {
	i := sort.Search(len(s)-1, func(i int) bool { return position < s[i+1].position })
	due := s[i].due(position)
	if i+1 < len(s) {
		return min(due, float64(s[i+1].at)) // float64 may have come out later
	}
	return due
}

// Mean returns the mean rate from one moment to another.
func (s Schedule) Mean(from, to time.Duration) float64 {
	if len(s) == 1 || to <= from {
		return s.Rate(to)
	}
	return (s.Position(to) - s.Position(from)) / (to - from).Seconds()
}

// Times returns the schedule with all rates multiplied by a factor.
func (s Schedule) Times(factor float64) Schedule {
	s = slices.Clone(s)
	for i, t := range s {
		s[i] = newStep(t.at, t.position*factor, t.perSecond*factor, t.slope*factor)
	}
	return s
}

// Highest returns the highest rate between two moments.
func (s Schedule) Highest(from, to time.Duration) float64 {
	top := max(s.Rate(from), s.Rate(to-1))
	for i := 1; i < len(s); i++ {
		if at := s[i].at; from < at && at < to {
			top = max(top, s[i-1].rate(at), s[i].perSecond)
		}
	}
	return top
}

// records returns how many records a load has on this schedule; 0: no limit. Those due
// before its end are the position there, rounded up. They are counted here once, for the due
// time of the first record after the end may come out just below the end in float64.
func (s Schedule) records(l *Load) int64 {
	if l.Duration == 0 {
		return l.Records
	}
	exact := s.Position(l.Duration.Std())
	n := math.Round(exact)
	if math.Abs(exact-n) > exact*1e-14 { // more than what float64 has rounded
		n = math.Ceil(exact)
	}
	if !(n < noLimit) {
		return l.Records
	}
	if l.Records > 0 {
		return min(l.Records, int64(n))
	}
	return int64(n)
}

// Going reports whether each of a load's shards has a record to come that is due at a moment
// or later.
func (s Schedule) Going(l *Load, at time.Duration, shards int) bool {
	n := s.records(l)
	return n == 0 || s.Position(at)+float64(shards) <= float64(n)
}

// lowestStep is the lowest rate that Step leads to from above.
const lowestStep = 0.01

// Step returns a rate that is a tenth higher, or lower, rounded to two significant digits.
func Step(perSecond float64, up bool) float64 {
	next := perSecond * 0.9
	if up {
		next = perSecond * 1.1
	}
	next, _ = strconv.ParseFloat(strconv.FormatFloat(next, 'g', 2, 64), 64) // it has just been written
	return min(max(next, min(lowestStep, perSecond)), maxRate)
}
