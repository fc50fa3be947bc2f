package wire

import (
	"bytes"
	"hash/crc32"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/plan"
)

const (
	// variants is the number of batches whose bytes differ, so that neither a codec nor a cache sees the same again
	// and again. Large batches have fewer, as many as take poolBytes, but minVariants: a pool that stays in the
	// processor's cache costs half as much to send. All compressed batches have variants.
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

// newPool makes batches of at most target bytes before compression, and of a record each where that is less. With size
// only, it finds the number of records of a batch and keeps none.
func newPool(p plan.Plan, v *writing.Values, target int, c kgo.Compressor, sizeOnly bool) *pool {
	o := &pool{compressor: c, room: partBytes, parts: make(map[part]encoded)}
	n := variants
	if c == nil {
		n = min(variants, max(minVariants, poolBytes/max(1, target)))
	}
	generator, headers := v.Generator(p, 0, 1), encodeHeaders(p.Payload.Headers)
	var r writing.Record
	index := int64(0)
	for range n {
		var t template
		sum := uint32(0)
		for bytes := int32(0); ; index++ {
			generator.Fill(&r, index)
			grown := appendRecord(t.records, len(t.ends), 0, r.Key, r.Value, headers)
			if len(t.ends) > 0 && headSize+len(grown) > target {
				break
			}
			sum = crc32.Update(sum, castagnoli, grown[len(t.records):])
			t.sums = append(t.sums, sum)
			bytes += int32(len(r.Key) + len(r.Value))
			t.records, t.ends, t.bytes = grown, append(t.ends, int32(len(grown))), append(t.bytes, bytes)
			if sizeOnly && len(t.ends) == o.full {
				break
			}
		}
		if o.full == 0 || len(t.ends) < o.full {
			o.full = len(t.ends)
		}
		o.templates = append(o.templates, t)
	}
	if sizeOnly {
		o.templates = nil
		return o
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
