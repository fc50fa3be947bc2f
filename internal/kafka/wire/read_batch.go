package wire

import (
	"encoding/binary"

	"github.com/kt-bench/kt/internal/format"
)

// tally adds up the bytes of the keys and values of n records. Records of a batch are often alike: then the address of the next
// does not depend on what they are, and the processor has several records on their way from memory.
func tally(b []byte, n int) (bytes int, ok bool) {
	var r format.Record
	for n > 0 {
		first := b
		if b, ok = format.CutRecord(b, &r); !ok {
			return 0, false
		}
		fields := len(r.Key) + len(r.Value)
		n, bytes = n-1, bytes+fields
		if len(b) == 0 || b[0] != first[0] {
			continue
		}
		like := layoutOf(first[:len(first)-len(b)], &r)
		for ; n > 0 && like.fits(b); n-- {
			bytes += fields
			b = b[like.size:]
		}
	}
	return bytes, true
}

// layout is the lengths of a record's fields, as the bits of its first bytes and of those before its value.
type layout struct {
	size, at          int // of the record, and where the second bytes are
	first, second     uint64
	inFirst, inSecond uint64 // the bits that count; 0: the lengths are spread too far
}

func layoutOf(b []byte, r *format.Record) (l layout) {
	behind := func(at int) int { _, n := format.Varint(b[at:]); return at + n }
	numbers := behind(0)
	keyLength := behind(behind(numbers + 1)) // behind the attributes, the timestamp and the offset
	key := behind(keyLength)
	value := behind(key + len(r.Key))
	l.size, l.at = len(b), max(value-8, 0)
	if key > 8 && value > 16 || len(b) < 16 {
		return l
	}
	var same [2]uint64
	for window, from := range []int{0, l.at} {
		for i := range 8 {
			switch at := from + i; {
			case at >= value || at >= key && at < key+len(r.Key):
			case at < numbers || at >= keyLength:
				same[window] |= 0xff << (8 * i)
			default: // a number ends with the byte without this bit
				same[window] |= 0x80 << (8 * i)
			}
		}
	}
	le := binary.LittleEndian
	l.first, l.second, l.inFirst, l.inSecond = le.Uint64(b), le.Uint64(b[l.at:]), same[0], same[1]
	return l
}

func (l *layout) fits(b []byte) bool {
	le := binary.LittleEndian
	return l.inFirst != 0 && len(b) >= l.size &&
		(le.Uint64(b)^l.first)&l.inFirst|(le.Uint64(b[l.at:])^l.second)&l.inSecond == 0
}
