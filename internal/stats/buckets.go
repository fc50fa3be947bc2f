package stats

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Buckets counts times in 80 ranges, each at most a quarter longer than the one before: less exact than a
// Histogram, and a thousand times smaller, for partitions. Times from 34 s on are in the last one.
type Buckets [bucketCount]uint32

const (
	bucketCount = 80
	bucketShift = 14 // the shortest range is 16.4 µs
)

// bucketOf returns the range of a time: four to a power of two.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0)) >> bucketShift
	if v < 4 {
		return int(v)
	}
	e := bits.Len64(v)
	return min(4*(e-2)+int(v>>(e-3)&3), bucketCount-1)
}

func bucketEnd(i int) time.Duration {
	i++ // where the next one begins
	if i < 4 {
		return time.Duration(i) << bucketShift
	}
	return time.Duration(4+i%4) << (i/4 - 1 + bucketShift)
}

func (b *Buckets) record(d time.Duration, n int64) {
	i := bucketOf(d)
	b[i] = addCount(b[i], n)
}

// addCount adds to a count that stops at its highest value.
func addCount(to uint32, n int64) uint32 {
	return uint32(min(int64(to)+max(n, 0), 1<<32-1))
}

func (b *Buckets) add(o *Buckets) {
	if *o == (Buckets{}) {
		return
	}
	for i, n := range o {
		b[i] = addCount(b[i], int64(n))
	}
}

// ValueAtQuantile returns the end of the range in which a share of the times ends, 0 to 1: up to a quarter
// above the exact one. longest is the longest time. It is 0 if nothing was counted.
func (b *Buckets) ValueAtQuantile(share float64, longest time.Duration) time.Duration {
	var total, below int64
	for _, n := range b {
		total += int64(n)
	}
	wanted := int64(math.Ceil(share * float64(total)))
	for i, n := range b[:bucketCount-1] {
		if below += int64(n); n > 0 && below >= wanted {
			return min(bucketEnd(i), longest)
		}
	}
	if total == 0 {
		return 0
	}
	return longest
}

// MarshalText writes pairs of a range and its count: "12:5 13:1".
func (b Buckets) MarshalText() ([]byte, error) {
	var text []byte
	for i, n := range b {
		if n > 0 {
			text = fmt.Appendf(text, "%d:%d ", i, n)
		}
	}
	return text[:max(len(text)-1, 0)], nil
}

// UnmarshalText reads what MarshalText writes.
func (b *Buckets) UnmarshalText(text []byte) error {
	*b = Buckets{}
	for s := (scanner{text: text}); len(s.text) > 0; {
		pair := s.text
		i := s.number()
		s.take(":")
		n := s.number()
		if len(s.text) > 0 {
			s.take(" ")
		}
		if s.bad || i < 0 || i >= bucketCount || n < 0 || n > math.MaxUint32 {
			return fmt.Errorf("%.30q is no range with its count", pair)
		}
		b[i] = uint32(n)
	}
	return nil
}
