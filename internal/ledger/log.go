package ledger

import (
	"iter"
	"slices"
	"sync"
	"time"
)

// Log is the records that a reading found in one partition. Take its lock around Add, once for
// a chunk of records, for a partition may be handed from one consumer to another.
// Chunks are added in the order of offsets: a consumer adds records before it commits them.
type Log struct {
	sync.Mutex
	run       uint64
	partition int32
	limit     int       // of the gaps of a lane
	tracks    tracks    // of a book with Headers
	contents  *contents // the same; nil: values are not compared
	shared    bool      // several readers share it: the order in which they get records is not defined
	counted   bool      // the system counts deliveries: a copy with Again is the same record
	returns
	found

	// Of a mirror.
	mirror bool
	homes  map[int32]*Log // of a repartitioned one: the accounts of the source's partitions, which count the records; nil: this log counts its own
	twice  bool           // the log is read again, and the homes may have its records already: they count no more of it
	lags   lags
}

// found is the part of a Log that Again forgets.
type found struct {
	begin   int64 // first offset that could be read, -1: not known
	skipped int64 // some offsets below it were deleted while the reading went on, -1: none
	next    int64 // the offset that would be read next
	end     int64 // where the log ends, -1: not known

	last  int64 // offset read last
	epoch int32 // of the leader that wrote the record read last, -1: not known
	tips  []Tip // of the epochs before that one
	lanes []*readLane

	cut         bool  // the log was cut off below an offset that had been read
	unconfirmed bool  // it is not known whether the log still holds the records read
	unfinished  bool  // records that were passed over are unchecked: see Reader.Unfinished
	passed      int64 // so many missing records at most are unchecked

	counts    Verdict          // the part of the verdict that needs no book
	holed     int64            // corrupted, unless the log was compacted
	copied    int64            // of Unstamped: see AddValues
	strangers map[uint64]int64 // hashes of values of other producers, and how many records have them

	// other is the run of which most of the foreign records are, if more than half
	// are of one; votes is how far it is ahead.
	other uint64
	votes int64
}

// newLog returns the empty account of a partition.
func newLog(run uint64, partition int32, limit int) *Log {
	return &Log{run: run, partition: partition, limit: limit, found: unread(-1)}
}

// unread returns the account of a reading that begins at an offset.
func unread(begin int64) found { return found{begin: begin, skipped: -1, end: -1, last: -1, epoch: -1} }

// Tip is the newest record that was read of those that one leader wrote. Two logs
// that agree in it agree in all that lies before it.
type Tip struct {
	Offset int64
	Epoch  int32 // of the leader
}

// maxTips bounds the memory for changes of the leader.
const maxTips = 1000

// Record is a record as it was read.
type Record struct {
	Offset int64
	Epoch  int32 // of the leader that wrote its batch, -1: not known
	Value  []byte
	Around
	Millis int64 // its timestamp, -1 if that is not its producer's (LogAppendTime)
	Again  bool  // the system may have delivered the record before, by its own mark; that is no proof, unless it counts deliveries

	EachHeader iter.Seq2[[]byte, []byte] // of a log of a mirror: its headers, some of which may have been added; nil: they are as Around says
	Arrived    int64                     // when it came into the log, in nanoseconds of wall-clock time since 1970; 0: that is not known

	Archived bool // nobody accepted the record, and the system gives it to nobody any more
}

// Skipped notes that up to n records were deleted, or passed over, before they were read, where only their number is known. So many
// of those that are missing are unchecked and not lost.
func (l *Log) Skipped(n int64) {
	l.Lock()
	defer l.Unlock()
	l.passed += max(0, n)
}

// Add accounts for one record and returns the status of its stamp. s holds the stamp of a record
// that is Stamped, Foreign or Corrupted. The log must be locked.
func (l *Log) Add(r *Record, s *Stamp) StampStatus {
	if r.Offset <= l.last {
		// In a log, epochs do not fall as offsets rise. Below the record read last there
		// is no higher epoch, unless a new leader cut the log off and wrote on.
		if r.Epoch <= l.epoch || l.epoch < 0 {
			l.counts.Redelivered++
			return Redelivered
		}
		l.counts.Rewritten++
		l.cut = true
	}
	status := ReadStamp(r.Value, r.Around, s)
	if status == Corrupted && r.EachHeader != nil {
		status = withoutAdded(r, s)
	}
	if status == Stamped && !l.mirror && r.Millis >= 0 && r.Millis != s.millis() {
		status = Corrupted
	}
	if status == Stamped && r.Archived && s.Run == l.run {
		l.counts.Archived++
	}
	if status != Stamped || !r.Again || s.Run != l.run {
		return l.count(r, status, s)
	}
	n := Number{s.Producer, s.Seq}
	if _, owed := l.owed[n]; owed { // a copy of one that a lost connection had, which comes back once
		delete(l.owed, n)
		l.counts.Redelivered++
		l.reach(r.Offset, r.Epoch)
		return Redelivered
	}
	order, copies := l.counts.Reordered, l.counts.Duplicated
	status = l.count(r, status, s)
	if l.counted && l.counts.Duplicated > copies {
		l.counts.Duplicated = copies
		l.counts.Checked--
		l.counts.Redelivered++
		return Redelivered
	}
	if l.counts.Reordered > order && l.outstanding > 0 && s.Seq >= l.lane(s.Producer).given { // it may have been on its way to a lost connection
		l.outstanding--
		l.counts.Reordered = order
	}
	return status
}

// count is Add without looking at the record.
func (l *Log) count(r *Record, status StampStatus, s *Stamp) StampStatus {
	l.reach(r.Offset, r.Epoch)
	home := l
	if l.homes != nil && status == Stamped && s.Run == l.run {
		if home = l.homes[s.Partition]; home != nil { // homes have no homes, so two locks are the most
			home.Lock()
			defer home.Unlock()
		}
	}
	switch {
	case status == Unstamped:
		l.counts.Unstamped++
		return Unstamped
	case status == Corrupted:
		l.counts.Corrupted++
		return Corrupted
	case s.Run != l.run:
		l.counts.Foreign++
		l.vote(s.Run)
		return Foreign
	case l.twice:
		l.counts.Redelivered++
		return Redelivered
	case home == nil || s.Partition != home.partition || s.Producer >= MaxProducers || uint64(s.Seq) >= maxSeq:
		l.counts.Corrupted++
		return Corrupted
	}
	copies := home.counts.Duplicated
	home.number(s.Producer, s.Seq, s.Seq+1, r.Offset, s.Due)
	if l.mirror && r.Arrived > 0 && home.counts.Duplicated == copies {
		home.lags.records++
		home.lags.put(s.Due, r.Arrived-s.Due, int64(time.Second))
	}
	return Stamped
}

// reach notes that a record at an offset was read, or several up to it.
func (l *Log) reach(offset int64, epoch int32) {
	if epoch != l.epoch && epoch >= 0 {
		l.turn(epoch)
	}
	l.last = offset
}

// number accounts for the records of a producer with the numbers [from, to), from an offset on.
func (l *Log) number(producer uint16, from, to, offset, due int64) {
	l.counts.Checked += to - from
	lane := l.lane(producer)
	if lane == nil {
		lane = l.grow(producer, from)
	}
	if from != lane.next {
		l.outOfTurn(lane, from, to, offset, due)
	}
	if to > lane.next {
		lane.next, lane.due = to, due
	}
	lane.offset = offset + to - from - 1
}

// outOfTurn accounts for numbers that are not the next ones of a lane, as far as they are below its next.
func (l *Log) outOfTurn(lane *readLane, from, to, offset, due int64) {
	if from < lane.next {
		l.tooLate(lane, from, min(to, lane.next))
		return
	}
	l.open(lane, gap{Range: Range{From: lane.next, To: from}, after: offset, dueAfter: due})
}

// turn notes that the next record is of another leader.
func (l *Log) turn(epoch int32) {
	if epoch < l.epoch {
		l.counts.EpochRegressions++
	}
	switch {
	case l.epoch < 0:
	case len(l.tips) == maxTips:
		l.cut = true // perhaps: too much to ask for
	default:
		l.tips = append(l.tips, Tip{Offset: l.last, Epoch: l.epoch})
	}
	l.epoch = epoch
}

// Cut notes that the log was cut off below an offset that had been read, as the client found
// or the brokers said.
func (l *Log) Cut() {
	l.Lock()
	defer l.Unlock()
	l.cut = true
}

// PassOver notes that the records at the offsets [from, to) were not read, because they are too large. The log must be
// locked.
func (l *Log) PassOver(from, to int64) {
	l.counts.TooLarge += max(0, to-from)
	l.skipped = max(l.skipped, to)
}

// sharedRanges is how many times as many gaps a lane of a shared partition may have, because its readers overtake each other.
const sharedRanges = 16

// Shared notes that several readers share the partition, each of which gets some of its records. Then no order is
// defined, and a record behind one with a higher number is not reordered. With counted, the system counts how often it delivers a
// record. Call it before the first record.
func (l *Log) Shared(counted bool) {
	l.Lock()
	defer l.Unlock()
	l.shared, l.counted, l.limit = true, counted, sharedRanges*l.limit
}

// Tips returns the tip of each leader whose records were read, to be looked for in the
// log when the reading is over: the log holds all records read if it holds all tips. cut
// reports whether it is known already that it does not.
func (l *Log) Tips() (tips []Tip, cut bool) {
	l.Lock()
	defer l.Unlock()
	tips = slices.Clone(l.tips)
	if l.epoch >= 0 {
		tips = append(tips, Tip{Offset: l.last, Epoch: l.epoch})
	}
	return tips, l.cut
}

// Again forgets the records read, because the partition is read again, and returns the offset
// to begin at: that of the first reading, or from if that is lower. start is the present
// begin of the log.
func (l *Log) Again(from, start int64) (begin int64) {
	l.Lock()
	defer l.Unlock()
	kept := Verdict{Rewritten: l.counts.Rewritten, Redelivered: l.counts.Redelivered, ReadAgain: l.counts.ReadAgain + 1}
	l.found = unread(max(min(l.begin, from), start))
	l.counts, l.twice = kept, l.homes != nil
	return l.begin
}

// First returns the first offset that could be read.
func (l *Log) First() int64 {
	l.Lock()
	defer l.Unlock()
	return l.begin
}

// Unconfirmed notes that the brokers did not say whether the log still holds the records
// read. Then nothing counts as read.
func (l *Log) Unconfirmed() {
	l.Lock()
	defer l.Unlock()
	l.unconfirmed = true
}

// vote finds the run that most foreign records are of (Boyer and Moore).
func (l *Log) vote(run uint64) {
	switch {
	case l.votes == 0:
		l.other, l.votes = run, 1
	case l.other == run:
		l.votes++
	default:
		l.votes--
	}
}

// nextOffset returns the offset that would be read next.
func (l *Log) nextOffset() int64 { return max(l.next, l.last+1) }
