package result

import "github.com/kt-bench/kt/internal/stats"

// hosted keeps the headline latency of the last five to ten seconds. Histograms cannot be subtracted,
// so there are two sums: each is emptied after ten seconds, five seconds after the other. The
// fuller one is shown.
type hosted struct {
	sums    [2]stats.Window
	seconds int
}

// hostPoints bounds the series of one host of many.
const hostPoints = 600

// NewHostFold returns the fold of one host of many, for its snapshots. It has a shorter series, and no
// partitions, brokers and verdict.
func NewHostFold(h Header) *Fold {
	f := NewFold(h)
	f.hosted, f.series.most = new(hosted), hostPoints
	return f
}

// add takes the latencies of a second.
func (h *hosted) add(of *stats.Histogram) {
	const half = 5
	newer := h.seconds / half % 2
	if h.seconds%half == 0 {
		h.sums[newer] = stats.Window{}
	}
	h.seconds++
	for i := range h.sums {
		h.sums[i].Add(&stats.Window{Response: *of})
	}
}

func (h *hosted) quantiles() Quantiles {
	newer := max(h.seconds-1, 0) / 5 % 2
	return quantilesOf(&h.sums[1-newer].Response)
}
