package probe

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"unsafe"
)

const page = 4 * kib // of data: every one has a number of its own

// stamps numbers the pages of data that this process writes, all workers together.
var stamps atomic.Uint64

// pool is random data to write from, of one worker. No two blocks that it hands
// out are equal, though it holds far less than is written.
type pool struct {
	data []byte
	at   int
	seed uint64
}

// newPool has room for at least two blocks, and takes a sixteenth of size, up to 16
// MiB: four workers hold 64 MiB.
func newPool(block int, size int64) *pool {
	n := max(2*block, int(min(size/16, 16*mib)))
	p := &pool{data: aligned(roundUp(n, page))}
	p.seed = rand.Uint64()
	fillRandom(p.data)
	return p
}

func fillRandom(b []byte) {
	var seed [32]byte
	for i := 0; i < len(seed); i += 8 {
		binary.LittleEndian.PutUint64(seed[i:], rand.Uint64())
	}
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
}

// next is a block of n bytes that starts at a page of memory. It is valid until
// the pool has gone round.
func (p *pool) next(n int) []byte {
	if p.at+n > len(p.data) {
		// Begin elsewhere in each round, so that pages do not meet the same neighbours.
		p.seed = p.seed*6364136223846793005 + 1442695040888963407
		room := (len(p.data)-n)/page + 1
		p.at = int(p.seed>>33) % min(room, 16) * page
	}
	b := p.data[p.at : p.at+n]
	p.at += roundUp(n, page)
	stamp(b)
	return b
}

// copyTo fills a block with data, as dd fills its own by reading.
func (p *pool) copyTo(b []byte) {
	for at := 0; at < len(b); {
		if p.at >= len(p.data) {
			p.at = 0
		}
		n := copy(b[at:], p.data[p.at:])
		p.at += roundUp(n, page)
		at += n
	}
	stamp(b)
}

// stamp numbers every page of b, and what is left behind the last whole one.
func stamp(b []byte) {
	n := uint64((len(b) + page - 1) / page)
	id := stamps.Add(n) - n
	for ; len(b) >= 8; b = b[min(page, len(b)):] {
		id++
		binary.LittleEndian.PutUint64(b, id)
	}
}

// aligned is memory that starts at a page, which suits every device's direct I/O.
func aligned(n int) []byte {
	b := make([]byte, n+page)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (page - 1))
	return b[skip : skip+n : skip+n]
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
