package merge

import (
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// tiles are the rows of a merged series in one phase, which follow each other without a
// gap: what several parts did in windows of their own, which do not begin together, is
// shared out among them.
type tiles struct {
	rows   []*result.Point
	start  []time.Duration // of each row, in common time: it lasts until the next one starts
	to     time.Duration   // the end of the last
	counts []counts
}

// tile makes the rows of a series follow each other, in each phase: their seconds add up
// to the time that it covers, and each has of every window of every part as much as lies
// in its time. Latencies, cores, events and the consumer lag stay those of the windows that
// ended about when the row does: they cannot be divided. The series of one part is right
// as it is.
func (m *merge) tile(points []result.Point) {
	parts := m.counted()
	if len(parts) < 2 {
		return
	}
	for _, warmup := range []bool{true, false} {
		var progresses []*progress
		var shifts []time.Duration
		for _, p := range parts {
			f := &p.progress
			if warmup {
				f = &p.warm
			}
			if f.windows > 0 {
				progresses, shifts = append(progresses, f), append(shifts, p.shift)
			}
		}
		var rows []*result.Point
		for i := range points {
			if points[i].Warmup == warmup {
				rows = append(rows, &points[i])
			}
		}
		if len(rows) == 0 || len(progresses) == 0 {
			continue
		}
		t := newTiles(rows, progresses, shifts)
		for i, f := range progresses {
			for _, s := range f.steps {
				t.share(s, shifts[i])
			}
		}
		t.write()
	}
}

// newTiles finds out when each row begins: where its windows do, which a part whose
// windows lie elsewhere in the second may have moved.
func newTiles(rows []*result.Point, progresses []*progress, shifts []time.Duration) *tiles {
	t := &tiles{rows: rows, counts: make([]counts, len(rows)), to: progresses[0].to + shifts[0]}
	first := progresses[0].from + shifts[0]
	for i, f := range progresses {
		first, t.to = min(first, f.from+shifts[i]), max(t.to, f.to+shifts[i])
	}
	for i, row := range rows {
		at := first
		if i > 0 {
			at = max(t.start[i-1], fromSeconds(row.StartSeconds))
		}
		t.start = append(t.start, at)
	}
	return t
}

// share gives each row the part of a step that lies in its time.
func (t *tiles) share(s progressStep, shift time.Duration) {
	from, to := s.from+shift, s.to+shift
	i, found := slices.BinarySearch(t.start, from)
	if !found {
		i = max(0, i-1)
	}
	length := float64(to - from)
	for ; i+1 < len(t.start) && t.start[i+1] < to; i++ {
		if next := t.start[i+1]; next > from {
			t.counts[i].add(s.counts, float64(next-from)/length)
			from = next
		}
	}
	if length <= 0 { // it has a moment, and no length
		t.counts[i].add(s.counts, 1)
		return
	}
	t.counts[i].add(s.counts, float64(to-from)/length)
}

// write makes the rows what was shared out. Sums are rounded, and not the rows, so that
// these add up to what there was.
func (t *tiles) write() {
	var sum counts
	whole := func(f float64) int64 { return int64(math.Round(f)) }
	for i, row := range t.rows {
		end := t.to
		if i+1 < len(t.rows) {
			end = t.start[i+1]
		}
		// Where the phase had no window for a while the row does not last until the next; nor
		// until the last of the warm-up's records is acknowledged.
		if own := fromSeconds(row.StartSeconds + row.Seconds); end-own > time.Second/2 {
			end = max(own, t.start[i])
		}
		row.StartSeconds, row.Seconds = t.start[i].Seconds(), max(0, end-t.start[i]).Seconds()
		before := sum
		sum.add(t.counts[i], 1)
		row.Acknowledged = whole(sum.acknowledged) - whole(before.acknowledged)
		row.Failed = whole(sum.failed) - whole(before.failed)
		row.Bytes = whole(sum.bytes) - whole(before.bytes)
		row.Consumed = whole(sum.consumed) - whole(before.consumed)
		row.ConsumedBytes = whole(sum.consumedBytes) - whole(before.consumedBytes)
	}
}

// fromSeconds is exact: what was a duration becomes that again.
func fromSeconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
