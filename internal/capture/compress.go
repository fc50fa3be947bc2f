package capture

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

const (
	batchHeader = 61       // bytes of a batch without its records
	packedBytes = 96 << 10 // of records that are compressed to find a ratio, in four batches or more
)

// compressors are the codecs at the levels that clients have by default.
var compressors = map[string]func() *codec.Codec{
	"gzip": func() *codec.Codec { return codec.Gzip(-1) }, "snappy": codec.Snappy,
	"lz4": func() *codec.Codec { return codec.LZ4(9) }, "zstd": func() *codec.Codec { return codec.Zstd(3) },
}

// compressible returns the share of record values that has to be constant for batches of kt to have the ratio that was seen, and the ratio
// that they have then.
func compressible(p plan.Payload, r *Records) (share, ratio float64, err error) {
	pack, ok := compressors[r.Codec()]
	if !ok {
		return 0, 0, fmt.Errorf("kt has no codec %q", r.Codec())
	}
	c, records, span := pack(), float64(r.Count)/float64(r.Batches), r.Span.Milliseconds()/r.Batches
	share = bisect(0, 1, 1e-3, func(share float64) bool {
		p.Kind, p.Compressibility = plan.Mixed, share
		if ratio, err = ratioOf(p, c, records, span); err != nil {
			return false
		}
		return ratio < r.Ratio()
	})
	return share, ratio, err
}

// ratioOf returns the ratio of batches with so many records of a payload in the mean, which come by chance: a batch has one, and those that
// come while it waits.
func ratioOf(p plan.Payload, c *codec.Codec, each float64, span int64) (float64, error) {
	load := plan.Plan{Payload: p, Seed: 1}
	values, err := payload.MakeValues(&load)
	if err != nil {
		return 0, err
	}
	generator, memory, rng := values.Generator(load, 0, 1), new(payload.Memory), rand.New(rand.NewPCG(1, 1))
	var records, packed []byte
	var before, after, number int64
	for batches := 0; batches < 4 || before < packedBytes; batches++ {
		records = records[:0]
		for i, at := int64(0), 0.0; i == 0 || at < each-1; i, number, at = i+1, number+1, at+rng.ExpFloat64() {
			key, value := generator.Fill(memory, number)
			records = appendRecord(records, p.Headers, i, int64(float64(span)*at/each), key, value)
		}
		packed = c.Append(packed[:0], records)
		before += int64(batchHeader + len(records))
		after += int64(batchHeader + min(len(packed), len(records)))
	}
	return float64(before) / float64(after), nil
}

// appendRecord appends a record as it lies in a batch. after is the time since the first one, in milliseconds.
func appendRecord(dst []byte, headers []plan.Header, number, after int64, key, value []byte) []byte {
	body := binary.AppendVarint([]byte{0}, after)
	body = binary.AppendVarint(body, number)
	text := func(b []byte, none bool) {
		if none {
			body = binary.AppendVarint(body, -1)
			return
		}
		body = append(binary.AppendVarint(body, int64(len(b))), b...)
	}
	text(key, key == nil)
	text(value, false)
	body = binary.AppendVarint(body, int64(len(headers)))
	for _, h := range headers {
		text([]byte(h.Key), false)
		text([]byte(h.Value), false)
	}
	return append(binary.AppendVarint(dst, int64(len(body))), body...)
}
