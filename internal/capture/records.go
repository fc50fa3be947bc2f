package capture

import "time"

// Records are the figures of the records of a topic that were read: counts, sizes and hashes. It holds none of their contents, and its
// size does not grow with their number.
type Records struct {
	Batches      int64
	Count        int64
	Packed       int64            // bytes of their batches in the log, with headers
	Unpacked     int64            // bytes of their batches before compression
	Codecs       map[string]int64 // batches by codec: none, gzip, snappy, lz4, zstd
	Transactions int64            // batches of transactions
	Producers    map[int64]bool   // idempotent ones, by producer id
	Span         time.Duration    // sum of the times from the first to the last record of each batch
	Headers      int64            // of all records
	HeaderKey    int64            // bytes of their keys
	HeaderValue  int64            // bytes of their values
	Tombstones   int64            // records without a value
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

// AddBatch counts a batch.
func (r *Records) AddBatch(b Batch) {
	r.Batches++
	r.Packed += int64(b.Packed)
	r.Unpacked += int64(b.Unpacked)
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
