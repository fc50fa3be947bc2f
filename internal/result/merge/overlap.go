package merge

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// mib is the unit of Kafka's own tools, which print it as MB.
const mib = 1 << 20

// Reasons why there is no overlap.
const (
	saysShort    = "the parts were measured together for less than 1 s"
	saysSeparate = "the parts did not run together"
)

// together is the largest spread of the starts, and of the ends, with which rates are over the whole
// run: half a window, or an interval between the records of a part that has few. With a larger one, rates leave out the seconds in
// which not all parts ran.
const together = time.Second / 2

// measured returns when the part was measured, by its own time: from the first record due, or read, to the end of sending or reading.
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

// overlap returns the time in which all parts that count were measured, and of t the counts in it and why there is none. A part
// in which nothing was measured does not shorten it.
func (m *merge) overlap() (o result.Overlap, t result.Together) {
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
		o.Together, t.NoOverlap = true, saysShort
		return o, t
	}
	from, to := slices.Max(froms), slices.Min(tos)
	firstFrom, lastTo := slices.Min(froms), slices.Max(tos)
	if slices.Min(ends) <= slices.Max(begins) && firstFrom < lastTo {
		t.NoOverlap = saysSeparate
		return o, t
	}
	o.Together = true
	if from-firstFrom > spread || lastTo-to > spread {
		from, to = secondOf(from), to.Truncate(time.Second)
		if from < to {
			t.Overlap = m.within(from, to)
		}
	}
	if from < to {
		o.FromSeconds, o.ToSeconds = from.Seconds(), to.Seconds()
	}
	if to-from < verdict.Shortest {
		t.Overlap, t.NoOverlap = nil, saysShort
		return o, t
	}
	o.Seconds = (to - from).Seconds()
	return o, t
}

// clockError returns the largest error of the spread of the starts, as result.Overlap has it.
func (m *merge) clockError(agreed bool) int64 {
	if !agreed {
		return -1
	}
	bounds := make(map[string]time.Duration)
	for _, p := range m.counted() {
		bounds[p.part.Host] = max(bounds[p.part.Host], p.agreed().Bound)
	}
	if all := slices.Sorted(maps.Values(bounds)); len(all) > 1 {
		return (all[len(all)-1] + all[len(all)-2]).Microseconds()
	}
	return 0 // one clock
}

// counts are those of a measured window that rates are made of: a whole window for each second would take ten times the memory.
type counts struct {
	end                                                                    time.Duration // by the part's own time
	offered, acknowledged, failed, unknown, bytes, consumed, consumedBytes int64
}

// within sets what each part that counts did in some whole seconds of common time, and returns the sum of all.
func (m *merge) within(from, to time.Duration) *stats.Window {
	var sum stats.Window
	for _, p := range m.counted() {
		for _, c := range p.counts {
			if end := secondOf(c.end) + p.shift; end > from && end <= to {
				p.did.Add(&stats.Window{
					Offered: c.offered, Acknowledged: c.acknowledged, Failed: c.failed, Unknown: c.unknown, Bytes: c.bytes,
					Read: stats.Read{Consumed: c.consumed, ConsumedBytes: c.consumedBytes},
				})
			}
		}
		sum.Add(&p.did)
	}
	sum.Start, sum.End = from, to
	return &sum
}

// stall returns the longest time in which records of some part waited while no part had an acknowledgement.
func (m *merge) stall() (longest stats.Gap) {
	var gaps []stretch
	for _, p := range m.counted() {
		for _, g := range p.gaps {
			gaps = append(gaps, stretch{g.From + p.shift, g.From + g.Length + p.shift})
		}
	}
	gaps = fused(gaps)
	for _, p := range m.counted() {
		t := p.fold.Total(stats.Measured)
		if t.Offered == 0 {
			continue
		}
		// It had no acknowledgement before its first record, after its last acknowledgement, and in its gaps.
		times := []stretch{{math.MinInt64, t.FirstDue + p.shift}, {max(t.LastAck, t.FirstDue) + p.shift, math.MaxInt64}}
		for _, g := range p.gaps {
			times = append(times, stretch{g.From + p.shift, g.From + g.Length + p.shift})
		}
		var both []stretch
		for a, b := gaps, fused(times); len(a) > 0 && len(b) > 0; {
			if s := (stretch{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); s.from < s.to {
				both = append(both, s)
			}
			if a[0].to < b[0].to {
				a = a[1:]
			} else {
				b = b[1:]
			}
		}
		gaps = both
	}
	for _, s := range gaps {
		if s.to-s.from > longest.Length {
			longest = stats.Gap{From: s.from, Length: s.to - s.from}
		}
	}
	return longest
}

// stretch is a span of common time.
type stretch struct{ from, to time.Duration }

// fused sorts stretches, and makes one of those that overlap. Two that only touch stay two: an
// acknowledgement lies between them.
func fused(times []stretch) []stretch {
	slices.SortFunc(times, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var out []stretch
	for _, s := range times {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
