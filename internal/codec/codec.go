package codec

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec compresses batches with one method and level. Several goroutines may use it.
type Codec struct {
	name string
	pool sync.Pool // of encoders
}

// encoder appends the compressed src to dst. It keeps its tables for the next batch.
type encoder func(dst, src []byte) []byte

func newCodec(name string, level int, make func() encoder) *Codec {
	if level != 0 {
		name += ":" + strconv.Itoa(level)
	}
	return &Codec{name: name, pool: sync.Pool{New: func() any { return make() }}}
}

// String returns the method and the level in effect, as in "gzip:6".
func (c *Codec) String() string { return c.name }

// Append appends the compressed src to dst and returns the extended buffer.
func (c *Codec) Append(dst, src []byte) []byte {
	e := c.pool.Get().(encoder)
	defer c.pool.Put(e)
	return e(dst, src)
}

// Gzip returns gzip at level 1 to 9; -1 is level 6.
func Gzip(level int) *Codec {
	if level < 0 {
		level = 6
	}
	return newCodec("gzip", level, func() encoder {
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // the settings of a producer have been checked
		}
		return func(dst, src []byte) []byte {
			out = *bytes.NewBuffer(dst)
			w.Reset(&out)
			_, _ = w.Write(src) // to memory
			_ = w.Close()
			return out.Bytes()
		}
	})
}

// LZ4 returns lz4 in the frame that Kafka's Java client writes: independent blocks of 64 KiB, without checksums. The level is
// from 1 to 17 as in Java: at 1, 2 and 9, the default, the search is the fast one, and all above 12 are alike.
func LZ4(level int) *Codec {
	return newCodec("lz4", level, func() encoder {
		if level <= 2 || level == 9 {
			return encodeLZ4(new(lz4.Compressor).CompressBlock)
		}
		return encodeLZ4((&lz4.CompressorHC{Level: lz4.CompressionLevel(lz4Depths[min(level, len(lz4Depths)-1)])}).CompressBlock)
	})
}

// lz4Depths are how many candidates the thorough search tries at each byte, by level.
var lz4Depths = [...]int{3: 6, 4: 10, 5: 16, 6: 32, 7: 64, 8: 128, 10: 96, 11: 512, 12: 4096}

const (
	lz4Block = 64 << 10
	lz4Raw   = 1 << 31 // in a block's length: it is not compressed
)

// lz4Header is the magic number, the flags (version 1, independent blocks), the block size and the checksum of flags and size.
var lz4Header = []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}

func encodeLZ4(compress func(src, dst []byte) (int, error)) encoder {
	return func(dst, src []byte) []byte {
		dst = append(dst, lz4Header...)
		for block := range slices.Chunk(src, lz4Block) {
			at := len(dst) + 4
			dst = slices.Grow(dst, 4+lz4.CompressBlockBound(len(block)))
			n, err := compress(block, dst[at:cap(dst)])
			size := uint32(n)
			if err != nil || n == 0 || n >= len(block) {
				n = copy(dst[at:cap(dst)], block)
				size = uint32(n) | lz4Raw
			}
			dst = binary.LittleEndian.AppendUint32(dst, size)[:at+n]
		}
		return append(dst, 0, 0, 0, 0)
	}
}

// Snappy returns snappy in the framing of snappy-java: blocks of 32 KiB, each with its length.
func Snappy() *Codec { return newCodec("snappy", 0, func() encoder { return encodeSnappy }) }

const snappyBlock = 32 << 10

// snappyHeader is what snappy-java begins with: a magic number, its version, and the oldest version that can read it.
var snappyHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

func encodeSnappy(dst, src []byte) []byte {
	dst = append(dst, snappyHeader...)
	for block := range slices.Chunk(src, snappyBlock) {
		at := len(dst) + 4
		dst = slices.Grow(dst, 4+snappy.MaxEncodedLen(len(block)))
		n := len(snappy.Encode(dst[at:cap(dst)], block))
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))[:at+n]
	}
	return dst
}

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
