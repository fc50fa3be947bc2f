package codec

import (
	"math/bits"
	"slices"
)

// codeTable holds a Huffman code.
type codeTable struct {
	length [288]byte
	code   [288]uint16 // with its bits in the order in which they are written
}

// assign derives the codes from the lengths.
func (t *codeTable) assign(n int) {
	var count, next [maxCodeBits + 1]uint16
	for _, l := range t.length[:n] {
		count[l]++
	}
	count[0] = 0
	for b := 1; b <= maxCodeBits; b++ {
		next[b] = (next[b-1] + count[b-1]) << 1
	}
	for i, l := range t.length[:n] {
		if l > 0 {
			t.code[i] = bits.Reverse16(next[l]) >> (16 - l)
			next[l]++
		}
	}
}

// treeBuilder makes Huffman codes of limited length.
type treeBuilder struct {
	leaves []leaf
	weight []uint32 // of inner nodes
	parent []int32  // of leaves and inner nodes
}

type leaf struct {
	weight uint32
	symbol uint16
}

// build sets the lengths and codes of t from how often each symbol is needed. At
// least two symbols get a code, as decoders expect it.
func (tb *treeBuilder) build(weights []uint32, limit int, t *codeTable) {
	clear(t.length[:])
	tb.leaves = tb.leaves[:0]
	for i, w := range weights {
		if w > 0 {
			tb.leaves = append(tb.leaves, leaf{w, uint16(i)})
		}
	}
	for i := 0; len(tb.leaves) < 2; i++ {
		if weights[i] == 0 {
			tb.leaves = append(tb.leaves, leaf{1, uint16(i)})
		}
	}
	slices.SortFunc(tb.leaves, func(a, b leaf) int {
		if a.weight != b.weight {
			return int(a.weight) - int(b.weight)
		}
		return int(a.symbol) - int(b.symbol)
	})
	var count [maxCodeBits + 1]int // of codes by length
	for i := range tb.depths() {
		d := tb.parent[i] // its depth, by now
		count[min(int(d), limit)]++
	}
	limitLengths(count[:limit+1])
	i := 0
	for b := limit; b > 0; b-- { // the rarest symbols are first, and get the longest codes
		for range count[b] {
			t.length[tb.leaves[i].symbol] = byte(b)
			i++
		}
	}
	t.assign(len(weights))
}

// depths makes the tree. It returns how many leaves there are; their depths are
// in parent.
func (tb *treeBuilder) depths() int {
	n := len(tb.leaves)
	tb.weight = tb.weight[:0]
	tb.parent = slices.Grow(tb.parent[:0], 2*n)[:2*n-1]
	leaf, inner := 0, 0
	least := func() (node int32, weight uint32) {
		if inner == len(tb.weight) || leaf < n && tb.leaves[leaf].weight <= tb.weight[inner] {
			leaf++
			return int32(leaf - 1), tb.leaves[leaf-1].weight
		}
		inner++
		return int32(n + inner - 1), tb.weight[inner-1]
	}
	for len(tb.weight) < n-1 {
		a, wa := least()
		b, wb := least()
		node := int32(n + len(tb.weight))
		tb.parent[a], tb.parent[b] = node, node
		tb.weight = append(tb.weight, wa+wb)
	}
	root := 2*n - 2
	tb.parent[root] = 0
	for i := root - 1; i >= 0; i-- { // a parent has a higher number: its depth is known
		tb.parent[i] = tb.parent[tb.parent[i]] + 1
	}
	return n
}

// limitLengths moves codes until those that were cut to the greatest length fit
// beside the others.
func limitLengths(count []int) {
	limit := len(count) - 1
	space := 0 // in units of the longest codes
	for b := 1; b <= limit; b++ {
		space += count[b] << (limit - b)
	}
	for ; space > 1<<limit; space-- {
		b := limit - 1
		for count[b] == 0 {
			b--
		}
		count[b]--
		count[b+1] += 2 // one moves down and makes room for one from the end
		count[limit]--
	}
}
