package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
)

// Origin is where the numbers of a lane begin to follow the sequences of a producer id: the record
// with the sequence has the number First, and those behind it follow. An origin counts until the next one.
type Origin struct {
	ID       int64 // of the producer, from the brokers
	Epoch    int16 // of that id
	Sequence int64 // see sequences
	First    int64
}

// sequences is how many sequences a batch can begin with. Behind the last one the brokers go on with 0,
// and an Origin counts on.
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

// originate adds an origin to those of a lane. One that says what the last one says is left out. One from the same sequence
// on replaces the last: what had that sequence before is in no log. Of more than limit origins, the oldest is
// forgotten, and with it the numbers up to the next one.
func (l *lane) originate(o Origin, limit int) {
	if n := len(l.origins); n > 0 {
		last := &l.origins[n-1]
		same := last.source() == o.source()
		switch {
		case same && o.First-last.First == o.Sequence-last.Sequence:
			return
		case same && o.Sequence == last.Sequence:
			last.First = o.First
			return
		case n == limit:
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

// number returns the number of the record with a sequence, of which n records follow each other. Of the numbers that have
// it, it is the one nearest to next, the number that is expected. It reports false if it has none.
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
