package codec

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/snappy"
)

// Snappy returns snappy in the framing of snappy-java: blocks of 32 KiB, each with its length.
func Snappy() *Codec { return newCodec("snappy", 0, func() encoder { return encodeSnappy }) }

const snappyBlock = 32 << 10

// snappyHeader is what snappy-java begins with: a magic number, its version, and
// the oldest version that can read it.
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
