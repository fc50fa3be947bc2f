package ledger

import "sync"

// Reader is the result of one reading of a topic: by one consumer group, or by one
// set of readers that share the partitions among them. Any goroutine may use it.
type Reader struct {
	run    uint64
	limit  int              // of the gaps of a lane
	tracks map[int32]tracks // of a book with Headers, by partition; nil: records have stamps
	values *contents        // of all partitions; nil: they are not compared

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
	return r
}

// Headers reports whether records are known by the headers of their batches, and not by stamps.
func (r *Reader) Headers() bool { return r.tracks != nil }

// Log returns the account of a partition. It is always the same one, whichever consumer
// reads the partition.
func (r *Reader) Log(partition int32) *Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.logs[partition]
	if l == nil {
		l = newLog(r.run, partition, r.limit)
		l.tracks, l.contents = r.tracks[partition], r.values
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
