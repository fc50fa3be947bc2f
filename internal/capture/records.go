package capture

import (
	"slices"
	"time"
)

// Records are the figures of the records of a topic that were read: counts, sizes and hashes. It holds none of their contents, and its
// size does not grow with their number. Only with Keep, some values stay.
type Records struct {
	Keep int // values to keep in Kept at most; set before the first record; 0: none

	Batches      int64
	Count        int64            // of records
	Packed       int64            // bytes of their batches in the log, with headers
	Unpacked     int64            // bytes of their batches before compression, with headers
	Largest      int              // bytes of the largest batch in the log
	Codecs       map[string]int64 // batches by codec: none, gzip, snappy, lz4, zstd
	Transactions int64            // batches of transactions
	Producers    map[int64]bool   // idempotent ones, by producer id
	Span         time.Duration    // sum of the times from the first to the last record of each batch
	Headers      int64            // of all records
	HeaderKey    int64            // bytes of their keys
	HeaderValue  int64            // bytes of their values
	Tombstones   int64            // records without a value
	Kept         [][]byte

	values   sizes
	keySizes sizes
	keys     keys
}

// Batch is the head of a batch.
type Batch struct {
	Codec            string
	Count            int
	Packed, Unpacked int   // bytes
	Producer         int64 // -1: not idempotent
	Transactional    bool
	Span             time.Duration // between its first and its last record
}

// AddBatch counts a batch. Its records are added one by one.
func (r *Records) AddBatch(b Batch) {
	r.Batches++
	r.Packed += int64(b.Packed)
	r.Unpacked += int64(b.Unpacked)
	r.Largest = max(r.Largest, b.Packed)
	r.Span += b.Span
	if r.Codecs == nil {
		r.Codecs, r.Producers = make(map[string]int64), make(map[int64]bool)
	}
	r.Codecs[b.Codec]++
	if b.Transactional {
		r.Transactions++
	}
	if b.Producer >= 0 {
		r.Producers[b.Producer] = true
	}
}

// Record is one record as it was read.
type Record struct {
	Key, Value             []byte // nil: it has none
	Headers                int
	HeaderKey, HeaderValue int // bytes of all of its headers
}

// Add counts a record.
func (r *Records) Add(rec Record) {
	r.Count++
	r.Headers += int64(rec.Headers)
	r.HeaderKey += int64(rec.HeaderKey)
	r.HeaderValue += int64(rec.HeaderValue)
	if r.values.add(len(rec.Value)); rec.Value == nil {
		r.Tombstones++
	}
	if rec.Key != nil {
		r.keySizes.add(len(rec.Key))
		r.keys.add(rec.Key)
	}
	if len(r.Kept) < r.Keep && len(rec.Value) > 0 {
		r.Kept = append(r.Kept, slices.Clone(rec.Value))
	}
}

// Codec returns the codec of most batches.
func (r *Records) Codec() (most string) {
	for name, n := range r.Codecs {
		if n > r.Codecs[most] || n == r.Codecs[most] && name < most {
			most = name
		}
	}
	return most
}

// Ratio returns the bytes before compression for each byte in the log.
func (r *Records) Ratio() float64 { return float64(r.Unpacked) / float64(max(r.Packed, 1)) }
