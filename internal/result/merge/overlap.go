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

// apartBy is the largest spread of the starts, and of the ends, with which rates are over the whole run: half a window. With a
// larger one, rates leave out the seconds in which not all parts ran.
const apartBy = time.Second / 2

// figures are those of a part that was read. Times are its own.
type figures struct {
	doc      result.Result
	total    *stats.Window // measured
	measured bool          // something was
	from, to time.Duration // from the first record due, or read, to the end of sending or reading
	cores    float64       // used; 0: less than a second was measured, and its samples are too short
}

func (p *mergedPart) conclude() {
	m := p.fold.Total(stats.Measured)
	p.figures = figures{doc: p.fold.Result(), total: m, measured: m.Offered > 0 || m.Consumed > 0}
	switch {
	case m.Offered > 0:
		p.from, p.to = m.FirstDue, max(m.FirstDue, m.LastSent, m.LastDue)
	case m.Consumed > 0:
		p.from, p.to = m.FirstRead, max(m.FirstRead, m.LastRead)
	}
	if p.to-p.from >= verdict.Shortest {
		p.cores = p.doc.Client.CPUCores
	}
}

// ended returns when the part was over, by its own time.
func (p *mergedPart) ended() time.Duration {
	return max(p.total.End, p.fold.Total(stats.Warmup).End, seconds(p.end().ElapsedSeconds))
}

// together returns the time in which all parts that count were measured, and what the sum of the parts does not show.
func (m *merge) together() (o result.Overlap, t result.Together) {
	parts := m.counted()
	var begins, ends, froms, tos []time.Duration // of the parts in which something was measured
	var late, end time.Duration                  // of all parts
	spread := apartBy
	o.Agreed, t.Count, t.Invalid = true, len(parts), []string{}
	for _, p := range parts {
		late, end = max(late, p.late), max(end, p.shift+p.ended())
		o.Agreed = o.Agreed && p.start.Agreed != nil && p.start.Agreed.At.Equal(parts[0].start.Agreed.At)
		t.Cores += p.cores
		for _, reason := range p.doc.Invalid {
			t.Invalid = append(t.Invalid, p.label()+": "+reason)
		}
		if p.measured {
			begins, ends = append(begins, p.shift), append(ends, p.shift+p.ended())
			froms, tos = append(froms, p.shift+p.from), append(tos, p.shift+p.to)
			spread = max(spread, result.IntervalOf(p.total))
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
		if to-from >= verdict.Shortest {
			t.Overlap = m.within(from, to)
		}
	}
	if from < to {
		o.FromSeconds, o.ToSeconds = from.Seconds(), to.Seconds()
	}
	if to-from < verdict.Shortest {
		t.NoOverlap = saysShort
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
		bounds[p.part.Host] = max(bounds[p.part.Host], p.start.Agreed.Bound)
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
		p.did = new(stats.Window)
		for _, c := range p.counts {
			if end := secondOf(c.end) + p.shift; end > from && end <= to {
				p.did.Add(&stats.Window{
					Offered: c.offered, Acknowledged: c.acknowledged, Failed: c.failed, Unknown: c.unknown, Bytes: c.bytes,
					Read: stats.Read{Consumed: c.consumed, ConsumedBytes: c.consumedBytes},
				})
			}
		}
		sum.Add(p.did)
	}
	sum.Start, sum.End = from, to
	return &sum
}

// stall returns the longest time in which records of some part waited while no part had an acknowledgement.
func (m *merge) stall() (longest stats.Gap) {
	type edge struct {
		at              time.Duration
		waiting, silent int // how many more parts have records that wait, and no acknowledgement
	}
	var edges []edge
	span := func(from, to time.Duration, waiting, silent int) {
		if from < to {
			edges = append(edges, edge{from, waiting, silent}, edge{to, -waiting, -silent})
		}
	}
	senders := 0
	for _, p := range m.counted() {
		first, last := p.total.FirstDue+p.shift, max(p.total.FirstDue, p.total.LastAck)+p.shift
		for _, g := range p.gaps {
			from, to := g.From+p.shift, g.From+g.Length+p.shift
			span(from, to, 1, 0)
			if p.total.Offered > 0 {
				span(max(from, first), min(to, last), 0, 1)
			}
		}
		if p.total.Offered > 0 {
			senders++
			span(math.MinInt64, first, 0, 1)
			span(last, math.MaxInt64, 0, 1)
		}
	}
	// Of two that touch, the first ends before the second begins: an acknowledgement lies between them.
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.waiting+a.silent, b.waiting+b.silent))
	})
	waiting, silent, from := 0, 0, time.Duration(0)
	for _, e := range edges {
		stalled := waiting > 0 && silent == senders
		if stalled && e.at-from > longest.Length {
			longest = stats.Gap{From: from, Length: e.at - from}
		}
		waiting, silent = waiting+e.waiting, silent+e.silent
		if !stalled {
			from = e.at
		}
	}
	return longest
}
