package ledger

import (
	"slices"
	"sort"
)

// readLane is the records of one producer that were read in one partition.
type readLane struct {
	first  int64 // number of the record read first
	next   int64 // above the highest number read
	offset int64 // of the record read last
	due    int64 // of the record with the highest number
	gaps   []gap // numbers below next that were not read, in order

	atLoss, given int64 // next when the last connection was lost, and the one before: see returns
}

// gap is numbers that were passed over and are missing, but for its holes and for unsure others: of gaps that were made one.
type gap struct {
	Range
	unsure        int64
	before, after int64 // the lane's offsets around it, -1: none
	dueBefore     int64 // the lane's due times around it; nothing when there is no record before it
	dueAfter      int64
	skipped       bool // offsets that could not be read lie between
}

// lane is that of a producer, nil before its first record.
func (l *Log) lane(producer uint16) *readLane {
	if int(producer) >= len(l.lanes) {
		return nil
	}
	return l.lanes[producer]
}

// grow makes the lane of a producer. first is the number of the record read first.
func (l *Log) grow(producer uint16, first int64) *readLane {
	if n := int(producer) + 1; n > len(l.lanes) {
		l.lanes = append(l.lanes, make([]*readLane, n-len(l.lanes))...)
	}
	lane := &readLane{first: first, offset: -1}
	l.lanes[producer] = lane
	return lane
}

// open notes that the numbers of a gap were passed over.
func (l *Log) open(lane *readLane, g gap) {
	if len(lane.gaps) >= l.limit {
		lane.fold()
	}
	g.before, g.dueBefore, g.skipped = lane.offset, lane.due, lane.offset < l.skipped
	lane.gaps = append(lane.gaps, g)
}

// fold makes the older half of the gaps one.
func (lane *readLane) fold() {
	half := max(2, len(lane.gaps)/2)
	old := lane.gaps[:half]
	g, last := &old[0], &old[half-1]
	missing := g.Count()
	for i := range old[1:] {
		o := &old[1+i]
		missing += o.Count()
		g.unsure += o.unsure
		g.skipped = g.skipped || o.skipped
	}
	g.To, g.after, g.dueAfter = last.To, last.after, last.dueAfter
	g.Holes = g.To - g.From - missing
	lane.gaps = slices.Delete(lane.gaps, 1, half)
}

// tooLate accounts for numbers below the next one: each fills a gap, or was there before.
func (l *Log) tooLate(lane *readLane, from, to int64) {
	for from < to {
		i := sort.Search(len(lane.gaps), func(i int) bool { return lane.gaps[i].To > from })
		end := to
		switch {
		case i == len(lane.gaps):
			l.counts.Duplicated += end - from
		case lane.gaps[i].From > from:
			end = min(to, lane.gaps[i].From)
			l.counts.Duplicated += end - from
		default:
			end = min(to, lane.gaps[i].To)
			l.fill(lane, i, from, end)
		}
		from = end
	}
}

// fill accounts for numbers within a gap.
func (l *Log) fill(lane *readLane, i int, from, to int64) {
	gaps := lane.gaps
	g := &gaps[i]
	if !g.exact() {
		if !l.shared {
			l.counts.LateUndecided += to - from
		}
		g.unsure = min(g.unsure+to-from, g.Count())
		return
	}
	if !l.shared {
		l.counts.Reordered += to - from
	}
	switch {
	case g.From == from && g.To == to:
		lane.gaps = slices.Delete(gaps, i, i+1)
	case g.From == from:
		g.From = to
	case g.To == to:
		g.To = from
	case len(gaps) >= l.limit: // no room for two
		g.Holes += to - from
	default:
		upper := *g
		g.To, upper.From = from, to
		lane.gaps = slices.Insert(gaps, i+1, upper)
	}
}
