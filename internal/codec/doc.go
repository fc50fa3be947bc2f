// Package codec compresses record batches to the sizes that Kafka's Java client
// reaches.
//
//	c := codec.Gzip(6)
//	compressed := c.Append(nil, records)
//
// A load is only comparable with an application's when the same batch takes about the
// same bytes on the network and on the disk. At the default levels sizes differ by less
// than 6 % from Java's, at others by less than 16 % (zstd below -1 by more: it stores literals).
//
//   - gzip is the standard library's.
//   - snappy is klauspost/compress, in the framing of snappy-java.
//   - lz4 is pierrec/lz4, in the frame of Kafka's Lz4BlockOutputStream: independent blocks of 64 KiB.
//   - zstd is klauspost/compress, told to code literals where libzstd does. It knows
//     four levels of effort.
//
// Run files are compressed for little CPU instead: see [Member].
//
// testdata/java_sizes.tsv holds what Java makes of the samples of the tests;
// "go test ./internal/codec -update" asks it again.
package codec
