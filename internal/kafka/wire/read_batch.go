package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

// Bits of the attributes of a batch.
const (
	codecBits        = 0x07
	appendTimeBit    = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
)

// logBatch is a whole record batch of format 2.
type logBatch []byte

func (b logBatch) base() int64       { return int64(binary.BigEndian.Uint64(b)) }
func (b logBatch) epoch() int32      { return int32(binary.BigEndian.Uint32(b[atEpoch:])) }
func (b logBatch) attributes() int16 { return int16(binary.BigEndian.Uint16(b[atAttrs:])) }
func (b logBatch) timestamp() int64  { return int64(binary.BigEndian.Uint64(b[atFirstTime:])) }
func (b logBatch) producer() int64   { return int64(binary.BigEndian.Uint64(b[atProducer:])) }
func (b logBatch) count() int        { return int(int32(binary.BigEndian.Uint32(b[atCount:]))) }

// next returns the offset behind the batch. Compaction may have removed its last records.
func (b logBatch) next() int64 {
	return b.base() + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:]))) + 1
}

// intact reports whether the checksum fits.
func (b logBatch) intact() bool {
	return crc32.Checksum(b[atAttrs:], castagnoli) == binary.BigEndian.Uint32(b[atSum:])
}

var errMalformed = errors.New("malformed record batch")

// cutBatch returns the first batch of an answer, and the bytes behind it. A batch that is not
// there whole is nil: size is its size then, 0 if not even that is there.
func cutBatch(b []byte) (first logBatch, rest []byte, size int, err error) {
	if len(b) <= atMagic {
		return nil, nil, 0, nil
	}
	size = atEpoch + int(int32(binary.BigEndian.Uint32(b[atLength:])))
	if magic := b[atMagic]; magic != magicV2 {
		return nil, nil, 0, fmt.Errorf("message format v%d: the wire engine reads v2, which brokers write since Kafka 0.11: use --engine client", magic)
	}
	if size < headSize {
		return nil, nil, 0, errMalformed
	}
	if size > len(b) {
		return nil, nil, size, nil
	}
	first = logBatch(b[:size:size])
	if base := first.base(); base < 0 || base > math.MaxInt64-math.MaxInt32-1 || first.next() <= base || first.count() < 0 {
		return nil, nil, 0, errMalformed
	}
	return first, b[size:], size, nil
}

// record is one record of a batch.
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

// cutRecord reads the first record, and returns the bytes behind it.
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

// tally adds up the bytes of the keys and values of n records. Records of a batch are often alike: then it
// compares the first bytes of each with those of the one before, and the address of the next does not depend on what
// they are. So the processor has several records on their way from memory at a time.
func tally(b []byte, n int) (bytes int, ok bool) {
	var r record
	for before := 0; n > 0; {
		like := quickRecord(b)
		if like.size == 0 {
			if b, ok = cutRecord(b, &r); !ok {
				return 0, false
			}
			bytes += len(r.key) + len(r.value)
			n--
			continue
		}
		if like.size == before { // two in a row: there may be more
			like.mask(b)
		}
		for before = like.size; ; {
			n--
			bytes += like.fields
			if b = b[like.size:]; n == 0 || !like.fits(b) {
				break
			}
		}
	}
	return bytes, true
}

// layout is where the fields of a record lie.
type layout struct {
	size, fields int // bytes of the record, and of its key and value
	numbers      int // where the timestamp and the offset begin
	key          int // where the length of the key is
	value        int // where the value begins

	low, high       uint64 // first bytes of the record
	lowBits, hiBits uint64 // those that are the same in all records of this layout; 0: not known
}

// mask notes what a record without a key has in common with others of its layout: its size, the missing key, the
// length of its value, and the lengths of the numbers between.
func (l *layout) mask(b []byte) {
	var same [16]byte
	if l.value > len(same) || b[l.key] != noKey {
		return
	}
	for i := range l.value {
		if same[i] = 0xff; i >= l.numbers-1 && i < l.key { // from the attributes on
			same[i] = 0x80
		}
	}
	le := binary.LittleEndian
	l.low, l.high, l.lowBits, l.hiBits = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(same[:]), le.Uint64(same[8:])
}

// fits reports whether the first record has this layout.
func (l *layout) fits(b []byte) bool {
	le := binary.LittleEndian
	return l.lowBits != 0 && len(b) >= max(l.size, 16) &&
		(le.Uint64(b)^l.low)&l.lowBits|(le.Uint64(b[8:])^l.high)&l.hiBits == 0
}

// noKey is the length -1.
const noKey = 1

// quickRecord returns the layout of the first record. It does what cutRecord does in a tenth of the time, for records
// below 8 KiB with a key below 64 bytes. For others, and for malformed ones, the size is 0.
func quickRecord(b []byte) (l layout) {
	const ends = 0x8080808080808080 // a number ends with the byte without this bit
	if len(b) < 16 {
		return l
	}
	at, size := 2, int(b[0]>>1) // behind the size and the attributes
	if b[0] >= 0x80 {
		at, size = 3, (int(b[0]&0x7f)|int(b[1])<<7)>>1
	}
	end := at - 1 + size
	if b[0]&1 != 0 || at == 3 && b[1] >= 0x80 || end > len(b) {
		return l
	}
	l.numbers = at
	last := ^binary.LittleEndian.Uint64(b[at:]) & ends
	last &= last - 1 // of the offset, which is behind the timestamp
	at += bits.TrailingZeros64(last)>>3 + 1
	if last == 0 || at+2 > end {
		return l
	}
	l.key = at
	if key := int(b[at]); key != noKey {
		if key&0x81 != 0 {
			return l
		}
		l.fields = key >> 1
	}
	if at += 1 + l.fields; at+2 > end {
		return l
	}
	value := int(b[at])
	if at++; value >= 0x80 {
		value = value&0x7f | int(b[at])<<7
		at++
	}
	if value>>1 > end-at || value&1 != 0 || value >= 1<<14 {
		return l
	}
	l.size, l.fields, l.value = end, l.fields+value>>1, at
	return l
}
