package javaconf

import (
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	gib = 1 << 30 // franz-go's upper limit for a batch and for a write

	smallestBatch = 512 // franz-go's lower limit for a batch

	// recordRoom is room for what surrounds one record's key, value and
	// headers in a batch: 61 bytes of batch header, up to 36 of varints, and
	// the rest for the lengths of a few headers.
	recordRoom = 128

	// javaOverhead is what Java adds to a record before it compares it with
	// max.request.size and buffer.memory: 61 for the batch, 21 for the record.
	javaOverhead = 82

	// requestOverhead is room for what surrounds the batches in a produce
	// request, the client id and the transactional id aside.
	requestOverhead = 512
)

// batchProperties returns the rows that decide how records become requests.
func batchProperties() []property[Producer] {
	return []property[Producer]{
		{
			// Size at which a batch of records is full; 0 puts each record in its own.
			name: "batch.size", preset: "16384", check: byteCount(gib),
			client: "ProducerBatchMaxBytes",
			apply:  func(s Producer) []kgo.Opt { return []kgo.Opt{kgo.ProducerBatchMaxBytes(int32(s.batchMax()))} },
		}, {
			// Time a batch that is not full waits for more records.
			name: "linger.ms", preset: "5", check: millis(0, 60_000), // franz-go accepts no more than a minute
			client: "ProducerLinger",
			apply:  func(s Producer) []kgo.Opt { return []kgo.Opt{kgo.ProducerLinger(s.Linger())} },
		}, {
			// Most bytes of batches in a request, and the largest record.
			name: "max.request.size", preset: "1048576", check: byteCount(gib),
			client: "BrokerMaxWriteBytes",
			apply:  func(s Producer) []kgo.Opt { return []kgo.Opt{kgo.BrokerMaxWriteBytes(int32(s.writeMax()))} },
		}, {
			// Memory for records that wait to be sent.
			name: "buffer.memory", preset: "33554432", check: byteCount(math.MaxInt64),
			note:   "kt counts the bytes of keys and values itself and keeps franz-go from blocking.",
			client: "MaxBufferedRecords", apply: applyBuffer,
		}, {
			// Codec that compresses batches.
			name: "compression.type", preset: "none", check: oneOf("none", "gzip", "snappy", "lz4", "zstd"),
			client: "ProducerBatchCompression, WithCompressor", apply: compressionOptions,
		}, {
			// Effort of gzip; -1 is the library's choice.
			name: "compression.gzip.level", preset: "-1", check: orMinusOne(number(1, 9)),
			note:   "Go's library compresses: sizes are within 6 % of Java's at 4 to 9; at 1 to 3 they are up to 9 % smaller.",
			client: "WithCompressor",
		}, {
			// Effort of lz4; 9 is the fast search, all others are thorough.
			name: "compression.lz4.level", preset: "9", check: number(1, 17),
			note:   "pierrec/lz4 compresses: sizes are within 7 % of Java's at 1, 2 and 9; at others JSON comes out up to 11 % larger.",
			client: "WithCompressor",
		}, {
			// Effort of zstd.
			name: "compression.zstd.level", preset: "3", check: number(-131072, 22),
			note:   "Sizes are within 5 % of Java's from -1 to 7. JSON comes out up to 10 % larger at 8 to 15 and 16 % at 16 to 22; below -1 kt compresses as at -1, Java less and less.",
			client: "WithCompressor",
		},
	}
}

// batchMax is franz-go's limit for a batch. Java's batch.size is a target that
// a larger record may exceed on its own; franz-go's is a limit that such a
// record fails at, so it is raised to hold the largest record. With compression
// WithBatches sets the target.
func (s Producer) batchMax() int {
	return min(max(s.BatchTarget(), s.recordMax+recordRoom, smallestBatch), gib)
}

// BatchTarget returns the size before compression at which a batch is full.
func (s Producer) BatchTarget() int {
	if s.fitted > 0 {
		return s.fitted
	}
	return s.BatchSize()
}

// writeMax is franz-go's limit for a request: max.request.size as Java counts
// it, of the batches alone, plus the rest of the request. As in Java, one batch
// may exceed it.
func (s Producer) writeMax() int {
	names := len(s.value("client.id")) + len(s.TransactionalID())
	return min(max(s.int("max.request.size"), s.batchMax())+requestOverhead+names, gib)
}

// applyBuffer moves franz-go's own limit on buffered records, 50,000, out of
// the way. kt holds buffer.memory and max.block.ms itself, so that waiting for
// memory is measured; blocked inside franz-go it would pass unseen, and
// franz-go stops lingering while anything blocks.
func applyBuffer(Producer) []kgo.Opt {
	return []kgo.Opt{kgo.MaxBufferedRecords(math.MaxInt32)}
}
