package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Producer remembers the records of one producer and their outcomes: a lane for each partition. Two goroutines share the work. The
// sending one calls Next and EndTransaction. The one on which the client reports outcomes calls Acknowledged and Failed, at most once
// for a record and only after its Next. A record without either stays unknown. Any goroutine may call Lanes with the lock that the
// callers of EndTransaction, Originate, Acknowledged and Failed hold.
type Producer struct {
	number uint16
	limit  int // of the ranges in a list

	transactional bool

	// By partition. The sending goroutine alone changes it: the slice when it
	// grows, an element when a partition gets its first record.
	lanes atomic.Pointer[[]atomic.Pointer[lane]]
}

// lane is the records that a producer wrote to a partition. Its two halves belong to one goroutine each, and to other cache lines.
type lane struct {
	issued  atomic.Int64 // the next number; written by the sending goroutine only
	begun   int64        // the first number of the transaction; guarded as the outcomes are
	aborted Ranges       // issued in transactions that were not committed; the same
	_       [64]byte

	settled atomic.Int64 // acknowledged or failed, as Outstanding knows it; written by the outcomes' goroutine only
	done    int64        // the same, always up to date
	seen    int64        // issued, as it was when settled was written
	last    int64        // largest offset that was acknowledged, -1: none
	acked   Ranges
	failed  Ranges
	_       [64]byte

	origins   []Origin // of records without stamps; of the outcomes' goroutine
	forgotten int64    // numbers below it have no origin any more; the same
}

// MaxProducers is how many producers a run can have: their numbers are below it.
const MaxProducers = 10_000

// maxSeq bounds sequence numbers, so that adding to them is safe.
const maxSeq = 1 << 62

// NewProducer returns the empty account of the producer with that number, which
// is below MaxProducers and nobody else's in the run.
func NewProducer(number uint16) *Producer {
	p := &Producer{number: number, limit: maxRanges}
	p.lanes.Store(new([]atomic.Pointer[lane]))
	return p
}

// Number returns the number of the producer.
func (p *Producer) Number() uint16 { return p.number }

// Next returns the number of the next record for a partition: 0, 1, 2 and so on. The n-1 numbers
// behind it are taken too.
func (p *Producer) Next(partition int32, n int64) int64 {
	l := p.lane(partition)
	if l == nil {
		l = p.grow(partition)
	}
	seq := l.issued.Load()
	l.issued.Store(seq + n)
	return seq
}

// Acknowledged says that the brokers took the n records with numbers from seq on, and the offset of the first one; it is
// -1 when they did not say. Outcomes may come in any order, and cost least in that of the numbers.
func (p *Producer) Acknowledged(partition int32, seq, n, offset int64) {
	l := p.lane(partition)
	if !l.acked.extend(seq, seq+n) {
		l.acked.insert(seq, seq+n, p.limit)
	}
	if offset >= 0 {
		l.last = max(l.last, offset+n-1)
	}
	l.settle(n)
}

// Failed says that the n records with numbers from seq on were given up. Whether they are in the log nobody knows.
func (p *Producer) Failed(partition int32, seq, n int64) {
	l := p.lane(partition)
	l.failed.add(seq, seq+n, p.limit)
	l.settle(n)
}

// publishEvery is how many outcomes may be kept from Outstanding: an atomic store costs as much as all else of an outcome.
const publishEvery = 16

// settle counts outcomes. Once all that was issued is settled, Outstanding knows.
func (l *lane) settle(n int64) {
	before := l.done
	l.done += n
	if l.done >= l.seen || l.done/publishEvery > before/publishEvery {
		l.settled.Store(l.done)
		l.seen = l.issued.Load()
	}
}

// Transactional says that every record is part of a transaction. It is called before the first one.
func (p *Producer) Transactional() { p.transactional = true }

// EndTransaction ends the transaction that every record since the last call belongs to. committed is false when it was aborted, or
// may have been: then nothing is promised about its records. Without transactions it is never called.
func (p *Producer) EndTransaction(committed bool) {
	lanes := *p.lanes.Load()
	for i := range lanes {
		l := lanes[i].Load()
		if l == nil {
			continue
		}
		issued := l.issued.Load()
		if !committed && l.begun < issued {
			l.aborted.add(l.begun, issued, p.limit)
		}
		l.begun = issued
	}
}

// Outstanding returns how many records of a partition wait for their outcome, or up to
// 15 more; 0 is exact. Any goroutine may ask, and the answer may be old by the time
// it is there.
func (p *Producer) Outstanding(partition int32) int64 {
	l := p.lane(partition)
	if l == nil {
		return 0
	}
	settled := l.settled.Load() // before issued, so that the difference is never negative
	return l.issued.Load() - settled
}

// lane is that of a partition, nil before its first record.
func (p *Producer) lane(partition int32) *lane {
	lanes := *p.lanes.Load()
	if uint(partition) >= uint(len(lanes)) {
		return nil
	}
	return lanes[partition].Load()
}

// grow makes the lane of a partition.
func (p *Producer) grow(partition int32) *lane {
	lanes := *p.lanes.Load()
	if int(partition) >= len(lanes) {
		more := make([]atomic.Pointer[lane], max(int(partition)+1, 2*len(lanes)))
		for i := range lanes {
			more[i].Store(lanes[i].Load())
		}
		lanes = more
		p.lanes.Store(&more)
	}
	l := &lane{last: -1}
	lanes[partition].Store(l)
	return l
}

// Lanes returns the records that the producer wrote so far, by partition. The records of an open transaction count as aborted.
// It locks outcomes for one lane at a time: each lane is as it was at one moment, and outcomes wait for one copy at most.
func (p *Producer) Lanes(outcomes sync.Locker) []Lane {
	var all []Lane
	lanes := *p.lanes.Load()
	for i := range lanes {
		l := lanes[i].Load()
		if l == nil {
			continue
		}
		outcomes.Lock()
		copied := Lane{
			Producer: p.number, Partition: int32(i), Issued: l.issued.Load(), LastOffset: l.last,
			Acknowledged: slices.Clone(l.acked), Failed: slices.Clone(l.failed), Aborted: slices.Clone(l.aborted),
			Origins: slices.Clone(l.origins), Forgotten: l.forgotten,
		}
		if p.transactional && l.begun < copied.Issued {
			copied.Aborted.add(l.begun, copied.Issued, p.limit)
		}
		outcomes.Unlock()
		all = append(all, copied)
	}
	return all
}

// Origin is where the numbers of a lane begin to follow the sequences of a producer id: the record
// with the sequence has the number First, and those behind it follow. An origin counts until the next one.
type Origin struct {
	ID       int64 // of the producer, from the brokers
	Epoch    int16 // of that id
	Sequence int64 // see sequences
	First    int64
}

// sequences is how many sequences a batch can begin with. Behind the last one follows 0, and an Origin counts on.
const sequences = 1 << 31

// MarshalJSON writes [id,epoch,sequence,first].
func (o Origin) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]int64{o.ID, int64(o.Epoch), o.Sequence, o.First})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (o *Origin) UnmarshalJSON(b []byte) error {
	var v []int64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if len(v) != 4 || int64(int16(v[1])) != v[1] {
		return errors.New("an origin is the id and epoch of a producer, a sequence and a number")
	}
	*o = Origin{ID: v[0], Epoch: int16(v[1]), Sequence: v[2], First: v[3]}
	return nil
}

func (o *Origin) source() source { return source{o.ID, o.Epoch} }

// source is who a broker takes batches from. The sequences of each begin anew.
type source struct {
	id    int64
	epoch int16
}

// Originate says which sequence the number o.First of a lane is sent with, and by which producer id. It is called before the record
// goes, on the goroutine of the outcomes. An origin that says what the last one says is left out. One from the same sequence
// on replaces the last: what had that sequence before is in no log. Of too many origins, the oldest is
// forgotten, and with it the numbers up to the next one.
func (p *Producer) Originate(partition int32, o Origin) {
	l := p.lane(partition)
	if n := len(l.origins); n > 0 {
		last := &l.origins[n-1]
		same := last.source() == o.source()
		switch {
		case same && o.First-last.First == o.Sequence-last.Sequence:
			return
		case same && o.Sequence == last.Sequence:
			last.First = o.First
			return
		case n == p.limit:
			l.forgotten = l.origins[1].First
			l.origins = l.origins[:copy(l.origins, l.origins[1:])]
		}
	}
	l.origins = append(l.origins, o)
}

// checkOrigins returns an error unless a Producer can give the origins.
func (l *Lane) checkOrigins() error {
	if l.Forgotten < 0 || l.Forgotten > l.Issued {
		return fmt.Errorf("%d of %d numbers are forgotten", l.Forgotten, l.Issued)
	}
	from := l.Forgotten
	newest := make(map[source]*Origin)
	for i := range l.Origins {
		o := &l.Origins[i]
		before := newest[o.source()]
		if o.ID < 0 || o.Epoch < 0 || o.Sequence < 0 || o.Sequence > maxSeq || o.First < from || o.First > l.Issued ||
			before != nil && (o.Sequence <= before.Sequence || o.First-before.First < o.Sequence-before.Sequence) {
			return fmt.Errorf("number %d with sequence %d of producer id %d is out of place", o.First, o.Sequence, o.ID)
		}
		newest[o.source()], from = o, o.First+1
	}
	return nil
}

// track is the origins of one source in a partition. Their sequences ascend, and so do their numbers.
type track struct {
	producer  uint16
	origins   []Origin
	forgotten bool // there were earlier ones
}

// tracks are the sources of a partition.
type tracks map[source]*track

// tracks returns the sources of a book, by partition.
func (b *Book) tracks() map[int32]tracks {
	all := make(map[int32]tracks)
	for i := range b.Lanes {
		l := &b.Lanes[i]
		in := all[l.Partition]
		if in == nil {
			in = make(tracks)
			all[l.Partition] = in
		}
		for _, o := range l.Origins {
			t := in[o.source()]
			if t == nil {
				t = &track{producer: l.Producer, forgotten: l.Forgotten > 0}
				in[o.source()] = t
			}
			t.origins = append(t.origins, o)
		}
	}
	return all
}

// number returns the number of the first of n records with a sequence: the one nearest to next. It reports false if it has none.
func (t *track) number(sequence int32, n, next int64) (number int64, ok bool) {
	if sequence < 0 {
		return 0, false
	}
	expected := t.sequence(next)
	at := expected + int64(int32(uint32(sequence)<<1-uint32(expected)<<1)>>1)
	if at < t.origins[0].Sequence && !t.forgotten { // it cannot have come before
		at += sequences
	}
	behind := sort.Search(len(t.origins), func(i int) bool { return t.origins[i].Sequence > at })
	if behind == 0 || behind < len(t.origins) && at+n > t.origins[behind].Sequence {
		return 0, false
	}
	o := &t.origins[behind-1]
	number = o.First + at - o.Sequence
	return number, number+n <= maxSeq
}

// sequence returns the sequence of a number, or of the nearest one that has any.
func (t *track) sequence(number int64) int64 {
	behind := sort.Search(len(t.origins), func(i int) bool { return t.origins[i].First > number })
	if behind == 0 {
		return t.origins[0].Sequence
	}
	o := &t.origins[behind-1]
	at := o.Sequence + number - o.First
	if behind < len(t.origins) {
		at = min(at, t.origins[behind].Sequence)
	}
	return at
}
