package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// Bits of the attributes of a batch.
const (
	codecBits        = 0x07
	appendTimeBit    = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
)

type logBatch []byte

func (b logBatch) base() int64       { return int64(binary.BigEndian.Uint64(b)) }
func (b logBatch) epoch() int32      { return int32(binary.BigEndian.Uint32(b[atEpoch:])) }
func (b logBatch) attributes() int16 { return int16(binary.BigEndian.Uint16(b[atAttrs:])) }
func (b logBatch) timestamp() int64  { return int64(binary.BigEndian.Uint64(b[atFirstTime:])) }
func (b logBatch) producer() int64   { return int64(binary.BigEndian.Uint64(b[atProducer:])) }
func (b logBatch) sequence() int32   { return int32(binary.BigEndian.Uint32(b[atSequence:])) }
func (b logBatch) count() int        { return int(int32(binary.BigEndian.Uint32(b[atCount:]))) }

// next returns the offset behind the batch. Compaction may have removed its last records.
func (b logBatch) next() int64 {
	return b.base() + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:]))) + 1
}

func (b logBatch) intact() bool {
	return crc32.Checksum(b[atAttrs:], castagnoli) == binary.BigEndian.Uint32(b[atSum:])
}

var errMalformed = errors.New("malformed record batch")

// cutBatch returns the first batch of an answer, and the bytes behind it; nil, with its size or 0, when it is not there whole.
func cutBatch(b []byte) (first logBatch, rest []byte, size int, err error) {
	if len(b) <= atMagic {
		return nil, nil, 0, nil
	}
	size = atEpoch + int(int32(binary.BigEndian.Uint32(b[atLength:])))
	if magic := b[atMagic]; magic != magicV2 {
		return nil, nil, 0, fmt.Errorf("message format v%d: raw fetches read v2, which brokers write since Kafka 0.11; --engine client reads others, but --verify reads no log of them again that was cut off", magic)
	}
	if size < headSize {
		return nil, nil, 0, errMalformed
	}
	if size > len(b) {
		return nil, nil, size, nil
	}
	first = logBatch(b[:size:size])
	if base := first.base(); base < 0 || base > math.MaxInt64-math.MaxInt32-1 {
		return nil, nil, 0, errMalformed
	}
	return first, b[size:], size, nil
}

func (b logBatch) sane() bool { return b.next() > b.base() && b.count() >= 0 }

// behind returns the offset behind the batch. Where one that is not intact ends, the base offset of the next one tells. It
// reports false if rest does not hold that.
func (b logBatch) behind(rest []byte) (next int64, ok bool) {
	following := int64(-1)
	if len(rest) >= atLength {
		following = int64(binary.BigEndian.Uint64(rest))
	}
	if b.sane() && (b.next() == following || b.intact()) {
		return b.next(), true
	}
	return following, following > b.base()
}

type record struct {
	offset     int64 // behind the base of its batch
	timestamp  int64 // behind that of its batch
	key, value []byte
	headers    []byte // their count, and then they
}

// varint reads a number in the zigzag encoding. n is 0 if there is none.
func varint(b []byte) (v int64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	v, n = binary.Varint(b)
	return v, max(n, 0)
}

// cutBytes returns bytes behind their length, of which -1 is nil, and the bytes behind them.
func cutBytes(b []byte) (field, rest []byte, ok bool) {
	size, n := varint(b)
	switch b = b[n:]; {
	case n == 0 || size < -1 || size > int64(len(b)):
		return nil, nil, false
	case size == -1:
		return nil, b, true
	}
	return b[:size:size], b[size:], true
}

func cutRecord(b []byte, r *record) (rest []byte, ok bool) {
	body, rest, ok := cutBytes(b)
	if !ok || len(body) == 0 {
		return nil, false
	}
	body = body[1:] // attributes, which are not in use
	var n, m int
	r.timestamp, n = varint(body)
	r.offset, m = varint(body[n:])
	if n == 0 || m == 0 || r.offset < 0 || r.offset > math.MaxInt32 {
		return nil, false
	}
	if r.key, body, ok = cutBytes(body[n+m:]); !ok {
		return nil, false
	}
	if r.value, r.headers, ok = cutBytes(body); !ok {
		return nil, false
	}
	return rest, true
}

// tally adds up the bytes of the keys and values of n records. Records of a batch are often alike: then the address of the next
// does not depend on what they are, and the processor has several records on their way from memory.
func tally(b []byte, n int) (bytes int, ok bool) {
	var r record
	for n > 0 {
		first := b
		if b, ok = cutRecord(b, &r); !ok {
			return 0, false
		}
		fields := len(r.key) + len(r.value)
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

func layoutOf(b []byte, r *record) (l layout) {
	behind := func(at int) int { _, n := varint(b[at:]); return at + n }
	numbers := behind(0)
	keyLength := behind(behind(numbers + 1)) // behind the attributes, the timestamp and the offset
	key := behind(keyLength)
	value := behind(key + len(r.key))
	l.size, l.at = len(b), max(value-8, 0)
	if key > 8 && value > 16 || len(b) < 16 {
		return l
	}
	var same [2]uint64
	for window, from := range []int{0, l.at} {
		for i := range 8 {
			switch at := from + i; {
			case at >= value || at >= key && at < key+len(r.key):
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
