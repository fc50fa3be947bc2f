package codec

import (
	"encoding/binary"
	"hash/crc32"
)

// Gzip returns zlib's deflate with a gzip header, at level 1 to 9; -1 is level 6.
// The size is that of Java's GZIPOutputStream.
func Gzip(level int) *Codec {
	if level < 0 {
		level = 6
	}
	return newCodec("gzip", level, func() encoder { return &deflater{deflateLevel: deflateLevels[level]} })
}

// gzipHeader is what Java writes: deflate, no name, no time.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}

func (d *deflater) encode(dst, src []byte) []byte {
	dst = d.deflate(append(dst, gzipHeader...), src)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(src))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
}
