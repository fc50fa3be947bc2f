package engine

import "time"

const (
	// pollLimit is the most records that one of several readers sets aside.
	pollLimit = 10_000

	// maxKeep is how long it keeps them while it has nothing to read.
	maxKeep = 100 * time.Millisecond
)

// reserve sets records of the budget aside: at most limit, and 0 when there are none.
func (rs *readers) reserve(limit int) int {
	if !rs.counted {
		return limit
	}
	for {
		left := rs.budget.Load()
		take := min(int64(limit), left)
		if rs.shared() {
			take = min(take, pollLimit, max(1, left/int64(len(rs.readers))))
		}
		if take <= 0 {
			return 0
		}
		if rs.budget.CompareAndSwap(left, left-take) {
			return int(take)
		}
	}
}

// shared reports whether readers share a number of records.
func (rs *readers) shared() bool { return rs.counted && len(rs.readers) > 1 }

// patience is how long a reader may wait for records, 0: as long as it takes. Where
// readers share a number of records, none keeps its part for long while it has nothing
// to read.
func (rs *readers) patience() time.Duration {
	if rs.shared() {
		return maxKeep
	}
	return 0
}

// settle gives back what was set aside and not read.
func (rs *readers) settle(reserved, read int) {
	if rs.counted {
		rs.budget.Add(int64(reserved - read))
		rs.unread.Add(-int64(read))
	}
}
