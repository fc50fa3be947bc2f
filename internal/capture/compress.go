package capture

import (
	"fmt"
	"math/rand/v2"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

const packedBytes = 96 << 10 // of records that are compressed to find a ratio, in four batches or more

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
	headers := format.EncodeHeaders(p.Headers)
	var records, packed []byte
	var before, after, number int64
	for batches := 0; batches < 4 || before < packedBytes; batches++ {
		records = records[:0]
		for i, at := 0, 0.0; i == 0 || at < each-1; i, number, at = i+1, number+1, at+rng.ExpFloat64() {
			key, value := generator.Fill(memory, number)
			records = format.AppendRecord(records, i, int64(float64(span)*at/each), key, value, headers)
		}
		packed = c.Append(packed[:0], records)
		before += int64(format.HeadSize + len(records))
		after += int64(format.HeadSize + min(len(packed), len(records)))
	}
	return float64(before) / float64(after), nil
}
