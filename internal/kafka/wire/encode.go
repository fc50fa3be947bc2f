package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

type head [format.HeadSize]byte

// identity is what a broker knows a sequence of batches by. Without idempotence, its id is -1.
type identity struct {
	id       int64
	epoch    int16
	sequence int64 // of the first record of the next batch, see at
}

var nobody = identity{id: -1, epoch: -1, sequence: -1}

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

func (h *head) put(i identity, at times, n int, e encoded) {
	be := binary.BigEndian
	be.PutUint64(h[:], 0)
	be.PutUint32(h[format.AtLength:], uint32(format.HeadSize-format.AtEpoch+len(e.records)))
	be.PutUint32(h[format.AtEpoch:], ^uint32(0))
	h[format.AtMagic] = format.MagicV2
	be.PutUint16(h[format.AtAttrs:], uint16(e.codec))
	be.PutUint32(h[format.AtLastDelta:], uint32(n-1))
	be.PutUint64(h[format.AtFirstTime:], uint64(at.first))
	be.PutUint64(h[format.AtMaxTime:], uint64(at.last))
	be.PutUint64(h[format.AtProducer:], uint64(i.id))
	be.PutUint16(h[format.AtProducer+8:], uint16(i.epoch))
	be.PutUint32(h[format.AtSequence:], uint32(i.at()))
	be.PutUint32(h[format.AtCount:], uint32(n))
	be.PutUint32(h[format.AtSum:], join(crc32.Checksum(h[format.AtAttrs:], format.Castagnoli), e.sum, e.moved))
}

// shift is a number of bytes that a checksum is moved by: x^(8n) modulo the polynomial of CRC-32C, with its bits reversed.
type shift uint32

// shiftBy returns the shift by n bytes. The method is zlib's (crc32_combine_gen).
func shiftBy(n int) shift {
	result, power := shift(1<<31), shift(1<<23) // x^0 and x^8
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = multiply(result, power)
		}
		power = multiply(power, power)
	}
	return result
}

// multiply returns the product of two polynomials modulo that of CRC-32C.
func multiply(a, b shift) (product shift) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		low := b & 1
		b = b>>1 ^ -low&crc32.Castagnoli
	}
	return product
}

// join returns the checksum of two byte strings from the checksums of both and the length of the second, at the same cost for
// all lengths (BenchmarkChecksum).
func join(first, second uint32, length shift) uint32 {
	return uint32(multiply(length, shift(first))) ^ second
}

const (
	// variants is the number of batches whose bytes differ, so that neither a codec nor a cache sees the same again and again.
	// Large batches have fewer, as many as take poolBytes, but minVariants: a pool that stays in the processor's cache costs
	// less to send. All compressed batches have variants.
	variants    = 64
	minVariants = 4
	poolBytes   = 4 << 20

	// partBytes bounds the memory of compressed batches that are not full. Above, they are compressed each time.
	partBytes = 16 << 20
)

// pool is the records of batches, encoded before the run. All producers of a process share it.
type pool struct {
	full       int // records of a full batch
	templates  []template
	compressed []encoded // the templates, compressed; nil: they are sent as they are

	compressor kgo.Compressor // nil: none
	mu         sync.Mutex     // guards the rest
	parts      map[part]encoded
	room       int // bytes for parts
}

type template struct {
	encoded
	ends  []int32  // of each record
	bytes []int32  // keys and values up to the end of each record
	sums  []uint32 // checksums up to the end of each record

	busiest []int32 // records with the busiest key, up to each; nil: keys have no Zipf law
}

type encoded struct {
	records []byte
	codec   byte
	sum     uint32 // checksum of records
	moved   shift  // by the length of records
}

type part struct{ template, records int }

func encode(records []byte, codec byte) encoded {
	return encoded{records: records, codec: codec, sum: crc32.Checksum(records, format.Castagnoli), moved: shiftBy(len(records))}
}

// newPool makes batches of about target bytes before compression, and limit at most. All have as many records, so that an op is
// a batch: the mean of what fits into target. With sizeOnly, it keeps no batch, and the number is one for which the largest
// records fit.
func newPool(p plan.Plan, v *payload.Values, target, limit int, c kgo.Compressor, sizeOnly bool) *pool {
	o := &pool{compressor: c, room: partBytes, parts: make(map[part]encoded)}
	n := variants
	if c == nil {
		n = min(variants, max(minVariants, poolBytes/max(1, target)))
	}
	s := source{generator: v.Generator(p, 0, 1), headers: format.EncodeHeaders(p.Payload.Headers), zipf: p.Payload.ZipfKeys() != nil}
	all := 0
	for range n {
		all += len(s.template(target, math.MaxInt).ends)
	}
	o.full = all / n
	if sizeOnly {
		const millis = 1 << 13 // in which no batch stays open
		largest := len(format.AppendRecord(nil, o.full, millis, nil, make([]byte, p.Payload.MaxBytes()), s.headers))
		o.full = max(1, min(o.full, (limit-format.HeadSize)/largest))
		return o
	}
	full := o.full
	for range n {
		t := s.template(limit, full)
		o.full = min(o.full, len(t.ends))
		o.templates = append(o.templates, t)
	}
	for i := range o.templates {
		t := &o.templates[i]
		t.encoded = encode(bytes.Clone(t.records[:t.ends[o.full-1]]), 0) // without what append left over
		if c != nil {
			o.compressed = append(o.compressed, o.compress(t.records))
		}
	}
	return o
}

type source struct {
	generator *payload.Generator
	headers   []byte // encoded
	zipf      bool   // keys have such a law
	memory    payload.Memory
	index     int64 // of the next record
}

func (s *source) template(size, records int) (t template) {
	sum, bytes, busiest := uint32(0), int32(0), int32(0)
	for ; len(t.ends) < records; s.index++ {
		key, value := s.generator.Fill(&s.memory, s.index)
		grown := format.AppendRecord(t.records, len(t.ends), 0, key, value, s.headers)
		if len(t.ends) > 0 && format.HeadSize+len(grown) > size {
			break
		}
		sum = crc32.Update(sum, format.Castagnoli, grown[len(t.records):])
		bytes += int32(len(key) + len(value))
		t.records, t.ends = grown, append(t.ends, int32(len(grown)))
		t.sums, t.bytes = append(t.sums, sum), append(t.bytes, bytes)
		if s.zipf {
			busiest += int32(s.generator.Busiest(key))
			t.busiest = append(t.busiest, busiest)
		}
	}
	return t
}

func (o *pool) compress(records []byte) encoded {
	compressed, codec := o.compressor.Compress(new(bytes.Buffer), records)
	return encode(bytes.Clone(compressed), byte(codec))
}

func (o *pool) batch(number, n int) encoded {
	t := &o.templates[number]
	switch {
	case n == o.full && o.compressed != nil:
		return o.compressed[number]
	case n == o.full:
		return t.encoded
	case o.compressor == nil:
		end := int(t.ends[n-1])
		return encoded{records: t.records[:end], sum: t.sums[n-1], moved: shiftBy(end)}
	}
	o.mu.Lock()
	e, ok := o.parts[part{number, n}]
	o.mu.Unlock()
	if ok {
		return e
	}
	e = o.compress(t.records[:t.ends[n-1]])
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(e.records) <= o.room {
		o.room -= len(e.records)
		o.parts[part{number, n}] = e
	}
	return e
}

// sumOf returns what n records behind others count, from the sums up to each record; 0: there are none.
func sumOf(all []int32, behind, n int) int {
	switch {
	case all == nil:
		return 0
	case behind == 0:
		return int(all[n-1])
	}
	return int(all[behind+n-1] - all[behind-1])
}
