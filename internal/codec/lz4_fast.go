package codec

const (
	lz4FastBits = 13

	// lz4Skip sets how fast the search runs ahead where nothing matches: by one byte
	// more after so many misses.
	lz4Skip = 64
)

// lz4Fast takes the first match that it sees, as LZ4_compress_fast does.
type lz4Fast struct {
	table [1 << lz4FastBits]uint16 // the newest position of a hash
}

func lz4FastHash(src []byte, i int) uint32 { return load32(src, i) * lz4Prime >> (32 - lz4FastBits) }

func (f *lz4Fast) block(dst, src []byte) []byte {
	end := len(src) - lz4Margin // the last position at which a match may begin
	written := 0
	if end > 0 {
		clear(f.table[:])
		for pos := 1; ; pos++ {
			var candidate int
			if pos, candidate = f.next(src, pos, end); pos < 0 {
				break
			}
			candidate, pos = lz4Extend(src, candidate, pos, written)
			for {
				length := lz4Match(src, candidate, pos)
				dst = lz4Sequence(dst, src[written:pos], pos-candidate, length)
				pos += length
				written = pos
				if pos > end {
					return lz4Sequence(dst, src[written:], 0, 0)
				}
				f.table[lz4FastHash(src, pos-2)] = uint16(pos - 2)
				h := lz4FastHash(src, pos)
				candidate = int(f.table[h])
				f.table[h] = uint16(pos)
				if load32(src, candidate) != load32(src, pos) {
					break
				}
			}
		}
	}
	return lz4Sequence(dst, src[written:], 0, 0)
}

// next returns the next position with a match, and that; -1 if there is none.
func (f *lz4Fast) next(src []byte, pos, end int) (at, candidate int) {
	for step, misses := 1, lz4Skip; ; misses++ {
		ahead := pos + step
		if ahead > end+1 {
			return -1, 0
		}
		step = misses / lz4Skip
		h := lz4FastHash(src, pos)
		candidate = int(f.table[h])
		f.table[h] = uint16(pos)
		if load32(src, candidate) == load32(src, pos) {
			return pos, candidate
		}
		pos = ahead
	}
}
