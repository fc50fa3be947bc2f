package codec

import "encoding/binary"

// lz4Default is Java's default level. It does not lie between 8 and 10: it is the
// fast search, and every other level is a thorough one.
const lz4Default = 9

// LZ4 returns lz4 in the frame that Kafka's Java client writes: independent blocks
// of 64 KiB, without checksums. The level is from 1 to 17 as in Java: at 9 the
// search is the fast one, at 1 and 2 a quick one, and all above 12 are alike.
func LZ4(level int) *Codec {
	switch {
	case level == lz4Default:
		return newCodec("lz4", level, func() encoder { return &lz4{search: new(lz4Fast)} })
	case level <= 2:
		return newCodec("lz4", level, func() encoder { return &lz4{search: new(lz4Quick)} })
	}
	depth := lz4Depths[min(level, len(lz4Depths)-1)]
	return newCodec("lz4", level, func() encoder { return &lz4{search: &lz4Thorough{depth: depth}} })
}

// lz4Depths are how many candidates the thorough search tries at each byte, by level.
var lz4Depths = [...]int{3: 6, 4: 10, 5: 16, 6: 32, 7: 64, 8: 128, 10: 96, 11: 512, 12: 4096}

const (
	lz4Block    = 64 << 10
	lz4MinMatch = 4

	// lz4Tail is how many bytes at the end of a block are always literals, and
	// lz4Margin how far from the end the last match may begin.
	lz4Tail   = 5
	lz4Margin = 12

	lz4Raw = 1 << 31 // in a block's length: it is not compressed

	lz4Prime = 2654435761
)

// lz4Header is the magic number, the flags (version 1, independent blocks), the
// block size and the checksum of flags and size.
var lz4Header = []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}

// lz4Search finds the matches of one block.
type lz4Search interface {
	// block appends the compressed src, which is at most lz4Block long.
	block(dst, src []byte) []byte
}

type lz4 struct{ search lz4Search }

func (l *lz4) encode(dst, src []byte) []byte {
	dst = append(dst, lz4Header...)
	for len(src) > 0 {
		n := min(len(src), lz4Block)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = l.search.block(dst, src[:n])
		size := uint32(len(dst) - at - 4)
		if int(size) >= n {
			dst = append(dst[:at+4], src[:n]...)
			size = uint32(n) | lz4Raw
		}
		binary.LittleEndian.PutUint32(dst[at:], size)
		src = src[n:]
	}
	return append(dst, 0, 0, 0, 0)
}

// lz4Sequence appends literals and the match that follows them; a length of 0 is
// the end of a block, without a match.
func lz4Sequence(dst, literals []byte, offset, length int) []byte {
	token := len(dst)
	dst = append(dst, 0)
	n := len(literals)
	dst[token] = byte(min(n, 15) << 4)
	if n >= 15 {
		dst = lz4Length(dst, n-15)
	}
	dst = append(dst, literals...)
	if length == 0 {
		return dst
	}
	dst = append(dst, byte(offset), byte(offset>>8))
	n = length - lz4MinMatch
	dst[token] |= byte(min(n, 15))
	if n >= 15 {
		dst = lz4Length(dst, n-15)
	}
	return dst
}

func lz4Length(dst []byte, n int) []byte {
	for ; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}

// lz4Match returns the length of the match of two places, the last bytes of the
// block left out.
func lz4Match(src []byte, candidate, pos int) int {
	return matchLength(src[candidate:], src[pos:len(src)-lz4Tail])
}

// lz4Extend moves a match back over equal bytes that are still literals.
func lz4Extend(src []byte, candidate, pos, written int) (newCandidate, newPos int) {
	for pos > written && candidate > 0 && src[candidate-1] == src[pos-1] {
		candidate, pos = candidate-1, pos-1
	}
	return candidate, pos
}
