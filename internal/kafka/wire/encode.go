package wire

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/plan"
)

// Where the fields of a record batch lie (format v2, the Kafka protocol guide); all are big endian.
const (
	atLength    = 8
	atEpoch     = 12 // of the leader, -1 from a producer
	atMagic     = 16
	atSum       = 17
	atAttrs     = 21 // what follows is summed up
	atLastDelta = 23
	atFirstTime = 27
	atMaxTime   = 35
	atProducer  = 43
	atSequence  = 53
	atCount     = 57

	headSize = writing.BatchHeader
	magicV2  = 2
)

// head is a batch without its records.
type head [headSize]byte

// identity is what a broker knows a sequence of batches by. Without idempotence, its id is -1.
type identity struct {
	id       int64
	epoch    int16
	sequence int64 // of the first record of the next batch, see at
}

// nobody is the identity of batches without idempotence.
var nobody = identity{id: -1, epoch: -1, sequence: -1}

// pass moves the sequence behind n records.
func (i *identity) pass(n int) {
	if i.id >= 0 {
		i.sequence += int64(n)
	}
}

// at returns the sequence as it is sent. Behind the largest number, those go on with 0.
func (i *identity) at() int32 {
	if i.id < 0 {
		return -1
	}
	return int32(i.sequence & math.MaxInt32)
}

// times are the first and the last timestamp of a batch, in milliseconds since 1970.
type times struct{ first, last int64 }

// put fills in the head of a batch of n records.
func (h *head) put(i identity, at times, n int, e encoded) {
	be := binary.BigEndian
	be.PutUint64(h[:], 0)
	be.PutUint32(h[atLength:], uint32(headSize-atEpoch+len(e.records)))
	be.PutUint32(h[atEpoch:], ^uint32(0))
	h[atMagic] = magicV2
	be.PutUint16(h[atAttrs:], uint16(e.codec))
	be.PutUint32(h[atLastDelta:], uint32(n-1))
	be.PutUint64(h[atFirstTime:], uint64(at.first))
	be.PutUint64(h[atMaxTime:], uint64(at.last))
	be.PutUint64(h[atProducer:], uint64(i.id))
	be.PutUint16(h[atProducer+8:], uint16(i.epoch))
	be.PutUint32(h[atSequence:], uint32(i.at()))
	be.PutUint32(h[atCount:], uint32(n))
	be.PutUint32(h[atSum:], join(crc32.Checksum(h[atAttrs:], castagnoli), e.sum, e.moved))
}

// appendRecord appends a record of a batch. delta is its number there, and millis its timestamp after the first one's.
// headers are encoded.
func appendRecord(to []byte, delta int, millis int64, key, value, headers []byte) []byte {
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

// encodeHeaders returns the headers of a record with their number.
func encodeHeaders(headers []plan.Header) []byte {
	to := binary.AppendVarint(nil, int64(len(headers)))
	for _, h := range headers {
		to = append(binary.AppendVarint(to, int64(len(h.Key))), h.Key...)
		to = append(binary.AppendVarint(to, int64(len(h.Value))), h.Value...)
	}
	return to
}

// varintSize returns the number of bytes of a number as binary.AppendVarint writes it.
func varintSize(n int64) int {
	return (bits.Len64(uint64(n<<1^n>>63)|1) + 6) / 7
}
