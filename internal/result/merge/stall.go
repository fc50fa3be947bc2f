package merge

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// noteGap keeps a gap of the part that may be a stall. While one is open, each window has it longer than the one before.
func (p *mergedPart) noteGap(g stats.Gap) {
	n := len(p.gaps)
	switch {
	case g.Length < verdict.StallAtRate:
	case n > 0 && p.gaps[n-1].From == g.From:
		p.gaps[n-1].Length = max(p.gaps[n-1].Length, g.Length)
	default:
		p.gaps = append(p.gaps, g)
	}
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
		gaps = common(gaps, fused(times))
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

// common returns the stretches that lie in both a and b, which are sorted.
func common(a, b []stretch) (both []stretch) {
	for len(a) > 0 && len(b) > 0 {
		if s := (stretch{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); s.from < s.to {
			both = append(both, s)
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}
