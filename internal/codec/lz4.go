package codec

import (
	"encoding/binary"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// LZ4 returns lz4 in the frame that Kafka's Java client writes: independent blocks
// of 64 KiB, without checksums. The level is from 1 to 17 as in Java: at 1, 2 and 9,
// the default, the search is the fast one, and all above 12 are alike.
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

// lz4Header is the magic number, the flags (version 1, independent blocks), the
// block size and the checksum of flags and size.
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
