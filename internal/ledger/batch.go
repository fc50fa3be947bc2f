package ledger

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
			l.redelivered += again - from
			if from = again; from == to {
				return
			}
		} else {
			l.rewritten++
			l.cut = true
		}
	}
	l.reach(to-1, b.Epoch)
	t := l.tracks[source{b.ProducerID, b.ProducerEpoch}]
	switch {
	case !b.Intact:
		l.corrupted += to - from
		return
	case t != nil && !b.Whole: // records are missing, and the header does not say which
		l.holed += to - from
		return
	case t == nil:
		l.unstamped += to - from
		return
	}
	next := int64(0)
	if lane := l.lane(t.producer); lane != nil {
		next = lane.next
	}
	first, ok := t.number(b.Sequence, b.Records, next)
	if !ok {
		l.unstamped += to - from
		return
	}
	first += from - b.Offset
	l.number(t.producer, first, first+to-from, from, b.Millis*1e6)
}
