package codec

import (
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sample is the records of one batch as they are before compression.
type sample struct {
	name    string
	records []byte
}

// samples are batches of three kinds of payload, the same at every call.
func samples() []sample {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []sample
	for _, size := range []int{1100, 16_000, 60_000} {
		for _, kind := range []struct {
			name string
			make func(*rand.Rand) []byte
		}{
			{"letters", func(rng *rand.Rand) []byte { return fill(rng, 1024, 'A', 26) }},
			{"short", func(rng *rand.Rand) []byte { return fill(rng, 100, 'A', 26) }},
			{"random", func(rng *rand.Rand) []byte { return fill(rng, 1024, 0, 256) }},
			{"json", order},
		} {
			all = append(all, sample{fmt.Sprintf("%s-%d", kind.name, size), batch(rng, size, kind.make)})
		}
	}
	return append(all, sample{"json-140000", batch(rng, 140_000, order)})
}

func fill(rng *rand.Rand, n int, first byte, span int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(rng.IntN(span))
	}
	return b
}

// batch returns records of at most so many bytes, but at least one.
func batch(rng *rand.Rand, size int, value func(*rand.Rand) []byte) []byte {
	var records []byte
	for i := int32(0); ; i++ {
		r := kmsg.Record{OffsetDelta: i, TimestampDelta64: int64(i / 20), Value: value(rng)}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		more := r.AppendTo(records)
		if len(more) > size && i > 0 {
			return records
		}
		records = more
	}
}

var words = []string{
	"order", "customer", "payment", "shipment", "created", "updated", "cancelled", "alpha", "bravo", "charlie",
	"delta", "echo", "warehouse", "berlin", "paris", "london", "tokyo", "status", "pending", "express",
}

// order returns a document as an application would send it.
func order(rng *rand.Rand) []byte {
	word := func() string { return words[rng.IntN(len(words))] }
	b := fmt.Appendf(nil, `{"id":"%08x-%04x","timestamp":"2026-11-%02dT%02d:%02d:%02d.%03dZ","type":"%s.%s",`,
		rng.Uint32(), rng.IntN(1<<16), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1000), word(), word())
	b = fmt.Appendf(b, `"customer":{"id":%d,"name":"%s %s","email":"%s.%d@example.com","city":"%s"},"items":[`,
		rng.IntN(1_000_000), word(), word(), word(), rng.IntN(10_000), word())
	for i := range 1 + rng.IntN(6) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":"SKU-%06d","quantity":%d,"price":%d.%02d,"note":"%s %s %s"}`,
			rng.IntN(1_000_000), 1+rng.IntN(9), rng.IntN(500), rng.IntN(100), word(), word(), word())
	}
	return fmt.Appendf(b, `],"total":%d.%02d,"currency":"EUR","paid":%t}`, rng.IntN(3000), rng.IntN(100), rng.IntN(2) == 0)
}
