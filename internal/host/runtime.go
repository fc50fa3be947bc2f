package host

import (
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// gcCPU returns the processor time that the garbage collector took, in seconds. The
// runtime brings it up to date at the end of a collection, so that the time of a
// long one falls into the interval in which it ended.
func gcCPU() func() (float64, error) {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	return func() (float64, error) {
		metrics.Read(sample)
		if k := sample[0].Value.Kind(); k != metrics.KindFloat64 {
			return 0, fmt.Errorf("the runtime has no %s", sample[0].Name)
		}
		return sample[0].Value.Float64(), nil
	}
}

// pauses finds the longest stop of the world since it last looked.
type pauses struct {
	sample []metrics.Sample
	counts []uint64 // of the histogram's buckets, at the last look
}

func newPauses() *pauses {
	p := &pauses{sample: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}}
	p.longest()
	return p
}

// longest is 0 when nothing was stopped, or when the runtime does not tell.
func (p *pauses) longest() time.Duration {
	metrics.Read(p.sample)
	if p.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := p.sample[0].Value.Float64Histogram()
	longest := longestSince(p.counts, h)
	// A copy: Read fills the same memory again.
	p.counts = append(p.counts[:0], h.Counts...)
	return longest
}

// longestSince returns the upper bound of the highest bucket that has grown: the
// pause was at most that long, to about a tenth. was is nil at first.
func longestSince(was []uint64, h *metrics.Float64Histogram) time.Duration {
	for i, n := range slices.Backward(h.Counts) {
		if i < len(was) && n == was[i] || n == 0 {
			continue
		}
		bound := h.Buckets[i+1] // bucket i is from Buckets[i] to Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = h.Buckets[i]
		}
		return time.Duration(bound * float64(time.Second))
	}
	return 0
}
