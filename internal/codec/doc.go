// Package codec compresses record batches to the sizes that Kafka's Java client
// reaches.
//
//	c := codec.Gzip(6)
//	compressed := c.Append(nil, records)
//
// A load is only comparable with an application's when the same batch takes the
// same bytes on the network and on the disk. Go's usual libraries write text
// without repetitions as it is, which Java's libraries reduce to 60 %. So:
//
//   - gzip searches and codes as zlib does, which Java uses. Sizes are equal.
//   - snappy searches as Google's library does, in the framing of snappy-java.
//   - lz4 has the frame of Kafka's Lz4BlockOutputStream: independent blocks of 64 KiB.
//   - zstd is klauspost/compress, told to code literals where libzstd does. It knows
//     four levels of effort, so sizes differ below -1 and above 7.
//
// Streams between hosts of kt are compressed for little CPU instead: see [StreamWriter].
//
// testdata/java_sizes.tsv holds what Java makes of the samples of the tests;
// "go test ./internal/codec -update" asks it again.
package codec
