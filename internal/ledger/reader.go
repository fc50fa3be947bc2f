package ledger

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Reader is the result of one reading of a topic: by one consumer group, or by one
// set of readers that share the partitions among them. Any goroutine may use it.
type Reader struct {
	run    uint64
	limit  int              // of the gaps of a lane
	tracks map[int32]tracks // of a book with Headers, by partition; nil: records have stamps
	values *contents        // of all partitions; nil: they are not compared
	mirror bool
	homes  map[int32]*Log // of a repartitioned mirror: the records, by partition of the source; nil: the logs have them

	mu   sync.Mutex
	logs map[int32]*Log
}

// NewReader returns an empty account of a reading that looks for the records of a book. If that has Headers, it
// must be complete.
func NewReader(b *Book) *Reader {
	r := &Reader{run: b.Run, limit: maxRanges, logs: make(map[int32]*Log)}
	if b.Headers {
		r.tracks, r.values = b.tracks(), b.contents()
	}
	if r.mirror = b.Mirror; b.Repartitioned {
		r.homes = make(map[int32]*Log)
		for number := range b.mirror().Partitions {
			home := newLog(b.Run, int32(number), maxRanges)
			home.Shared(false)
			r.homes[int32(number)] = home
		}
	}
	return r
}

// Headers reports whether records are known by the headers of their batches, and not by stamps.
func (r *Reader) Headers() bool { return r.tracks != nil }

// Mirror reports whether copies of a book's topics are read.
func (l *Log) Mirror() bool { return l.mirror }

// Log returns the account of a partition. It is always the same one, whichever consumer
// reads the partition.
func (r *Reader) Log(partition int32) *Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.logs[partition]
	if l == nil {
		l = newLog(r.run, partition, r.limit)
		l.tracks, l.contents, l.mirror, l.homes = r.tracks[partition], r.values, r.mirror, r.homes
		r.logs[partition] = l
	}
	return l
}

// Begin sets the first offset that can be read of a partition: the start of its log, or of the
// reading. Records before it are unchecked and not lost. Call it before the first record, and
// again whenever the log's start may have moved past unread offsets.
func (r *Reader) Begin(partition int32, first int64) {
	l := r.Log(partition)
	l.Lock()
	defer l.Unlock()
	switch {
	case l.begin < 0 && l.last < 0:
		l.begin = first
	case first > max(l.begin, l.nextOffset()):
		l.skipped = max(l.skipped, first)
	}
}

// Unfinished notes that records that were passed over are unchecked and not lost. A queue that was not read until it was empty
// may still give them out, and compaction may have taken them from a log.
func (r *Reader) Unfinished(partition int32) {
	l := r.Log(partition)
	l.Lock()
	defer l.Unlock()
	l.unfinished = true
}

// ReadTo says how far a partition was read: next is the offset that would be read
// next, and logEnd where the log ends for good, after the run; -1 if that is not
// known. Acknowledged records that may lie at offsets that were not reached are
// unchecked; those that should lie beyond the end of the log are lost.
func (r *Reader) ReadTo(partition int32, next, logEnd int64) {
	l := r.Log(partition)
	l.Lock()
	defer l.Unlock()
	l.next = max(l.next, next)
	if logEnd >= 0 {
		l.end = logEnd
	}
}

// Batch is the header of a batch of records as it was read.
type Batch struct {
	Offset        int64 // of its first record
	Records       int64
	Whole         bool  // each offset up to the last record's has a record
	Intact        bool  // its checksum fits
	Epoch         int32 // of the leader that wrote it, -1: not known
	ProducerID    int64 // -1: of a producer without idempotence
	ProducerEpoch int16
	Sequence      int32 // of its first record
	Millis        int64 // timestamp of its first record
}

// AddBatch accounts for those records of a batch whose offsets are from from to before to. Its header says which
// records they are, so the book must have Headers. The log must be locked.
func (l *Log) AddBatch(b *Batch, from, to int64) {
	if from <= l.last {
		if b.Epoch <= l.epoch || l.epoch < 0 { // as in Add
			again := min(to, l.last+1)
			l.counts.Redelivered += again - from
			if from = again; from == to {
				return
			}
		} else {
			l.counts.Rewritten++
			l.cut = true
		}
	}
	l.reach(to-1, b.Epoch)
	t := l.tracks[source{b.ProducerID, b.ProducerEpoch}]
	switch {
	case !b.Intact:
		l.counts.Corrupted += to - from
		return
	case t != nil && !b.Whole: // records are missing, and the header does not say which
		l.holed += to - from
		return
	case t == nil:
		l.counts.Unstamped += to - from
		return
	}
	next := int64(0)
	if lane := l.lane(t.producer); lane != nil {
		next = lane.next
	}
	first, ok := t.number(b.Sequence, b.Records, next)
	if !ok {
		l.counts.Unstamped += to - from
		return
	}
	first += from - b.Offset
	l.number(t.producer, first, first+to-from, from, b.Millis*1e6)
}

// contents are the different values of a run that were read, as hashes: a record of another producer with such a value is a copy.
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

// contents returns nothing yet; nil if the values of the book may be those of other runs, or if some of its producers are forgotten
// or may have come after it was cut off.
func (b *Book) contents() *contents {
	if !b.OwnValues || !b.CutAt.IsZero() || slices.ContainsFunc(b.Lanes, func(l Lane) bool { return l.Forgotten > 0 }) {
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
			l.counts.Uncompared += b.Offset + b.Records - max(from, b.Offset)
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
			l.counts.Uncompared++
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

// Number names a record of a run within a queue.
type Number struct {
	Producer uint16
	Seq      int64
}

// returns are the records that a queue may give out again. A copy is excused only if the first one was read on a connection that
// was lost, and the system may not have had its acknowledgement.
type returns struct {
	owed        map[Number]int64 // records that were read, and the number of the loss
	outstanding int64            // how many records may come behind others, which were on their way when a connection was lost
	lost        int64            // connections
}

// maxOwed bounds the memory for lost connections: some 5 MB for a queue. The records of the oldest losses are forgotten first.
const maxOwed = 100_000

// Returned notes that a reader lost its connection. It had read the records last, and the system may not have had their
// acknowledgements. most is how many the system sends without one: so many at most were on their way, and may come
// behind later ones.
func (l *Log) Returned(last []Number, most int) {
	l.Lock()
	defer l.Unlock()
	if l.owed == nil {
		l.owed = make(map[Number]int64)
	}
	l.lost++
	for _, n := range last {
		l.owed[n] = l.lost
	}
	for oldest := int64(1); len(l.owed) > maxOwed && oldest < l.lost; oldest++ {
		maps.DeleteFunc(l.owed, func(_ Number, loss int64) bool { return loss <= oldest })
	}
	for _, lane := range l.lanes {
		if lane == nil {
			continue
		}
		if lane.given = lane.atLoss; l.lost == 1 {
			lane.given = lane.next
		}
		lane.atLoss = lane.next
	}
	l.outstanding = min(l.outstanding+int64(most), 2*int64(most)) // records of the connection before may still come
}
