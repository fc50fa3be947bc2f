package watch

import (
	"slices"
	"time"
)

// mostCounted is more than any counter of a machine has reached. A number above it is no
// counter, and no sum of numbers below it overflows.
const mostCounted = 1 << 53

// counters are numbers that only grow, as they were when last read: those of one thing,
// a disk say, together.
type counters map[string]counterValues

type counterValues struct {
	values []int64
	at     time.Duration
}

// growth measures by how much counters grew in one interval, and counts the sources that could
// not be read.
type growth struct {
	counters counters
	now      time.Duration // end of the interval
	interval time.Duration
	unread   int
}

// note counts a source that did not answer.
func (g *growth) note(ok bool) {
	if !ok {
		g.unread++
	}
}

// row returns by how much the n counters of a device's row grew; no row counts as unread.
func (g *growth) row(name string, row []int64, n int) []int64 {
	if row == nil {
		g.note(false)
		return make([]int64, n)
	}
	grown, _ := g.of(name, row...)
	return grown
}

// of returns by how much the counters of one thing grew in the interval, from their present
// values. After readings that failed, the growth is spread over all the time since the last
// good one, so that no rate is too high. For the first reading, or when one of them fell,
// all are 0, it is not ok and counts as unread: a device was removed, and another begins at 0.
func (g *growth) of(name string, values ...int64) (grown []int64, ok bool) {
	grown = make([]int64, len(values))
	was, ok := g.counters[name]
	if slices.Min(values) < 0 {
		g.note(false)
		return grown, false
	}
	g.counters[name] = counterValues{values, g.now}
	for i, v := range values {
		ok = ok && v >= was.values[i]
	}
	g.note(ok)
	if !ok {
		return grown, false
	}
	over := g.now - was.at
	for i, v := range values {
		grown[i] = v - was.values[i]
		if over > g.interval {
			grown[i] = int64(float64(grown[i]) * float64(g.interval) / float64(over))
		}
	}
	return grown, true
}
