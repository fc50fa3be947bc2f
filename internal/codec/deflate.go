package codec

import "math/bits"

// The search for matches follows zlib's deflate.c decision by decision, because
// its choices are what the size depends on: it takes matches of three bytes, which
// Go's libraries do not look for.

const (
	minMatch = 3
	maxMatch = 258

	windowSize = 32 << 10
	windowMask = windowSize - 1
	maxDist    = windowSize - (maxMatch + minMatch + 1) // zlib keeps room for one more match

	hashBits = 15
	hashMask = 1<<hashBits - 1

	// tooFar is the distance beyond which a match of three bytes costs more
	// than its literals.
	tooFar = 4096

	// blockTokens is how many literals and matches share Huffman codes.
	blockTokens = 1<<14 - 1
)

// deflateLevel says how hard to search.
type deflateLevel struct {
	good  int  // a match so long needs only a quarter of the chain for a better one
	lazy  int  // a match so long is taken without a look at the next byte; of greedy levels: whose bytes are entered in the table
	nice  int  // a match so long ends the search
	chain int  // candidates to try
	slow  bool // tries the next byte before it takes a match
}

// deflateLevels are zlib's, by level.
var deflateLevels = [10]deflateLevel{
	1: {good: 4, lazy: 4, nice: 8, chain: 4},
	2: {good: 4, lazy: 5, nice: 16, chain: 8},
	3: {good: 4, lazy: 6, nice: 32, chain: 32},
	4: {good: 4, lazy: 4, nice: 16, chain: 16, slow: true},
	5: {good: 8, lazy: 16, nice: 32, chain: 32, slow: true},
	6: {good: 8, lazy: 16, nice: 128, chain: 128, slow: true},
	7: {good: 8, lazy: 32, nice: 128, chain: 256, slow: true},
	8: {good: 32, lazy: 128, nice: 258, chain: 1024, slow: true},
	9: {good: 32, lazy: 258, nice: 258, chain: 4096, slow: true},
}

// deflater compresses one batch at a time.
type deflater struct {
	deflateLevel
	src  []byte
	head [1 << hashBits]int32 // the newest position of a hash; 0: none, as in zlib, which never matches position 0
	prev [windowSize]int32    // by position in the window: the position before it with the same hash

	block      huffmanBlock
	blockStart int // in src
}

func (d *deflater) deflate(dst, src []byte) []byte {
	d.src, d.blockStart = src, 0
	clear(d.head[:])
	d.block.start(dst)
	if d.slow {
		d.searchLazy()
	} else {
		d.searchGreedy()
	}
	d.flush(len(src), true)
	d.src = nil
	return d.block.finish()
}

// insert enters a position in the table and returns the newest one with the same hash.
func (d *deflater) insert(pos int) int {
	b := d.src[pos : pos+minMatch : pos+minMatch]
	h := (uint32(b[0])<<10 ^ uint32(b[1])<<5 ^ uint32(b[2])) & hashMask
	old := d.head[h]
	d.prev[pos&windowMask] = old
	d.head[h] = int32(pos)
	return int(old)
}

// longest searches from a candidate backwards for a match longer than best.
func (d *deflater) longest(pos, candidate, best int) (length, start int) {
	src, chain := d.src, d.chain
	if best >= d.good {
		chain >>= 2
	}
	ahead := min(len(src)-pos, maxMatch)
	nice := min(d.nice, ahead)
	limit := max(pos-maxDist, 0)
	for pos+best < len(src) {
		if src[candidate+best] == src[pos+best] && src[candidate+best-1] == src[pos+best-1] && src[candidate] == src[pos] {
			n := matchLength(src[candidate:], src[pos:pos+ahead])
			if n > best {
				best, start = n, candidate
				if n >= nice {
					break
				}
			}
		}
		candidate = int(d.prev[candidate&windowMask])
		chain--
		if candidate <= limit || chain == 0 {
			break
		}
	}
	return min(best, len(src)-pos), start
}

// searchGreedy takes the best match at each position: levels 1 to 3.
func (d *deflater) searchGreedy() {
	src := d.src
	for pos := 0; pos < len(src); {
		length, start := 0, 0
		if len(src)-pos >= minMatch {
			if c := d.insert(pos); c != 0 && pos-c <= maxDist {
				length, start = d.longest(pos, c, minMatch-1)
			}
		}
		if length < minMatch {
			d.literal(pos)
			pos++
			continue
		}
		end := pos + length
		d.match(pos-start, length, end)
		if length <= d.lazy && len(src)-end >= minMatch {
			for pos++; pos < end; pos++ {
				d.insert(pos)
			}
		}
		pos = end
	}
}

// searchLazy takes a match only if there is no longer one a byte later: levels 4 to 9.
func (d *deflater) searchLazy() {
	src := d.src
	length, start := minMatch-1, 0
	pending := false // the byte before pos is still to be written, as a literal or in a match
	for pos := 0; pos < len(src); {
		candidate := 0
		if len(src)-pos >= minMatch {
			candidate = d.insert(pos)
		}
		before, beforeStart := length, start
		length = minMatch - 1
		if candidate != 0 && before < d.lazy && pos-candidate <= maxDist {
			length, start = d.longest(pos, candidate, before)
			if length == minMatch && pos-start > tooFar {
				length = minMatch - 1
			}
		}
		if before >= minMatch && length <= before {
			end := pos - 1 + before
			for pos++; pos < end; pos++ {
				if pos <= len(src)-minMatch {
					d.insert(pos)
				}
			}
			d.match(end-before-beforeStart, before, end)
			pending, length = false, minMatch-1
			continue
		}
		if pending {
			d.literal(pos - 1)
		}
		pending = true
		pos++
	}
	if pending {
		d.literal(len(src) - 1)
	}
}

func (d *deflater) literal(pos int) {
	if d.block.addLiteral(d.src[pos]) {
		d.flush(pos+1, false)
	}
}

func (d *deflater) match(distance, length, end int) {
	if d.block.addMatch(distance, length) {
		d.flush(end, false)
	}
}

// flush writes what was found up to end as a block.
func (d *deflater) flush(end int, last bool) {
	d.block.write(d.src[d.blockStart:end], last)
	d.blockStart = end
}

// matchLength returns how many bytes a and b have in common; a is no shorter than b.
func matchLength(a, b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		if x := load64(a, n) ^ load64(b, n); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
