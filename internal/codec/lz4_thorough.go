package codec

const (
	lz4ThoroughBits = 15

	// lz4Enough is the length of a match that is taken without asking whether
	// shorter ones would do better.
	lz4Enough = 128
)

// lz4Thorough finds the longest match at each position among so many candidates,
// and then the cheapest way through the block.
type lz4Thorough struct {
	depth int
	head  [1 << lz4ThoroughBits]int32 // the newest position of a hash, plus 1
	chain [lz4Block]uint16            // by position: how far before it the one with the same hash is; 0: none
	steps [lz4Block + 1]lz4Step       // by position: the cheapest way to it
}

// lz4Step is the last step on the cheapest way to a position.
type lz4Step struct {
	cost     int32  // bytes from the beginning
	length   uint32 // of the match that ends here; 1: a literal
	offset   uint16
	literals uint32 // without a match before here, this one included
}

func (t *lz4Thorough) block(dst, src []byte) []byte {
	end := len(src) - lz4Margin
	if end <= 0 {
		return lz4Sequence(dst, src, 0, 0)
	}
	clear(t.head[:])
	t.prepare(len(src))
	for pos := 0; pos < len(src); pos++ {
		t.literal(pos)
		if pos > end {
			continue
		}
		candidate, length := t.longest(src, pos)
		if length < lz4MinMatch {
			continue
		}
		shortest := lz4MinMatch
		if length >= lz4Enough {
			shortest = length
		}
		for n := shortest; n <= length; n++ {
			t.match(pos, n, pos-candidate)
		}
		if length >= lz4Enough { // the way leads through this match
			for next := pos + 1; next < pos+length; next++ {
				if next <= end {
					t.insert(src, next)
				}
			}
			pos += length - 1
		}
	}
	return t.write(dst, src)
}

func (t *lz4Thorough) prepare(n int) {
	t.steps[0] = lz4Step{}
	for i := 1; i <= n; i++ {
		t.steps[i].cost = 1 << 30
	}
}

// literal goes one byte on.
func (t *lz4Thorough) literal(pos int) {
	here, next := &t.steps[pos], &t.steps[pos+1]
	run := here.literals + 1
	cost := here.cost + 1
	if run >= 15 && (run-15)%255 == 0 {
		cost++
	}
	if cost < next.cost {
		*next = lz4Step{cost: cost, length: 1, literals: run}
	}
}

// match goes so many bytes on.
func (t *lz4Thorough) match(pos, length, offset int) {
	cost := t.steps[pos].cost + 3 // token and offset
	if n := length - lz4MinMatch - 15; n >= 0 {
		cost += int32(1 + n/255)
	}
	if next := &t.steps[pos+length]; cost <= next.cost {
		*next = lz4Step{cost: cost, length: uint32(length), offset: uint16(offset)}
	}
}

// insert enters a position and returns the newest one with the same hash, or -1.
func (t *lz4Thorough) insert(src []byte, pos int) int {
	h := load32(src, pos) * lz4Prime >> (32 - lz4ThoroughBits)
	old := int(t.head[h]) - 1
	t.head[h] = int32(pos + 1)
	t.chain[pos] = 0
	if old >= 0 {
		t.chain[pos] = uint16(pos - old)
	}
	return old
}

func (t *lz4Thorough) longest(src []byte, pos int) (candidate, length int) {
	best := lz4MinMatch - 1
	c := t.insert(src, pos)
	for tries := t.depth; c >= 0 && tries > 0; tries-- {
		if pos+best < len(src)-lz4Tail && src[c+best] == src[pos+best] && load32(src, c) == load32(src, pos) {
			if n := lz4Match(src, c, pos); n > best {
				best, candidate = n, c
			}
		}
		if t.chain[c] == 0 {
			break
		}
		c -= int(t.chain[c])
	}
	return candidate, best
}

// write appends the cheapest way.
func (t *lz4Thorough) write(dst, src []byte) []byte {
	// Turned around: each step on the way gets the length of the one that follows.
	next, offset := uint32(0), uint16(0)
	for pos := len(src); ; {
		s := &t.steps[pos]
		length, from := s.length, s.offset
		s.length, s.offset = next, offset
		if pos == 0 {
			break
		}
		next, offset = length, from
		pos -= int(length)
	}
	written := 0
	for pos := 0; pos < len(src); {
		s := t.steps[pos]
		if s.length > 1 {
			dst = lz4Sequence(dst, src[written:pos], int(s.offset), int(s.length))
			written = pos + int(s.length)
		}
		pos += int(s.length)
	}
	return lz4Sequence(dst, src[written:], 0, 0)
}
