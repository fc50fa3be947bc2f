package kafka

import (
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
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

// batchProperties are the rows that decide how records become requests.
func batchProperties() []property[Settings] {
	return []property[Settings]{
		{
			name: "batch.size", preset: "16384", check: byteCount(gib),
			doc:    "Size at which a batch of records is full; 0 puts each record in its own.",
			note:   "Java counts compressed bytes, as it estimates them; franz-go counts them before compression.",
			client: "ProducerBatchMaxBytes",
			apply:  func(s Settings) []kgo.Opt { return []kgo.Opt{kgo.ProducerBatchMaxBytes(int32(s.batchMax()))} },
		}, {
			name: "linger.ms", preset: "5", check: millis(0, 60_000), // franz-go accepts no more than a minute
			doc:    "Time a batch that is not full waits for more records.",
			client: "ProducerLinger",
			apply:  func(s Settings) []kgo.Opt { return []kgo.Opt{kgo.ProducerLinger(s.Linger())} },
		}, {
			name: "max.request.size", preset: "1048576", check: byteCount(gib),
			doc:    "Most bytes of batches in a request, and the largest record.",
			client: "BrokerMaxWriteBytes",
			apply:  func(s Settings) []kgo.Opt { return []kgo.Opt{kgo.BrokerMaxWriteBytes(int32(s.writeMax()))} },
		}, {
			name: "buffer.memory", preset: "33554432", check: byteCount(math.MaxInt64),
			doc:    "Memory for records that wait to be sent.",
			note:   "kt counts the bytes of keys and values itself and keeps franz-go from blocking.",
			client: "MaxBufferedRecords", apply: applyBuffer,
		}, {
			name: "compression.type", preset: "none", check: oneOf("none", "gzip", "snappy", "lz4", "zstd"),
			doc:    "Codec that compresses batches.",
			client: "ProducerBatchCompression",
			apply:  func(s Settings) []kgo.Opt { return []kgo.Opt{kgo.ProducerBatchCompression(compressionCodec(s))} },
		}, {
			name: "compression.gzip.level", preset: "-1", check: orMinusOne(number(1, 9)),
			doc:    "Effort of gzip; -1 is the library's choice.",
			note:   "franz-go has its own gzip, so sizes differ from Java's at the same level.",
			client: "ProducerBatchCompression",
		}, {
			name: "compression.lz4.level", preset: "9", check: number(1, 17),
			doc:    "Effort of lz4.",
			note:   "At 9 both use the fast compressor, as in Java; franz-go treats 10 to 17 as 9 of its thorough one.",
			client: "ProducerBatchCompression",
		}, {
			name: "compression.zstd.level", preset: "3", check: number(-131072, 22),
			doc:    "Effort of zstd.",
			note:   "franz-go has four efforts: below 3, 3 to 5, 6 to 9, and 10 or more.",
			client: "ProducerBatchCompression",
		},
	}
}

// batchMax is franz-go's limit for a batch. Java's batch.size is a target that
// a larger record may exceed on its own; franz-go's is a limit that such a
// record fails at, so it is raised to hold the largest record.
func (s Settings) batchMax() int {
	return min(max(s.BatchSize(), s.recordMax+recordRoom, smallestBatch), gib)
}

// writeMax is franz-go's limit for a request: max.request.size as Java counts
// it, of the batches alone, plus the rest of the request. As in Java, one batch
// may exceed it.
func (s Settings) writeMax() int {
	names := len(s.value("client.id")) + len(s.TransactionalID())
	return min(max(s.int("max.request.size"), s.batchMax())+requestOverhead+names, gib)
}

// applyBuffer moves franz-go's own limit on buffered records, 50,000, out of
// the way. kt holds buffer.memory and max.block.ms itself, so that waiting for
// memory is measured; blocked inside franz-go it would pass unseen, and
// franz-go stops lingering while anything blocks.
func applyBuffer(Settings) []kgo.Opt {
	return []kgo.Opt{kgo.MaxBufferedRecords(math.MaxInt32)}
}

// compressionCodec names a single codec with no fallback: a run must not report one
// compression and use another.
func compressionCodec(s Settings) kgo.CompressionCodec {
	switch s.Compression() {
	case "gzip":
		return kgo.GzipCompression().WithLevel(s.int("compression.gzip.level"))
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return lz4Codec(s.int("compression.lz4.level"))
	case "zstd":
		level := zstd.EncoderLevelFromZstd(s.int("compression.zstd.level"))
		return kgo.ZstdCompression().WithLevel(int(level))
	}
	return kgo.NoCompression()
}

// lz4Codec follows Java, whose level 9, the default, means the fast compressor
// and not level 9 of the thorough one.
func lz4Codec(level int) kgo.CompressionCodec {
	if level == 9 {
		return kgo.Lz4Compression()
	}
	return kgo.Lz4Compression().WithLevel(int(lz4.Level1) << (min(level, 9) - 1)) // the library's levels are powers of two
}
