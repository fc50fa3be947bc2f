package writing

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

const (
	// Java expects a batch to compress like those before it, and 5 % worse. Its estimate lies between that ratio and 0.05
	// above.
	estimateMargin = 1.05
	estimateExcess = 0.025

	// fitRounds is the number of corrections to the size of the batch. Three were enough for all payloads that were tried.
	fitRounds = 6
)

// FitBatches returns the settings with batches of as many records as Java's. Java compares batch.size with its estimate of the
// compressed size, franz-go with the size before compression. So a batch of the payload is compressed here, before the run, and
// franz-go's limit is raised by the bytes saved.
func FitBatches(s javaconf.Producer, p plan.Plan, v *payload.Values) javaconf.Producer {
	c := s.Compressor()
	if c == nil || s.BatchSize() == 0 {
		return s
	}
	var out bytes.Buffer
	size := s.BatchSize()
	for range fitRounds {
		records, largest := sample(v, p, size)
		out.Reset()
		compressed, _ := c.Compress(&out, records)
		ratio := min(float64(len(compressed))/float64(len(records)), 1)
		// Java adds a record while the estimate and that record fit.
		room := float64(max(s.BatchSize()-format.HeadSize-largest, 0))
		size = min(int(room/(estimateMargin*(ratio+estimateExcess)))+largest, s.Int("max.request.size"))
	}
	return s.WithBatches(size + format.HeadSize)
}

// sample returns the records of a batch of about that size before compression, and the size of the largest.
func sample(v *payload.Values, p plan.Plan, size int) (records []byte, largest int) {
	generator := v.Generator(p, 0, 1)
	var headers []kmsg.Header
	for _, h := range p.Payload.Headers {
		headers = append(headers, kmsg.Header{Key: h.Key, Value: []byte(h.Value)})
	}
	for i := int32(0); len(records) == 0 || len(records)+largest <= size; i++ {
		key, value := generator.Fill(new(payload.Memory), int64(i))
		wire := kmsg.Record{OffsetDelta: i, Key: key, Value: value, Headers: headers}
		before := len(records)
		wire.Length = int32(len(wire.AppendTo(nil)) - 1) // without itself, one byte while it is 0
		records = wire.AppendTo(records)
		largest = max(largest, len(records)-before)
	}
	return records, largest
}

// RecordHeaders returns the headers that every record of a plan carries.
func RecordHeaders(hs []plan.Header) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range hs {
		out = append(out, kgo.RecordHeader{Key: h.Key, Value: []byte(h.Value)})
	}
	return out
}
