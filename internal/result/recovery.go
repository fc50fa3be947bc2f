package result

import (
	"cmp"
	"slices"
	"time"
)

// A rate is back from the first second that reaches its share of the normal rate, if the median of the
// seconds after it does too and each is at least half of it. If each had to reach the same share,
// a pause that moves records from one second to the next would be an outage.
const (
	recovered  = 0.95             // of the median before
	normalTime = 30 * time.Second // before, at most
	stayTime   = 10 * time.Second // after, or to the end of the load
	collapsed  = 0.5              // of the rate that counts as back
)

// before returns the seconds of the load just before a time.
func before(seconds []loadSecond, at time.Duration) []loadSecond {
	var of []loadSecond
	for _, s := range seconds {
		if s.full && s.end <= at && s.start >= at-normalTime {
			of = append(of, s)
		}
	}
	return of
}

// median returns the median rate, 0 if there is none.
func median(of []loadSecond) float64 {
	of = slices.SortedFunc(slices.Values(of), func(a, b loadSecond) int { return cmp.Compare(a.rate, b.rate) })
	if n := len(of); n > 0 {
		return (of[(n-1)/2].rate + of[n/2].rate) / 2
	}
	return 0
}

// recovery finds the second from which on the rate is back.
type recovery struct {
	bar     float64      // the rate that counts as back; 0: not known
	pending []loadSecond // a second that may be the one, and those after it
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

// at returns the time when the rate was back: the end of the second in which it was, because the fault
// may have lasted until then. It is 0 if the rate never fell.
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
