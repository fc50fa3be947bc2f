package stats

import (
	"math"
	"math/bits"
	"time"
)

// The sub-buckets of a histogram are those of an HdrHistogram of 1 to HighestTrackableValue
// microseconds at three significant digits. The first page counts 0 to 1023 µs, each
// by itself. Every other page counts one octave, which it cuts into 1024 sub-buckets:
//
//	page 0      0 …  1023 µs   sub-buckets of 1 µs
//	page 1   1024 …  2047 µs   sub-buckets of 1 µs
//	page 2   2048 …  4095 µs   sub-buckets of 2 µs
//	page p                     sub-buckets of 2^(p-1) µs
const (
	pageBits     = 10
	pageSize     = 1 << pageBits
	pages        = 23 // the last goes to 4,294,967,295 µs
	countsLength = pages * pageSize

	// HDRBuckets and HDRSubBuckets are the dimensions as HdrHistogram counts them: its first bucket is two pages, and
	// every other one is the upper half of as many sub-buckets.
	HDRBuckets    = pages - 1
	HDRSubBuckets = 2 * pageSize
)

// countsIndex returns the sub-bucket of a value from 0 to HighestTrackableValue, in microseconds.
func countsIndex(us int64) int {
	if us < pageSize {
		return int(us)
	}
	p := bits.Len64(uint64(us)) - pageBits
	return p<<pageBits + int(us>>(p-1)) - pageSize
}

// lowestEquivalentValue returns the least value of a sub-bucket, in microseconds.
func lowestEquivalentValue(index int) int64 {
	if index < pageSize {
		return int64(index)
	}
	p := index >> pageBits
	return int64(pageSize+index&(pageSize-1)) << (p - 1)
}

// highestEquivalentValue returns the greatest value of a sub-bucket, in microseconds.
func highestEquivalentValue(index int) int64 { return lowestEquivalentValue(index+1) - 1 }

// page counts the values of an octave.
type page [pageSize]int64

// dense counts the values of each sub-bucket; a page in which nothing has been counted may
// be nil.
type dense [pages]*page

// newDense returns one with all pages, 184 KiB, so that recording does not allocate.
func newDense() *dense {
	all := new([pages]page)
	d := new(dense)
	for i := range all {
		d[i] = &all[i]
	}
	return d
}

func (d *dense) page(p int) *page {
	if d[p] == nil {
		d[p] = new(page)
	}
	return d[p]
}

// each calls f for every sub-bucket with a value, least first, until f returns false.
func (d *dense) each(f func(index int, count int64) bool) {
	for p, page := range d {
		if page == nil {
			continue
		}
		for i, n := range page {
			if n > 0 && !f(p<<pageBits+i, n) {
				return
			}
		}
	}
}

// countAtQuantile returns how many of n values, the least first, lie at or below their
// quantile q, as HdrHistogram defines it: at least 1.
func countAtQuantile(q float64, n int64) int64 {
	percentile := min(max(q*100, 0), 100)
	count := percentile/100*float64(n) + 0.5
	switch {
	case !(count >= 1): // not a number, too
		return 1
	case count >= float64(n):
		return n
	}
	return int64(count)
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// saturated returns the sum of two counts, at most math.MaxInt64.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
