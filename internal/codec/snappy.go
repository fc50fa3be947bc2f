package codec

import (
	"encoding/binary"
	"math/bits"
)

// Snappy returns Google's snappy in the framing of snappy-java: blocks of 32 KiB,
// each with its length.
func Snappy() *Codec { return newCodec("snappy", 0, func() encoder { return new(snappy) }) }

const (
	snappyBlock = 32 << 10

	snappyHashBits    = 15
	snappyMinHashBits = 8

	// snappyMargin is how far from the end of a block the search stops, so that it
	// can read whole words.
	snappyMargin = 15

	// snappySkip sets how fast the search runs ahead where nothing matches: by one
	// byte more after so many misses.
	snappySkip = 32
)

// snappyHeader is what snappy-java begins with: a magic number, its version, and
// the oldest version that can read it.
var snappyHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

type snappy struct {
	table [1 << snappyHashBits]uint16 // the newest position of a hash
}

func (s *snappy) encode(dst, src []byte) []byte {
	dst = append(dst, snappyHeader...)
	for len(src) > 0 {
		n := min(len(src), snappyBlock)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = binary.AppendUvarint(dst, uint64(n))
		dst = s.block(dst, src[:n])
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		src = src[n:]
	}
	return dst
}

// block follows the search of Google's library, whose choices are what the size
// depends on.
func (s *snappy) block(dst, src []byte) []byte {
	if len(src) <= snappyMargin {
		return snappyLiteral(dst, src)
	}
	tableBits := min(max(bits.Len(uint(len(src)-1)), snappyMinHashBits), snappyHashBits)
	table := s.table[:1<<tableBits]
	clear(table)
	shift := 32 - tableBits
	hash := func(i int) uint32 { return load32(src, i) * 0x1e35a7bd >> shift }
	end := len(src) - snappyMargin
	written := 0
	for pos := 1; ; {
		skip, candidate := snappySkip, 0
		for {
			next := pos + skip/snappySkip
			skip += skip / snappySkip
			if next > end {
				return snappyTail(dst, src[written:])
			}
			h := hash(pos)
			candidate = int(table[h])
			table[h] = uint16(pos)
			if load32(src, pos) == load32(src, candidate) {
				break
			}
			pos = next
		}
		dst = snappyLiteral(dst, src[written:pos])
		for {
			length := 4 + matchLength(src[candidate+4:], src[pos+4:])
			dst = snappyCopy(dst, pos-candidate, length)
			pos += length
			written = pos
			if pos >= end {
				return snappyTail(dst, src[written:])
			}
			table[hash(pos-1)] = uint16(pos - 1)
			h := hash(pos)
			candidate = int(table[h])
			table[h] = uint16(pos)
			if load32(src, pos) != load32(src, candidate) {
				break
			}
		}
		pos++
	}
}

func snappyTail(dst, rest []byte) []byte {
	if len(rest) == 0 {
		return dst
	}
	return snappyLiteral(dst, rest)
}

// snappyLiteral appends bytes as they are; there is at least one.
func snappyLiteral(dst, b []byte) []byte {
	n := len(b) - 1
	switch {
	case n < 60:
		dst = append(dst, byte(n<<2))
	case n < 1<<8:
		dst = append(dst, 60<<2, byte(n))
	default:
		dst = append(dst, 61<<2, byte(n), byte(n>>8))
	}
	return append(dst, b...)
}

func snappyCopy(dst []byte, offset, length int) []byte {
	long := func(n int) { dst = append(dst, byte(n-1)<<2|2, byte(offset), byte(offset>>8)) }
	for length >= 68 {
		long(64)
		length -= 64
	}
	if length > 64 {
		long(60)
		length -= 60
	}
	if length >= 12 || offset >= 2048 {
		long(length)
		return dst
	}
	return append(dst, byte(offset>>8)<<5|byte(length-4)<<2|1, byte(offset))
}
