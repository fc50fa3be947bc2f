package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"math/bits"

	"github.com/kt-bench/kt/internal/plan"
)

// Where the fields of a record batch lie (format v2, the Kafka protocol guide); all are big endian.
const (
	AtLength    = 8
	AtEpoch     = 12 // of the leader, -1 from a producer
	AtMagic     = 16
	AtSum       = 17
	AtAttrs     = 21 // what follows is summed up
	AtLastDelta = 23
	AtFirstTime = 27
	AtMaxTime   = 35
	AtProducer  = 43
	AtSequence  = 53
	AtCount     = 57

	HeadSize = 61 // of a batch without its records, in bytes
	MagicV2  = 2
)

// Bits of the attributes of a batch.
const (
	CodecBits        = 0x07
	AppendTimeBit    = 0x08
	TransactionalBit = 0x10
	ControlBit       = 0x20
)

// Castagnoli is the table of the checksums of batches.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a whole record batch, as it lies in a log.
type Batch []byte

// Base returns the offset of its first record.
func (b Batch) Base() int64 { return int64(binary.BigEndian.Uint64(b)) }

// Epoch returns the epoch of the leader that wrote it.
func (b Batch) Epoch() int32 { return int32(binary.BigEndian.Uint32(b[AtEpoch:])) }

// Attributes returns the bits above.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[AtAttrs:])) }

// Timestamp returns the time of its first record, in milliseconds since 1970.
func (b Batch) Timestamp() int64 { return int64(binary.BigEndian.Uint64(b[AtFirstTime:])) }

// MaxTime returns the latest time of its records, in milliseconds since 1970.
func (b Batch) MaxTime() int64 { return int64(binary.BigEndian.Uint64(b[AtMaxTime:])) }

// Producer returns the id of its producer; -1: it is not idempotent.
func (b Batch) Producer() int64 { return int64(binary.BigEndian.Uint64(b[AtProducer:])) }

// Sequence returns the number of its first record among those of the producer.
func (b Batch) Sequence() int32 { return int32(binary.BigEndian.Uint32(b[AtSequence:])) }

// Count returns the number of its records.
func (b Batch) Count() int { return int(int32(binary.BigEndian.Uint32(b[AtCount:]))) }

// Next returns the offset behind the batch. Compaction may have removed its last records.
func (b Batch) Next() int64 {
	return b.Base() + int64(int32(binary.BigEndian.Uint32(b[AtLastDelta:]))) + 1
}

// Intact reports whether the checksum fits.
func (b Batch) Intact() bool {
	return crc32.Checksum(b[AtAttrs:], Castagnoli) == binary.BigEndian.Uint32(b[AtSum:])
}

// ErrMalformed is the error of bytes that are no batch.
var ErrMalformed = errors.New("malformed record batch")

// Cut returns the first batch of an answer, and the bytes behind it; nil, with its size or 0, when it is not there whole.
func Cut(b []byte) (first Batch, rest []byte, size int, err error) {
	if len(b) <= AtMagic {
		return nil, nil, 0, nil
	}
	size = AtEpoch + int(int32(binary.BigEndian.Uint32(b[AtLength:])))
	if magic := b[AtMagic]; magic != MagicV2 {
		return nil, nil, 0, fmt.Errorf("message format v%d: raw fetches read v2, which brokers write since Kafka 0.11; --engine client reads others, but --verify reads no log of them again that was cut off", magic)
	}
	if size < HeadSize {
		return nil, nil, 0, ErrMalformed
	}
	if size > len(b) {
		return nil, nil, size, nil
	}
	first = Batch(b[:size:size])
	if base := first.Base(); base < 0 || base > math.MaxInt64-math.MaxInt32-1 {
		return nil, nil, 0, ErrMalformed
	}
	return first, b[size:], size, nil
}

// Sane reports whether its numbers can be right.
func (b Batch) Sane() bool { return b.Next() > b.Base() && b.Count() >= 0 }

// Behind returns the offset behind the batch. Where one that is not intact ends, the base offset of the next one tells. It
// reports false if rest does not hold that.
func (b Batch) Behind(rest []byte) (next int64, ok bool) {
	following := int64(-1)
	if len(rest) >= AtLength {
		following = int64(binary.BigEndian.Uint64(rest))
	}
	if b.Sane() && (b.Next() == following || b.Intact()) {
		return b.Next(), true
	}
	return following, following > b.Base()
}

// Record is a record of a batch, whose bytes it shares.
type Record struct {
	Offset     int64 // behind the base of its batch
	Timestamp  int64 // behind that of its batch
	Key, Value []byte
	Headers    []byte // their count, and then they
}

// Varint reads a number in the zigzag encoding. n is 0 if there is none.
func Varint(b []byte) (v int64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	v, n = binary.Varint(b)
	return v, max(n, 0)
}

// CutBytes returns bytes behind their length, of which -1 is nil, and the bytes behind them.
func CutBytes(b []byte) (field, rest []byte, ok bool) {
	size, n := Varint(b)
	switch b = b[n:]; {
	case n == 0 || size < -1 || size > int64(len(b)):
		return nil, nil, false
	case size == -1:
		return nil, b, true
	}
	return b[:size:size], b[size:], true
}

// CutRecord cuts the first record of a batch, and returns the bytes behind it.
func CutRecord(b []byte, r *Record) (rest []byte, ok bool) {
	body, rest, ok := CutBytes(b)
	if !ok || len(body) == 0 {
		return nil, false
	}
	body = body[1:] // attributes, which are not in use
	var n, m int
	r.Timestamp, n = Varint(body)
	r.Offset, m = Varint(body[n:])
	if n == 0 || m == 0 || r.Offset < 0 || r.Offset > math.MaxInt32 {
		return nil, false
	}
	if r.Key, body, ok = CutBytes(body[n+m:]); !ok {
		return nil, false
	}
	if r.Value, r.Headers, ok = CutBytes(body); !ok {
		return nil, false
	}
	return rest, true
}

// Headers returns the headers of a record, as its field Headers has them. It ends at one that is malformed.
func Headers(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		n, k := Varint(b)
		for b = b[k:]; n > 0; n-- {
			key, rest, ok := CutBytes(b)
			if !ok {
				return
			}
			var value []byte
			if value, b, ok = CutBytes(rest); !ok || !yield(key, value) {
				return
			}
		}
	}
}

// AppendRecord appends a record of a batch: its number there, its timestamp after the first one's, and its encoded headers.
func AppendRecord(to []byte, delta int, millis int64, key, value, headers []byte) []byte {
	keyLength := int64(-1)
	if key != nil {
		keyLength = int64(len(key))
	}
	size := 1 + varintSize(millis) + varintSize(int64(delta)) + varintSize(keyLength) + len(key) +
		varintSize(int64(len(value))) + len(value) + len(headers)
	to = binary.AppendVarint(to, int64(size))
	to = append(to, 0) // attributes
	to = binary.AppendVarint(to, millis)
	to = binary.AppendVarint(to, int64(delta))
	to = binary.AppendVarint(to, keyLength)
	to = append(to, key...)
	to = binary.AppendVarint(to, int64(len(value)))
	to = append(to, value...)
	return append(to, headers...)
}

// EncodeHeaders returns headers as they lie in a record.
func EncodeHeaders(headers []plan.Header) []byte {
	to := binary.AppendVarint(nil, int64(len(headers)))
	for _, h := range headers {
		to = append(binary.AppendVarint(to, int64(len(h.Key))), h.Key...)
		to = append(binary.AppendVarint(to, int64(len(h.Value))), h.Value...)
	}
	return to
}

func varintSize(n int64) int {
	return (bits.Len64(uint64(n<<1^n>>63)|1) + 6) / 7
}
