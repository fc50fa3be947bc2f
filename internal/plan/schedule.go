package plan

import (
	"math"
	"strconv"
	"time"
)

// Schedule is the target of a load over time: records a second, which may change at some
// moments. It converts between the time and the position in the load, the number of records
// that are due before as a real number.
type Schedule []step

// step is a rate, and where it begins.
type step struct {
	at        time.Duration // from the start of the run
	position  float64
	perSecond float64
	perNano   float64 // nanoseconds a record
}

// NewSchedule returns a schedule of one rate.
func NewSchedule(perSecond float64) Schedule {
	return Schedule{{perSecond: perSecond, perNano: 1e9 / perSecond}}
}

// Change returns the schedule with another rate from a moment on, which is not before the
// last change.
func (s Schedule) Change(at time.Duration, perSecond float64) Schedule {
	s = s[:len(s):len(s)]
	return append(s, step{at, s.Position(at), perSecond, 1e9 / perSecond})
}

// Rate returns the rate after the last change.
func (s Schedule) Rate() float64 { return s[len(s)-1].perSecond }

// Position returns the position in the load at a moment.
func (s Schedule) Position(at time.Duration) float64 {
	i := len(s) - 1
	for i > 0 && at < s[i].at {
		i--
	}
	return s[i].position + s[i].perSecond*float64(at-s[i].at)/1e9
}

// Due returns when a position is reached.
func (s Schedule) Due(position float64) time.Duration {
	return time.Duration(math.Min(s.due(position), math.MaxInt64/2))
}

// due is Due in nanoseconds. A record on the border of two rates has the time of the change
// by both.
func (s Schedule) due(position float64) float64 {
	i := len(s) - 1
	for i > 0 && position < s[i].position {
		i--
	}
	return float64(s[i].at) + (position-s[i].position)*s[i].perNano
}

// Mean returns the mean rate from one moment to another.
func (s Schedule) Mean(from, to time.Duration) float64 {
	if len(s) == 1 || to <= from {
		return s[len(s)-1].perSecond
	}
	return (s.Position(to) - s.Position(from)) / (to - from).Seconds()
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
