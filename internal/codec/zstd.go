package codec

import "github.com/klauspost/compress/zstd"

// zstdWindow holds any batch that a broker takes by default.
const zstdWindow = 1 << 20

// Zstd returns zstd at a level as in Java, where 0 means 3.
func Zstd(level int) *Codec {
	if level == 0 {
		level = 3
	}
	opts := []zstd.EOption{
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(zstdWindow),
		zstd.WithZeroFrames(true),
		zstd.WithEncoderCRC(false), // Java writes none: the batch has a checksum
		// Without this, klauspost/compress stores what has no repetitions as it is.
		zstd.WithAllLitEntropyCompression(level > 0),
		zstd.WithNoEntropyCompression(level < 0), // in libzstd, negative levels store literals as they are
	}
	return newCodec("zstd", level, func() encoder {
		e, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			panic(err) // the options are constants
		}
		return func(dst, src []byte) []byte { return e.EncodeAll(src, dst) }
	})
}
