package merge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// mib is the unit of Kafka's own tools, which print it as MB.
const mib = 1 << 20

// frame is the time over which rates are.
type frame struct {
	from, to  time.Duration // whole seconds of common time; both 0: rates are over the whole run
	own       bool          // those of each part are over its own time
	noOverlap string        // reason why there is no overlap; "": there is one
}

// part reports whether rates are over a part of the run only.
func (f frame) part() bool { return f.to > f.from }

// Reasons why there is no overlap.
const (
	saysShort    = "the parts were measured together for less than 1 s"
	saysSeparate = "the parts did not run together"
)

// together is the largest spread of the starts, and of the ends, with which rates are over the whole
// run: half a window, or an interval between the records of a part that has few. With a larger one, rates leave out the seconds in
// which not all parts ran.
const together = time.Second / 2

// measured returns the time in which the part was measured, by its own time: from the first record
// due, or read, to the end of sending or reading. ok is false if nothing was measured.
func (p *mergedPart) measured() (from, to time.Duration, ok bool) {
	m := p.fold.Total(stats.Measured)
	switch {
	case m.Offered > 0:
		return m.FirstDue, max(m.FirstDue, m.LastSent, m.LastDue), true
	case m.Consumed > 0:
		return m.FirstRead, max(m.FirstRead, m.LastRead), true
	}
	return 0, 0, false
}

// over returns when the part was over, by its own time.
func (p *mergedPart) over() time.Duration {
	elapsed := time.Duration(p.end().ElapsedSeconds * float64(time.Second))
	return max(p.fold.Total(stats.Measured).End, p.fold.Total(stats.Warmup).End, elapsed)
}

// overlap returns the time in which all parts that count were measured, and the time over which
// rates are. A part in which nothing was measured does not shorten it.
func (m *merge) overlap() (o result.Overlap, f frame) {
	parts := m.counted()
	var begins, ends, froms, tos []time.Duration // of the parts in which something was measured
	var late, end time.Duration                  // of all parts
	o.Agreed = true
	spread := together
	for _, p := range parts {
		late, end = max(late, p.late), max(end, p.shift+p.over())
		o.Agreed = o.Agreed && p.agreed() != nil && p.agreed().At.Equal(parts[0].agreed().At)
		if from, to, ok := p.measured(); ok {
			begins, ends = append(begins, p.shift), append(ends, p.shift+p.over())
			froms, tos = append(froms, p.shift+from), append(tos, p.shift+to)
			spread = max(spread, result.IntervalOf(p.fold.Total(stats.Measured)))
		}
	}
	o.SpanSeconds, o.StartSpreadUS, o.ClockErrorUS = end.Seconds(), late.Microseconds(), m.clockError(o.Agreed)
	if len(begins) == 0 {
		o.Together = true
		return o, frame{noOverlap: saysShort}
	}
	from, to := slices.Max(froms), slices.Min(tos)
	firstFrom, lastTo := slices.Min(froms), slices.Max(tos)
	if slices.Min(ends) <= slices.Max(begins) && firstFrom < lastTo {
		return o, frame{noOverlap: saysSeparate}
	}
	o.Together = true
	if from-firstFrom > spread || lastTo-to > spread {
		from, to = secondOf(from), to.Truncate(time.Second)
		f = frame{from: from, to: to}
	}
	if from < to {
		o.FromSeconds, o.ToSeconds = from.Seconds(), to.Seconds()
	}
	if to-from < verdict.Shortest {
		return o, frame{noOverlap: saysShort}
	}
	o.Seconds = (to - from).Seconds()
	return o, f
}

// clockError returns the error bound of the spread of the starts, in microseconds: the sum of the
// two largest clock bounds of different hosts; -1: not known.
func (m *merge) clockError(agreed bool) int64 {
	if !agreed {
		return -1
	}
	bounds := make(map[string]time.Duration)
	for _, p := range m.counted() {
		bounds[p.host()] = max(bounds[p.host()], p.agreed().Bound)
	}
	if all := slices.Sorted(maps.Values(bounds)); len(all) > 1 {
		return (all[len(all)-1] + all[len(all)-2]).Microseconds()
	}
	return 0 // one clock
}

// readOverlap reads the parts that count once more, for the counts of each within f. It returns
// their sum.
func (m *merge) readOverlap(ctx context.Context, f frame) (*stats.Window, error) {
	var sum stats.Window
	for _, p := range m.counted() {
		p.did = stats.Window{}
		for l, err := range p.content() {
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			if w := l.Window; w != nil && !w.Warmup && secondOf(w.End)+p.shift > f.from && secondOf(w.End)+p.shift <= f.to {
				counts := w.Counts()
				p.did.Add(&counts)
			}
		}
		sum.Add(&p.did)
	}
	sum.Start, sum.End = f.from, f.to
	return &sum, nil
}
