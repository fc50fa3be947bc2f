package codec

import (
	"encoding/binary"
)

const (
	literalCodes  = 286 // bytes, the end of a block, and 29 classes of length
	distanceCodes = 30
	lengthCodes   = 19 // of the code lengths themselves

	endOfBlock = 256

	maxCodeBits       = 15
	maxLengthCodeBits = 7

	maxStored = 65535
)

// Code lengths are sent in this order, so that rare ones come last and can be left out.
var lengthOrder = [lengthCodes]byte{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// class is a range of lengths or distances that share a code.
type class struct {
	base int
	bits uint // extra bits that tell which one of the range
}

var (
	lengthClasses   [literalCodes - endOfBlock - 1]class
	distanceClasses [distanceCodes]class
	lengthClass     [maxMatch + 1]byte // by length
	nearClass       [256]byte          // by distance-1
	farClass        [256]byte          // by (distance-1)/128

	fixedLiteral  codeTable
	fixedDistance codeTable
)

func init() {
	length := minMatch
	for i := range lengthClasses {
		extra := uint(0)
		if i >= 8 {
			extra = uint(i-4) / 4
		}
		lengthClasses[i] = class{length, extra}
		for range 1 << extra {
			if length <= maxMatch {
				lengthClass[length] = byte(i)
			}
			length++
		}
	}
	last := len(lengthClasses) - 1
	lengthClasses[last], lengthClass[maxMatch] = class{maxMatch, 0}, byte(last)
	distance := 0
	for i := range distanceClasses {
		extra := uint(0)
		if i >= 4 {
			extra = uint(i-2) / 2
		}
		distanceClasses[i] = class{distance, extra}
		for range 1 << extra {
			if distance < 256 {
				nearClass[distance] = byte(i)
			} else {
				farClass[distance>>7] = byte(i)
			}
			distance++
		}
	}
	for i := range fixedLiteral.length[:288] {
		switch {
		case i < 144 || i >= 280:
			fixedLiteral.length[i] = 8
		case i < 256:
			fixedLiteral.length[i] = 9
		default:
			fixedLiteral.length[i] = 7
		}
	}
	fixedLiteral.assign(288)
	for i := range distanceCodes {
		fixedDistance.length[i] = 5
	}
	fixedDistance.assign(distanceCodes)
}

func distanceClass(distance int) int {
	if d := distance - 1; d < 256 {
		return int(nearClass[d])
	}
	return int(farClass[(distance-1)>>7])
}

// token is a literal (distance 0) or a match.
type token struct {
	distance uint16
	value    uint16 // the byte, or the length
}

// huffmanBlock collects tokens and writes them as blocks of deflate.
type huffmanBlock struct {
	tokens []token

	literals  [literalCodes]uint32 // how often each code is needed
	distances [distanceCodes]uint32
	lengths   [lengthCodes]uint32

	literal, distance, codeLength codeTable

	runs []token // the code lengths, run-length coded: value is the code, distance its extra bits
	tree treeBuilder

	out  []byte
	acc  uint64
	nacc uint
}

func (b *huffmanBlock) start(dst []byte) {
	b.out, b.acc, b.nacc = dst, 0, 0
	b.reset()
}

func (b *huffmanBlock) reset() {
	b.tokens = b.tokens[:0]
	clear(b.literals[:])
	clear(b.distances[:])
}

// addLiteral adds a byte and reports whether the block is full.
func (b *huffmanBlock) addLiteral(c byte) (full bool) {
	b.tokens = append(b.tokens, token{value: uint16(c)})
	b.literals[c]++
	return len(b.tokens) == blockTokens
}

// addMatch adds a match and reports whether the block is full.
func (b *huffmanBlock) addMatch(distance, length int) (full bool) {
	b.tokens = append(b.tokens, token{distance: uint16(distance), value: uint16(length)})
	b.literals[endOfBlock+1+int(lengthClass[length])]++
	b.distances[distanceClass(distance)]++
	return len(b.tokens) == blockTokens
}

// write writes the tokens, which stand for src, in the shortest of three forms,
// and begins the next block.
func (b *huffmanBlock) write(src []byte, last bool) {
	b.literals[endOfBlock] = 1
	dynamicBits := b.plan()
	fixedBits := b.cost(&fixedLiteral, &fixedDistance)
	dynamicBytes, fixedBytes := (dynamicBits+10)/8, (fixedBits+10)/8
	final := uint64(0)
	if last {
		final = 1
	}
	switch {
	case len(src)+4 <= min(dynamicBytes, fixedBytes) && len(src) <= maxStored:
		b.put(final, 3)
		b.store(src)
	case fixedBytes <= dynamicBytes:
		b.put(1<<1|final, 3)
		b.putTokens(&fixedLiteral, &fixedDistance)
	default:
		b.put(2<<1|final, 3)
		b.putTables()
		b.putTokens(&b.literal, &b.distance)
	}
	b.reset()
}

// plan makes the codes for the block and returns how many bits it takes with them.
func (b *huffmanBlock) plan() int {
	b.tree.build(b.literals[:], maxCodeBits, &b.literal)
	b.tree.build(b.distances[:], maxCodeBits, &b.distance)
	b.runs = b.runs[:0]
	clear(b.lengths[:])
	b.run(b.literal.length[:b.literalCount()])
	b.run(b.distance.length[:b.distanceCount()])
	b.tree.build(b.lengths[:], maxLengthCodeBits, &b.codeLength)
	size := 5 + 5 + 4 + 3*b.lengthCount()
	for _, r := range b.runs {
		size += int(b.codeLength.length[r.value]) + runBits(r.value)
	}
	return size + b.cost(&b.literal, &b.distance)
}

func (b *huffmanBlock) literalCount() int { return used(b.literal.length[:literalCodes], endOfBlock+1) }

func (b *huffmanBlock) distanceCount() int { return used(b.distance.length[:distanceCodes], 1) }

func (b *huffmanBlock) lengthCount() int {
	n := lengthCodes
	for n > 4 && b.codeLength.length[lengthOrder[n-1]] == 0 {
		n--
	}
	return n
}

// used returns how many codes must be sent, at least the given number.
func used(lengths []byte, least int) int {
	n := len(lengths)
	for n > least && lengths[n-1] == 0 {
		n--
	}
	return n
}

// cost returns how many bits the tokens take.
func (b *huffmanBlock) cost(literal, distance *codeTable) int {
	n := 0
	for i, f := range b.literals {
		n += int(f) * int(literal.length[i])
		if i > endOfBlock {
			n += int(f) * int(lengthClasses[i-endOfBlock-1].bits)
		}
	}
	for i, f := range b.distances {
		n += int(f) * (int(distance.length[i]) + int(distanceClasses[i].bits))
	}
	return n
}

// run codes lengths: 16 repeats the one before 3 to 6 times, 17 and 18 are 3 to
// 10 and 11 to 138 zeros.
func (b *huffmanBlock) run(lengths []byte) {
	for i := 0; i < len(lengths); {
		l, n := lengths[i], 1
		for i+n < len(lengths) && lengths[i+n] == l {
			n++
		}
		i += n
		if l > 0 {
			b.addRun(uint16(l), 0)
			n--
		}
		for n >= 3 {
			switch {
			case l > 0:
				m := min(n, 6)
				b.addRun(16, m-3)
				n -= m
			case n <= 10:
				b.addRun(17, n-3)
				n = 0
			default:
				m := min(n, 138)
				b.addRun(18, m-11)
				n -= m
			}
		}
		for ; n > 0; n-- {
			b.addRun(uint16(l), 0)
		}
	}
}

func (b *huffmanBlock) addRun(code uint16, extra int) {
	b.lengths[code]++
	b.runs = append(b.runs, token{distance: uint16(extra), value: code})
}

func runBits(code uint16) int {
	switch code {
	case 16:
		return 2
	case 17:
		return 3
	case 18:
		return 7
	}
	return 0
}

func (b *huffmanBlock) putTables() {
	n := b.lengthCount()
	b.put(uint64(b.literalCount()-endOfBlock-1), 5)
	b.put(uint64(b.distanceCount()-1), 5)
	b.put(uint64(n-4), 4)
	for _, l := range lengthOrder[:n] {
		b.put(uint64(b.codeLength.length[l]), 3)
	}
	for _, r := range b.runs {
		b.put(uint64(b.codeLength.code[r.value]), uint(b.codeLength.length[r.value]))
		b.put(uint64(r.distance), uint(runBits(r.value)))
	}
}

func (b *huffmanBlock) putTokens(literal, distance *codeTable) {
	for _, t := range b.tokens {
		if t.distance == 0 {
			b.put(uint64(literal.code[t.value]), uint(literal.length[t.value]))
			continue
		}
		l := int(lengthClass[t.value])
		c := lengthClasses[l]
		b.put(uint64(literal.code[endOfBlock+1+l]), uint(literal.length[endOfBlock+1+l]))
		b.put(uint64(int(t.value)-c.base), c.bits)
		d := distanceClass(int(t.distance))
		c = distanceClasses[d]
		b.put(uint64(distance.code[d]), uint(distance.length[d]))
		b.put(uint64(int(t.distance)-1-c.base), c.bits)
	}
	b.put(uint64(literal.code[endOfBlock]), uint(literal.length[endOfBlock]))
}

// put writes n bits of v, the lowest first; n is at most 32.
func (b *huffmanBlock) put(v uint64, n uint) {
	b.acc |= v << b.nacc
	b.nacc += n
	if b.nacc >= 32 {
		b.out = binary.LittleEndian.AppendUint32(b.out, uint32(b.acc))
		b.acc >>= 32
		b.nacc -= 32
	}
}

// align fills the last byte.
func (b *huffmanBlock) align() {
	for n := b.nacc; n > 0; n -= min(n, 8) {
		b.out = append(b.out, byte(b.acc))
		b.acc >>= 8
	}
	b.acc, b.nacc = 0, 0
}

func (b *huffmanBlock) store(src []byte) {
	b.align()
	b.out = binary.LittleEndian.AppendUint16(b.out, uint16(len(src)))
	b.out = binary.LittleEndian.AppendUint16(b.out, ^uint16(len(src)))
	b.out = append(b.out, src...)
}

// finish returns everything that was written.
func (b *huffmanBlock) finish() []byte {
	b.align()
	out := b.out
	b.out = nil
	return out
}
