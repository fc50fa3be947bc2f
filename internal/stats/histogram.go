package stats

import (
	"math"
	"time"
)

// Every histogram of kt has one geometry, so that any two can be merged:
// microseconds from 0 to one hour at three significant digits.

// HighestTrackableValue is the longest duration that a histogram holds. A longer one is
// counted as out of range.
const HighestTrackableValue = time.Hour

// Never is the latency of a record that was not served: it failed, got no answer or was not sent. It is longer than any that
// a histogram holds, so whoever compares it finds it too long. Microseconds and a float64 hold it exactly.
const Never = 1 << 50 * time.Microsecond

// Histogram is an HdrHistogram of durations in microseconds. The zero value is
// empty and ready for use. It is not safe for concurrent use.
//
// Its memory depends on the source of its values:
//
//   - recorded: 184 KiB with the first value
//   - read from a file: a kilobyte or two, until others are added
//   - added from others: 8 KiB for each octave of its values
type Histogram struct {
	dense  *dense // the counts; nil: they are in packed, or there are none
	packed packed // of a histogram from a file; it may be shared

	n          int64 // values
	sum        int64 // microseconds, exact
	min, max   int64 // microseconds, not rounded; meaningless without values
	outOfRange int64
	unserved   int64 // records with the latency Never
}

// Record adds one duration. A negative one, or one over HighestTrackableValue, is
// counted by OutOfRange and left out of everything else.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN adds n equal durations.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n <= 0 {
		return
	}
	if d < 0 || d > HighestTrackableValue || n > math.MaxInt64-h.n {
		h.outOfRange = saturated(h.outOfRange, n)
		return
	}
	us := int64(d / time.Microsecond)
	if h.n == 0 {
		h.min, h.max = us, us
	}
	if h.dense == nil {
		h.open(newDense)
	}
	index := countsIndex(us)
	h.dense.page(index >> pageBits)[index&(pageSize-1)] += n
	h.n += n
	h.min = min(h.min, us)
	h.max = max(h.max, us)
	h.sum += us * n
}

// RecordNever adds n records that were not served. They rank above all durations, and are in no other figure.
func (h *Histogram) RecordNever(n int64) { h.unserved = saturated(h.unserved, n) }

// Ranked returns the number of all that quantiles rank: durations held, and records that were not served.
func (h *Histogram) Ranked() int64 { return saturated(h.n, h.unserved) }

// Served returns the durations alone, for formats of others, which know no record that was not served. It shares memory with h.
func (h *Histogram) Served() *Histogram {
	served := *h
	served.unserved = 0
	return &served
}

// none is the value without a duration: Never if a record was not served, else 0.
func (h *Histogram) none() time.Duration {
	if h.unserved > 0 {
		return Never
	}
	return 0
}

// open moves packed counts, if any, into a dense form.
func (h *Histogram) open(room func() *dense) {
	h.dense = room()
	h.packed.addTo(h.dense)
	h.packed = nil
}

// Count returns the number of durations held: without those out of range, and without records that were not served.
func (h *Histogram) Count() int64 { return h.n }

// OutOfRange returns the number of durations that were negative or over HighestTrackableValue.
func (h *Histogram) OutOfRange() int64 { return h.outOfRange }

// Min returns the shortest duration, exact to the microsecond; 0 when empty, Never if no record was served.
func (h *Histogram) Min() time.Duration {
	if h.n == 0 {
		return h.none()
	}
	return micros(h.min)
}

// Max returns the longest duration, exact to the microsecond; 0 when empty, Never if a record was not served.
func (h *Histogram) Max() time.Duration {
	if h.n == 0 || h.unserved > 0 {
		return h.none()
	}
	return micros(h.max)
}

// Mean returns the exact mean of the durations; 0 when empty, Never if no record was served.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return h.none()
	}
	return time.Duration(float64(h.sum) / float64(h.n) * float64(time.Microsecond))
}

// Sum returns the exact sum of the durations in seconds. A time.Duration could not hold that of a long run.
func (h *Histogram) Sum() float64 { return float64(h.sum) / 1e6 }

// ValueAtQuantile returns the value below which the share q (0 to 1) of all that is Ranked lies. It has three significant digits,
// and is never above the longest duration. It is 0 when empty, and Never among records that were not served.
func (h *Histogram) ValueAtQuantile(q float64) time.Duration {
	count := countAtQuantile(q, h.Ranked())
	if count > h.n {
		return h.none()
	}
	var index int
	h.each(func(at int, n int64) bool {
		index = at
		count -= n
		return count > 0
	})
	v := highestEquivalentValue(index)
	if q <= 0 {
		v = lowestEquivalentValue(index)
	}
	return micros(min(max(v, h.min), h.max))
}

// Each calls f for every sub-bucket with a value, shortest first, with its highest
// equivalent value and its count.
func (h *Histogram) Each(f func(upTo time.Duration, count int64)) {
	h.each(func(index int, count int64) bool {
		f(micros(highestEquivalentValue(index)), count)
		return true
	})
}

// each calls f for every sub-bucket with a value, least first, until f returns false.
func (h *Histogram) each(f func(index int, count int64) bool) {
	if h.dense != nil {
		h.dense.each(f)
		return
	}
	h.packed.each(f)
}

// IsZero reports whether nothing was recorded, not even out of range.
func (h Histogram) IsZero() bool { return h.n == 0 && h.outOfRange == 0 && h.unserved == 0 }

// add merges o into h. If the count or the sum would overflow, as only a forged file makes them, the
// values of o count as out of range.
func (h *Histogram) add(o *Histogram) {
	h.outOfRange = saturated(h.outOfRange, o.outOfRange)
	h.unserved = saturated(h.unserved, o.unserved)
	switch {
	case o.n == 0:
		return
	case o.n > math.MaxInt64-h.n || o.sum > math.MaxInt64-h.sum:
		h.outOfRange = saturated(h.outOfRange, o.n)
		return
	case h.n == 0:
		h.min, h.max = o.min, o.max
	}
	h.addCounts(o)
	h.n += o.n
	h.sum += o.sum
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
}

func (h *Histogram) addCounts(o *Histogram) {
	if h.dense == nil {
		if h.n == 0 && o.dense == nil {
			h.packed = o.packed
			return
		}
		h.open(func() *dense { return new(dense) })
	}
	if o.dense == nil {
		o.packed.addTo(h.dense)
		return
	}
	for p := countsIndex(o.min) >> pageBits; p <= countsIndex(o.max)>>pageBits; p++ {
		if o.dense[p] == nil {
			continue
		}
		to := h.dense.page(p)
		for i, n := range o.dense[p] {
			to[i] += n
		}
	}
}

// reset empties h and keeps its memory.
func (h *Histogram) reset() {
	kept := h.dense
	if kept != nil && h.n > 0 {
		for p := countsIndex(h.min) >> pageBits; p <= countsIndex(h.max)>>pageBits; p++ {
			if kept[p] != nil {
				*kept[p] = page{}
			}
		}
	}
	*h = Histogram{dense: kept}
}
