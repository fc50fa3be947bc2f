package javaconf

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/codec"
)

// compressor compresses batches to the sizes of the Java client, with one method and no
// fallback: a run must not report one compression and use another.
type compressor struct {
	codec *codec.Codec
	kind  kgo.CompressionCodecType
}

var _ kgo.Compressor = compressor{}

// Compress is franz-go's hook. The client keeps dst for the next batch, so dst
// grows here and not in the codec.
func (c compressor) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	if c.kind == kgo.CodecZstd && slices.Contains(flags, kgo.CompressDisableZstd) {
		return src, kgo.CodecNone // the broker is older than zstd
	}
	dst.Grow(len(src) + len(src)/16 + 1024)
	return c.codec.Append(dst.AvailableBuffer(), src), c.kind
}

// Compressor compresses this producer's batches; it is nil without compression.
func (s Producer) Compressor() kgo.Compressor {
	switch s.Compression() {
	case "gzip":
		return compressor{codec.Gzip(s.int("compression.gzip.level")), kgo.CodecGzip}
	case "snappy":
		return compressor{codec.Snappy(), kgo.CodecSnappy}
	case "lz4":
		return compressor{codec.LZ4(s.int("compression.lz4.level")), kgo.CodecLz4}
	case "zstd":
		return compressor{codec.Zstd(s.int("compression.zstd.level")), kgo.CodecZstd}
	}
	return nil
}
