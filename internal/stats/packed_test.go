package stats

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// numbers is the payload of these numbers.
func numbers(ns ...int64) (b packed) {
	for _, n := range ns {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func TestCountsThatMakeNoSenseAreRefused(t *testing.T) {
	beyond := append(numbers(-countsLength+1, 1), 2)
	for _, tc := range []struct {
		name string
		text packed
		good bool
	}{
		{"the first bucket", numbers(1), true},
		{"the last bucket", numbers(-countsLength+1, 1), true},
		{"as many as there can be", numbers(math.MaxInt64-1, 1), true},
		{"a single bucket without values written as a gap", numbers(-1, 1), true},
		{"nothing", nil, false},
		{"a bucket beyond the last", beyond, false},
		{"a gap beyond the last", numbers(-countsLength, 1), false},
		{"a gap that fits into no int", numbers(math.MinInt64, 1), false},
		{"gaps that add up to more than there are buckets", numbers(-countsLength/2, -countsLength/2, 1), false},
		{"a gap at the end", numbers(1, -2), false},
		{"a bucket without values at the end", numbers(1, 0), false},
		{"a long gap at the end", numbers(1, -2000), false},
		{"more than can be counted", numbers(math.MaxInt64, 1), false},
		{"more than can be counted in large numbers", numbers(math.MaxInt64, math.MaxInt64), false},
		{"half a number", packed{2, 0x80}, false},
		{"nothing in several bytes", packed{0x80, 0x00}, false},
		{"more numbers than there are buckets", bytes.Repeat([]byte{2}, countsLength+1), false},
		{"more bytes than counts take", bytes.Repeat([]byte{0}, maxPacked+1), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, _, err := tc.text.check(); (err == nil) != tc.good {
				t.Errorf("check() = %v", err)
			}
		})
	}
}

// FuzzPacked reads counts.
//   - It never panics.
//   - What is good has its buckets in order, in range and with values, which add up to
//     the total, wherever they are added.
//   - Packed again it is the same, and takes no more bytes.
func FuzzPacked(f *testing.F) {
	for _, b := range []packed{
		nil, numbers(1), numbers(-countsLength+1, 1), numbers(5, 0, 7, -3, 1<<40, -9000, 3), numbers(-1, -1, 1), numbers(1, -2),
		numbers(math.MaxInt64, 1), numbers(math.MinInt64),
		{0x80},
		{0x82, 0x00},
		bytes.Repeat([]byte{0xff}, 20),
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := packed(text)
		total, first, last, err := b.check()
		if err != nil {
			return
		}
		var at []int
		sum := int64(0)
		b.each(func(index int, count int64) bool {
			if count <= 0 || index < 0 || index >= countsLength || len(at) > 0 && index <= at[len(at)-1] {
				t.Fatalf("bucket %d counts %d, after %v", index, count, at)
			}
			at = append(at, index)
			sum += count
			return true
		})
		if sum != total || at[0] != first || at[len(at)-1] != last {
			t.Fatalf("buckets %v with %d values, want %d from %d to %d", at, sum, total, first, last)
		}
		again := pack(b.each)
		var d dense
		b.addTo(&d)
		if added := pack(d.each); !slices.Equal(added, again) || len(again) > len(b) {
			t.Fatalf("packed again % x, added % x, was % x", again, added, b)
		}
	})
}
