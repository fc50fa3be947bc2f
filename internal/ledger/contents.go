package ledger

import (
	"hash/maphash"
	"iter"
	"sync"
)

// contents are the different values of a run's records that were read, as hashes. The header of a batch names its producer.
// So a record of another producer that holds such a value is a copy. A pool of batches has few different values.
type contents struct {
	seed   maphash.Seed
	mu     sync.Mutex          // guards the rest
	begun  map[uint64]int64    // batches by their first value: how many of their values are known
	values map[uint64]struct{} // known ones
	others int                 // values of other producers, in the strangers of all logs
}

// hashed is how many bytes of a value are looked at.
const hashed = 4 << 10

// maxValues bounds each set of values: some 10 MB.
const maxValues = 1 << 18

// contents returns nothing yet; nil if the values of the book may be those of other runs, or if some of its producers are forgotten.
func (b *Book) contents() *contents {
	for i := range b.Lanes {
		if b.Lanes[i].Forgotten > 0 {
			return nil
		}
	}
	if !b.OwnValues {
		return nil
	}
	return &contents{seed: maphash.MakeSeed(), begun: make(map[uint64]int64), values: make(map[uint64]struct{})}
}

// AddValues accounts for the values of a batch's records, at the offsets from from on. values has offsets and values, in order.
// Call it once for a batch, beside AddBatch. The log must be locked.
func (l *Log) AddValues(b *Batch, from int64, values iter.Seq2[int64, []byte]) {
	ours := l.tracks[source{b.ProducerID, b.ProducerEpoch}] != nil
	c := l.contents
	if c == nil {
		if !ours {
			l.uncompared += b.Offset + b.Records - max(from, b.Offset)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := true
	for offset, value := range values {
		h := maphash.Bytes(c.seed, value[:min(len(value), hashed)])
		_, known := c.values[h]
		switch {
		case ours && first && (c.begun[h] >= b.Records || len(c.begun) == maxValues):
			return
		case ours:
			if first {
				c.begun[h] = b.Records
			}
			if len(c.values) < maxValues {
				c.values[h] = struct{}{}
			}
		case offset < from:
		case known:
			l.copied++
		case l.strangers[h] > 0 || c.others < maxValues:
			if l.strangers == nil {
				l.strangers = make(map[uint64]int64)
			}
			if l.strangers[h] == 0 {
				c.others++
			}
			l.strangers[h]++ // the run's record may come behind it, or lie in another partition
		default:
			l.uncompared++
		}
		first = false
	}
}

// copies returns how many records of other producers hold values of the run's.
func (l *Log) copies() int64 {
	n := l.copied
	if len(l.strangers) > 0 {
		l.contents.mu.Lock()
		defer l.contents.mu.Unlock()
	}
	for h, records := range l.strangers {
		if _, ours := l.contents.values[h]; ours {
			n += records
		}
	}
	return n
}
