package engine

import "time"

const (
	// pollLimit is the most records that one of several readers sets aside.
	pollLimit = 10_000

	// maxKeep is the longest time for which it keeps them without a record to read.
	maxKeep = 100 * time.Millisecond
)

// reserve sets records of the budget aside, at most limit. It returns their number, 0 if none are left.
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

// patience returns the longest time that a reader may wait for records; 0: no limit. Readers that share a
// number of records must not keep reserved ones for long.
func (rs *readers) patience() time.Duration {
	if rs.shared() {
		return maxKeep
	}
	return 0
}

// settle returns the records that were reserved and not read.
func (rs *readers) settle(reserved, read int) {
	if rs.counted {
		rs.budget.Add(int64(reserved - read))
		rs.unread.Add(-int64(read))
	}
}
