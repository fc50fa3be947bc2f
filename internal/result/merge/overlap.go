package merge

import (
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// progress is how many records a part had done at which time, of one phase.
type progress struct {
	steps  []progressStep
	stride int // windows a step
	fill   int // windows in the last step

	from, to time.Duration // of all windows
	windows  int
}

type progressStep struct {
	from, to time.Duration
	counts
}

// counts is what was offered, acknowledged, read, and what failed. It is counted in float64,
// exact up to 2^53, for a part of a window has a part of its records.
type counts struct{ offered, acknowledged, failed, bytes, consumed, consumedBytes float64 }

func (d *counts) add(o counts, share float64) {
	d.offered += o.offered * share
	d.acknowledged += o.acknowledged * share
	d.failed += o.failed * share
	d.bytes += o.bytes * share
	d.consumed += o.consumed * share
	d.consumedBytes += o.consumedBytes * share
}

func countsIn(w *stats.Window) counts {
	return counts{
		acknowledged: float64(w.Acknowledged), failed: float64(w.Failed), bytes: float64(w.Bytes),
		consumed: float64(w.Consumed), consumedBytes: float64(w.ConsumedBytes),
	}
}

func (f *progress) add(w *stats.Window) { f.put(w, countsIn(w), max(w.LastAck, w.LastRead)) }

// addSent adds what was offered, of which the last may be acknowledged much later.
func (f *progress) addSent(w *stats.Window) {
	f.put(w, counts{offered: float64(w.Offered)}, max(w.LastSent, w.LastDue))
}

// put adds what was done in a window, and when the last of it was.
func (f *progress) put(w *stats.Window, what counts, last time.Duration) {
	if f.windows++; f.windows == 1 {
		f.from, f.to = w.Start, w.End
	}
	f.from, f.to = min(f.from, w.Start), max(f.to, w.End)
	f.stride = max(1, f.stride)
	s := progressStep{w.Start, w.End, what}
	if len(f.steps) == 0 { // nothing can have been done before the first record
		switch {
		case w.Offered == 0 && w.Consumed == 0 && what == counts{}:
			return
		case w.Offered > 0 && w.FirstDue < s.to:
			s.from = max(s.from, w.FirstDue)
		case w.Offered == 0 && w.Consumed > 0 && w.FirstRead < s.to:
			s.from = max(s.from, w.FirstRead)
		}
	}
	if last > s.from {
		s.to = min(s.to, last)
	}
	if n := len(f.steps); n > 0 && f.fill < f.stride {
		f.steps[n-1] = joinSteps(f.steps[n-1], s)
		f.fill++
		return
	}
	f.steps, f.fill = append(f.steps, s), 1
	if len(f.steps) <= result.MaxPoints {
		return
	}
	kept := f.steps[:0] // two by two, as a series does
	for pair := range slices.Chunk(f.steps, 2) {
		one := pair[0]
		if len(pair) == 2 {
			one = joinSteps(one, pair[1])
		}
		kept = append(kept, one)
	}
	if len(f.steps)%2 == 0 { // the last step was joined to a whole one
		f.fill += f.stride
	}
	f.steps, f.stride = kept, f.stride*2
}

func joinSteps(a, b progressStep) progressStep {
	a.from, a.to = min(a.from, b.from), max(a.to, b.to)
	a.add(b.counts, 1)
	return a
}

// within is what was done between two moments: of a step that is only partly between
// them, the same part.
func (f *progress) within(from, to time.Duration) (sum counts) {
	for _, s := range f.steps {
		switch length := s.to - s.from; {
		case s.to <= from || s.from >= to:
		case length <= 0: // it has a moment, and no length
			sum.add(s.counts, 1)
		default:
			sum.add(s.counts, float64(min(to, s.to)-max(from, s.from))/float64(length))
		}
	}
	return sum
}

// measured is when the part was measured, by its own time: from the first record that
// was due, or read, to when sending or reading was over. ok is false when nothing was.
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

// end is when the part was over, by its own time.
func (p *mergedPart) end() time.Duration {
	end := max(p.fold.Total(stats.Measured).End, p.fold.Total(stats.Warmup).End)
	if p.trailer != nil {
		end = max(end, time.Duration(p.trailer.ElapsedSeconds*float64(time.Second)))
	}
	return end
}

// mib is the unit of Kafka's own tools, which print it as MB.
const mib = 1 << 20

// frame is the time that rates are over.
type frame struct {
	from, to time.Duration // common time
	apart    string        // why rates are of all that was measured; "": they are over the overlap
}

// Why rates are not over an overlap.
const (
	saysShort = "the parts were measured together for less than 1 s"
	saysApart = "the parts did not run together"
)

func (f frame) seconds() float64 { return (f.to - f.from).Seconds() }

// overlap finds out when all parts that count were measured. Those in which nothing was
// do not shorten it.
func (m *merge) overlap() (o result.Overlap, f frame) {
	parts := m.counted()
	measured := 0
	var first, last, end, late time.Duration
	var began, ended time.Duration // the last start, and the first end, of those that were measured
	for i, p := range parts {
		late = max(late, p.shift)
		end = max(end, p.shift+p.end())
		if i == 0 {
			o.Agreed = true
		}
		o.Agreed = o.Agreed && p.agreed() != nil && p.agreed().At.Equal(parts[0].agreed().At)
		from, to, ok := p.measured()
		if !ok {
			continue
		}
		from, to = from+p.shift, to+p.shift
		if measured++; measured == 1 {
			first, last, f = from, to, frame{from: from, to: to}
			began, ended = p.shift, p.shift+p.end()
			continue
		}
		began, ended = max(began, p.shift), min(ended, p.shift+p.end())
		first, last = min(first, from), max(last, to)
		f.from, f.to = max(f.from, from), min(f.to, to)
	}
	o.SpanSeconds, o.StartSpreadUS, o.ClockErrorUS = end.Seconds(), late.Microseconds(), m.clockError(o.Agreed)
	if ended <= began && first < last {
		return o, frame{from: first, to: last, apart: saysApart}
	}
	o.Together = true
	if f.from < f.to {
		o.FromSeconds, o.ToSeconds = f.from.Seconds(), f.to.Seconds()
	}
	if f.to-f.from < verdict.Shortest {
		return o, frame{from: first, to: last, apart: saysShort}
	}
	o.Seconds = f.seconds()
	return o, f
}

// clockError is by how much the spread of the starts may be wrong, in microseconds: the
// sum of the two largest bounds of different hosts; -1: nobody knows.
func (m *merge) clockError(agreed bool) int64 {
	if !agreed {
		return -1
	}
	bounds := make(map[string]time.Duration)
	for _, p := range m.counted() {
		bounds[p.host()] = max(bounds[p.host()], p.agreed().Bound)
	}
	var two [2]time.Duration // the largest, and the next
	for _, b := range bounds {
		switch {
		case b > two[0]:
			two = [2]time.Duration{b, two[0]}
		case b > two[1]:
			two[1] = b
		}
	}
	if len(bounds) < 2 { // one clock
		return 0
	}
	return (two[0] + two[1]).Microseconds()
}

// rates are what was done in the frame, a second; none in so short a time that a record
// more or less would make them others.
func (p *mergedPart) rates(f frame) (a counts) {
	if f.to-f.from < verdict.Shortest {
		return a
	}
	if total := p.fold.Total(stats.Measured); f.apart != "" {
		a.add(countsIn(total), 1/f.seconds())
		a.add(counts{offered: float64(total.Offered)}, 1/f.seconds())
		return a
	}
	a.add(p.progress.within(f.from-p.shift, f.to-p.shift), 1/f.seconds())
	a.add(p.sent.within(f.from-p.shift, f.to-p.shift), 1/f.seconds())
	return a
}
