package stats

import (
	"math"
	"math/bits"
	"time"
)

// The buckets of a histogram are those of an HdrHistogram of 1 to MaxTrackable
// microseconds at three significant digits. The first page counts 0 to 1023 µs, each
// by itself. Every other page counts one octave, which it cuts into 1024 buckets:
//
//	page 0      0 …  1023 µs   buckets of 1 µs
//	page 1   1024 …  2047 µs   buckets of 1 µs
//	page 2   2048 …  4095 µs   buckets of 2 µs
//	page p                     buckets of 2^(p-1) µs
const (
	pageBits = 10
	pageSize = 1 << pageBits
	pages    = 23 // the last goes to 4,294,967,295 µs
	buckets  = pages * pageSize
)

// bucketOf is the bucket of a value from 0 to MaxTrackable, in microseconds.
func bucketOf(us int64) int {
	if us < pageSize {
		return int(us)
	}
	p := bits.Len64(uint64(us)) - pageBits
	return p<<pageBits + int(us>>(p-1)) - pageSize
}

// leastOf is the least value that a bucket counts, in microseconds.
func leastOf(bucket int) int64 {
	if bucket < pageSize {
		return int64(bucket)
	}
	p := bucket >> pageBits
	return int64(pageSize+bucket&(pageSize-1)) << (p - 1)
}

// mostOf is the greatest.
func mostOf(bucket int) int64 { return leastOf(bucket+1) - 1 }

// page counts the values of an octave.
type page [pageSize]int64

// dense counts the values of each bucket; a page in which nothing has been counted may
// be nil.
type dense [pages]*page

// newDense has all its pages, 184 KiB: for recording, which is not to allocate.
func newDense() *dense {
	all := new([pages]page)
	d := new(dense)
	for i := range all {
		d[i] = &all[i]
	}
	return d
}

// page is where a bucket's page is counted.
func (d *dense) page(p int) *page {
	if d[p] == nil {
		d[p] = new(page)
	}
	return d[p]
}

// each calls f for every bucket that holds a value, least first, until f gives false.
func (d *dense) each(f func(bucket int, count int64) bool) {
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

// reach is the first bucket up to which so many values were counted.
func (d *dense) reach(rank int64) int {
	for p, page := range d {
		if page == nil {
			continue
		}
		var here int64
		for _, n := range page {
			here += n
		}
		if here < rank {
			rank -= here
			continue
		}
		for i, n := range page {
			if rank -= n; rank <= 0 {
				return p<<pageBits + i
			}
		}
	}
	return buckets // there are not so many values
}

// rankOf is which of n values, counted from 1 and from the least, is their quantile q,
// as HdrHistogram has it.
func rankOf(q float64, n int64) int64 {
	percentile := min(max(q*100, 0), 100)
	rank := percentile/100*float64(n) + 0.5
	switch {
	case !(rank >= 1): // not a number, too
		return 1
	case rank >= float64(n):
		return n
	}
	return int64(rank)
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// sum of two counts, and the greatest there is when it would be more.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
