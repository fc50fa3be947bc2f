package stats

import (
	"encoding/binary"
	"errors"
	"math"
)

// packed is the encoded form of the counts of a histogram: the payload of HdrHistogram's V2 encoding.
// It has numbers for the sub-buckets in turn, up to the last one with a value:
//
//   - a positive number is the count of one sub-bucket
//   - a negative number, -n, is for n sub-buckets without a value
//   - 0 is for one sub-bucket without a value
//
// Numbers are ZigZag varints, as package binary reads and appends them. HdrHistogram writes those beyond 2^55 in 9 bytes
// instead of 10, and no run counts so many.
//
// A packed histogram is never changed.
type packed []byte

// maxPacked bounds the length of encoded counts.
const maxPacked = binary.MaxVarintLen64 * countsLength

// pack encodes the counts that each passes to its function.
func pack(each func(func(index int, count int64) bool)) packed {
	var b packed
	next := 0
	each(func(index int, count int64) bool {
		switch gap := index - next; {
		case gap == 1:
			b = append(b, 0)
		case gap > 1:
			b = binary.AppendVarint(b, -int64(gap))
		}
		b = binary.AppendVarint(b, count)
		next = index + 1
		return true
	})
	return b
}

var errPacked = errors.New("its counts are no HdrHistogram payload of kt's range")

// check returns the number of values, and the first and the last sub-bucket with a value. It is an
// error if the counts go beyond the last sub-bucket or an int64, or end in a gap.
func (b packed) check() (total int64, first, last int, err error) {
	if len(b) == 0 || len(b) > maxPacked {
		return 0, 0, 0, errPacked
	}
	next := 0       // sub-bucket
	var small int64 // total of what numbers of one byte count: no text is so long that it overflows
	var c byte      // the number's first byte
	for i := 0; i < len(b); i++ {
		if c = b[i]; c < 0x80 {
			small += countOf(c)
			next += stepOf(c)
			continue
		}
		count, step, size := numberOf(b[i:])
		if size == 0 || count == 0 && step <= 1 || step > countsLength || count > math.MaxInt64-total {
			return 0, 0, 0, errPacked
		}
		total += count
		next += step
		i += size - 1
	}
	if c == 0 || c&1 == 1 || next > countsLength || small > math.MaxInt64-total {
		return 0, 0, 0, errPacked
	}
	b.each(func(index int, _ int64) bool {
		first = index
		return false
	})
	return total + small, first, next - 1, nil
}

// Most numbers take one byte, and counts and gaps alternate at random. A processor would mispredict a
// branch half of the time, so a byte is decoded without one.

// countOf returns the count of a number of one byte; 0 for a gap.
func countOf(c byte) int64 { return int64(c>>1) & (int64(c&1) - 1) }

// stepOf returns the number of sub-buckets of a number of one byte.
func stepOf(c byte) int { return 1 + int(c>>1)&-int(c&1) }

// numberOf returns count, step and size of the number at the start of b; size 0 if there is none.
func numberOf(b []byte) (count int64, step, size int) {
	n, size := binary.Varint(b)
	return max(n, 0), int(max(-n, 1)), max(size, 0)
}

// each calls f for every sub-bucket with a value, least first, until f returns false. The counts have
// been checked.
func (b packed) each(f func(index int, count int64) bool) {
	for next := 0; len(b) > 0; {
		count, step, size := numberOf(b)
		if count > 0 && !f(next, count) {
			return
		}
		next += step
		b = b[size:]
	}
}

// addTo adds the counts to d, page by page.
func (b packed) addTo(d *dense) {
	next := uint(0) // not an int, which would have to be checked for being below 0
	for i := 0; i < len(b); {
		page, at := next>>pageBits, next&(pageSize-1)
		to := d.page(int(page))
		for ; i < len(b) && at < pageSize; i++ {
			c := b[i]
			if c < 0x80 {
				to[at] += countOf(c)
				at += uint(stepOf(c))
				continue
			}
			count, step, size := numberOf(b[i:])
			to[at] += count
			at += uint(step)
			i += size - 1
		}
		next = page<<pageBits + at
	}
}
