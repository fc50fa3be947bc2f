package codec

const lz4QuickBits = 14

// lz4Quick looks for long matches first and then for short ones, with one candidate
// for each, as levels 1 and 2 of lz4 1.10 do.
type lz4Quick struct {
	long  [1 << lz4QuickBits]uint16 // the newest position of a hash of seven bytes
	short [1 << lz4QuickBits]uint16 // of four
}

func lz4LongHash(src []byte, i int) uint32 {
	return uint32(load64(src, i) << 8 * 58295818150454627 >> (64 - lz4QuickBits))
}

func lz4ShortHash(src []byte, i int) uint32 { return load32(src, i) * lz4Prime >> (32 - lz4QuickBits) }

func (q *lz4Quick) block(dst, src []byte) []byte {
	clear(q.long[:])
	clear(q.short[:])
	end := len(src) - lz4Margin
	written := 0
	for pos := 1; pos <= end; {
		at, candidate, length := q.find(src, pos, end)
		if length < lz4MinMatch {
			pos += 1 + (pos-written)>>9
			continue
		}
		back, start := lz4Extend(src, candidate, at, written)
		length += at - start
		dst = lz4Sequence(dst, src[written:start], start-back, length)
		q.enter(src, pos+1, end)
		q.enterLong(src, pos+2, end)
		pos = start + length
		written = pos
		q.enterLong(src, pos-5, end)
		q.enterLong(src, pos-3, end)
		q.enter(src, pos-2, end)
		q.enterShort(src, pos-1, end)
	}
	return lz4Sequence(dst, src[written:], 0, 0)
}

// find returns the match at a position or, if only a short one is there, perhaps
// that at the next.
func (q *lz4Quick) find(src []byte, pos, end int) (at, candidate, length int) {
	h := lz4LongHash(src, pos)
	candidate = int(q.long[h])
	q.long[h] = uint16(pos)
	if length = lz4Match(src, candidate, pos); length >= lz4MinMatch {
		q.short[lz4ShortHash(src, pos)] = uint16(pos)
		return pos, candidate, length
	}
	h = lz4ShortHash(src, pos)
	candidate = int(q.short[h])
	q.short[h] = uint16(pos)
	if length = lz4Match(src, candidate, pos); length < lz4MinMatch || pos == end {
		return pos, candidate, length
	}
	h = lz4LongHash(src, pos+1)
	other := int(q.long[h])
	if n := lz4Match(src, other, pos+1); n > length && other <= pos {
		q.long[h] = uint16(pos + 1)
		return pos + 1, other, n
	}
	return pos, candidate, length
}

func (q *lz4Quick) enter(src []byte, pos, end int) {
	q.enterLong(src, pos, end)
	q.enterShort(src, pos, end)
}

func (q *lz4Quick) enterLong(src []byte, pos, end int) {
	if pos <= end {
		q.long[lz4LongHash(src, pos)] = uint16(pos)
	}
}

func (q *lz4Quick) enterShort(src []byte, pos, end int) {
	if pos <= end {
		q.short[lz4ShortHash(src, pos)] = uint16(pos)
	}
}
