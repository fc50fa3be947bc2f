package wire

import (
	"bytes"
	"hash/crc32"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

const (
	// variants is the number of batches whose bytes differ, so that neither a codec nor a cache sees the same again
	// and again. Large batches have fewer, as many as take poolBytes, but minVariants: a pool that stays in the
	// processor's cache costs less to send. All compressed batches have variants.
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

// template is the records of one full batch.
type template struct {
	encoded
	ends  []int32  // of each record
	bytes []int32  // keys and values up to the end of each record
	sums  []uint32 // checksums up to the end of each record
}

// encoded is records as they are sent.
type encoded struct {
	records []byte
	codec   byte
	sum     uint32 // checksum of records
	moved   shift  // by the length of records
}

// part names the first records of a template.
type part struct{ template, records int }

func encode(records []byte, codec byte) encoded {
	return encoded{records: records, codec: codec, sum: crc32.Checksum(records, castagnoli), moved: shiftBy(len(records))}
}

// newPool makes batches that have about target bytes before compression, and limit at most. All have as many records, so
// that an op is a batch: the mean of what fits into target, for where records differ in size, one large record would
// else make all batches small. With sizeOnly, it finds that number and keeps no batch; as the records of a batch are
// others then, the number is one for which the largest records fit.
func newPool(p plan.Plan, v *payload.Values, target, limit int, c kgo.Compressor, sizeOnly bool) *pool {
	o := &pool{compressor: c, room: partBytes, parts: make(map[part]encoded)}
	n := variants
	if c == nil {
		n = min(variants, max(minVariants, poolBytes/max(1, target)))
	}
	s := source{generator: v.Generator(p, 0, 1), headers: encodeHeaders(p.Payload.Headers)}
	all := 0
	for range n {
		all += len(s.template(target, math.MaxInt).ends)
	}
	o.full = all / n
	if sizeOnly {
		const millis = 1 << 13 // in which no batch stays open
		largest := len(appendRecord(nil, o.full, millis, nil, make([]byte, p.Payload.MaxBytes()), s.headers))
		o.full = max(1, min(o.full, (limit-headSize)/largest))
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

// source encodes the records of a load, one after the other.
type source struct {
	generator *payload.Generator
	headers   []byte // encoded
	memory    payload.Memory
	index     int64 // of the next record
}

// template returns a batch of one record at least, and of no more than so many bytes and records.
func (s *source) template(size, records int) (t template) {
	sum, bytes := uint32(0), int32(0)
	for ; len(t.ends) < records; s.index++ {
		key, value := s.generator.Fill(&s.memory, s.index)
		grown := appendRecord(t.records, len(t.ends), 0, key, value, s.headers)
		if len(t.ends) > 0 && headSize+len(grown) > size {
			break
		}
		sum = crc32.Update(sum, castagnoli, grown[len(t.records):])
		bytes += int32(len(key) + len(value))
		t.records, t.ends = grown, append(t.ends, int32(len(grown)))
		t.sums, t.bytes = append(t.sums, sum), append(t.bytes, bytes)
	}
	return t
}

// compress returns records compressed, in memory of their own.
func (o *pool) compress(records []byte) encoded {
	compressed, codec := o.compressor.Compress(new(bytes.Buffer), records)
	return encode(bytes.Clone(compressed), byte(codec))
}

// batch returns the first n records of a template, as they are sent.
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

// bytes returns the bytes of the keys and values of n records of a template, behind the first ones.
func (o *pool) bytes(number, behind, n int) int {
	all := o.templates[number].bytes
	if behind == 0 {
		return int(all[n-1])
	}
	return int(all[behind+n-1] - all[behind-1])
}
