package result

import (
	"slices"
	"time"
)

// When a rate counts as back: from the first second on that reaches its share of
// what was normal, if the median of the seconds that follow does too and none of
// them falls under the half. Were each of them held to the same share, a pause that
// moves some records from one second to the next would count as an outage.
const (
	recovered  = 0.95             // of the median before
	normalTime = 30 * time.Second // before, at most
	stayTime   = 10 * time.Second // after, or to the end of the load
	collapsed  = 0.5              // of what counts as back
)

// before returns the seconds of the load just before a moment.
func before(seconds []loadSecond, at time.Duration) []loadSecond {
	var of []loadSecond
	for _, s := range seconds {
		if s.full && s.end <= at && s.start >= at-normalTime {
			of = append(of, s)
		}
	}
	return of
}

// median is that of the rates, 0 when there are none.
func median(of []loadSecond) float64 {
	values := make([]float64, len(of))
	for i := range of {
		values[i] = of[i].rate
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

// recovery looks for the second in which the rate is back.
type recovery struct {
	bar     float64      // 0: what is normal is not known
	pending []loadSecond // that may be the one, and those after it
	found   bool         // pending[0] is the one
	fell    bool         // there were seconds before pending[0]
	low     bool         // there was a second below the bar
}

func (r *recovery) add(s loadSecond) {
	if !s.full || r.bar <= 0 {
		return
	}
	r.low = r.low || s.rate < r.bar
	if r.found {
		return
	}
	r.pending = append(r.pending, s)
	const tolerance = stayTime / 20 // of a clock that ticks once a second
	for len(r.pending) > 0 && s.end-r.pending[0].start >= stayTime-tolerance {
		if r.found = r.stays(r.pending); r.found {
			return
		}
		r.pending, r.fell = r.pending[1:], true
	}
}

func (r *recovery) stays(s []loadSecond) bool {
	return s[0].rate >= r.bar && median(s) >= r.bar &&
		!slices.ContainsFunc(s, func(s loadSecond) bool { return s.rate < collapsed*r.bar })
}

// at returns when the rate was back: the end of the second in which it was, for until then
// the fault may have gone on. It is 0 when the rate never fell.
func (r *recovery) at() (at time.Duration, ok bool) {
	for i := range r.pending {
		if r.found || r.stays(r.pending[i:]) {
			if i == 0 && !r.fell {
				return 0, true
			}
			return r.pending[i].end, true
		}
	}
	return 0, false
}
