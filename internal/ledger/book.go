package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// Book is the account of the records that a run wrote.
type Book struct {
	Run uint64 `json:"-"`

	// Topics are those that the run wrote to. Partitions have numbers that count on from one topic to the next: everywhere in a
	// book, and in stamps.
	Topics []BookTopic `json:"topics"`

	Start []int64 `json:"start_offsets"` // end offsets of the topics before the run, by partition; 0 for those not in it

	// StartEpochs is the leader epochs at Start, by partition: their ends now show
	// whether the log was cut off below Start since. Those not in it are not known.
	StartEpochs []int32 `json:"start_epochs,omitempty"`

	// SameTopic: the topics read are beyond doubt the topics written, because this process wrote
	// them or their ids are the same. It is not in the file.
	SameTopic bool `json:"-"`

	// CutAt is the time up to which the book has every outcome, if the file that it was read from has no end: kt was killed, or still
	// writes it. Zero: the book is whole. LedgerDamaged: what lies behind was changed. They are not in the file.
	CutAt         time.Time `json:"-"`
	LedgerDamaged bool      `json:"-"`

	// Mirror: copies of the topics are read, and Repartitioned: their partitions are others. OfMirror sets them; they are not in the file.
	Mirror, Repartitioned bool `json:"-"`

	// Headers: the records carry no stamps. The headers of their batches say which they are, and a Reader is told of
	// batches.
	Headers bool `json:"headers,omitempty"`

	// OwnValues: no other run has these values. So a copy is known by its value, also if another producer wrote it.
	OwnValues bool `json:"own_values,omitempty"`

	// The settings of the client that explain the findings of Verify.
	Idempotent bool   `json:"idempotent"`
	Acks       string `json:"acks"`    // as the property acks: "all", "1", "0"; "": not Kafka's
	Retries    bool   `json:"retries"` // the client sends unanswered records again

	Lanes []Lane `json:"-"` // no two of the same producer and partition
}

// BookTopic is a topic of a Book.
type BookTopic struct {
	Name       string `json:"name"`
	ID         string `json:"id,omitempty"` // of the system; "": it gives none
	Partitions int    `json:"partitions"`   // when the run began
}

// Names returns the names of the topics, in their order.
func (b *Book) Names() []string {
	names := make([]string, len(b.Topics))
	for i := range b.Topics {
		names[i] = b.Topics[i].Name
	}
	return names
}

// Lane is the records that one producer wrote to one partition. An issued record that is
// neither acknowledged nor failed is unknown: sent, and never answered.
type Lane struct {
	Producer     uint16 `json:"producer"`
	Partition    int32  `json:"partition"`
	Issued       int64  `json:"issued"` // numbers from 0 to before it were sent
	Acknowledged Ranges `json:"acknowledged,omitempty"`
	Failed       Ranges `json:"failed,omitempty"`
	Aborted      Ranges `json:"aborted,omitempty"` // in a transaction that was not committed, whatever their outcome
	LastOffset   int64  `json:"last_offset"`       // the largest that was acknowledged, -1: none

	// Of a book with Headers.
	Origins   []Origin `json:"origins,omitempty"`   // in the order of numbers
	Forgotten int64    `json:"forgotten,omitempty"` // numbers below it have no origin any more
}

// laneID identifies a lane.
type laneID struct {
	producer  uint16
	partition int32
}

func (l *Lane) id() laneID { return laneID{l.Producer, l.Partition} }

// same reports whether two lanes say the same of their records.
func (l *Lane) same(o *Lane) bool {
	return l.Issued == o.Issued && l.LastOffset == o.LastOffset && l.Forgotten == o.Forgotten && slices.Equal(l.Acknowledged, o.Acknowledged) &&
		slices.Equal(l.Failed, o.Failed) && slices.Equal(l.Aborted, o.Aborted) && slices.Equal(l.Origins, o.Origins)
}

// Unknown returns how many records were sent and never answered.
func (l *Lane) Unknown() int64 { return l.Issued - l.Acknowledged.Count() - l.Failed.Count() }

// StartOffset returns the offset of a partition from which on the run's records are,
// unless its log was cut off below it.
func (b *Book) StartOffset(partition int32) int64 { return of(b.Start, partition, 0) }

// StartEpoch returns the leader epoch of a partition when the run began, -1: not known.
func (b *Book) StartEpoch(partition int32) int32 { return of(b.StartEpochs, partition, -1) }

func of[V any](all []V, partition int32, none V) V {
	if uint(partition) < uint(len(all)) {
		return all[partition]
	}
	return none
}

// unordered reports whether the client may write records in another order than it was given them.
func (b *Book) unordered() bool { return !b.Idempotent && b.Retries }

// check returns an error unless a Producer can give the lane of a book with so many partitions.
func (l *Lane) check(partitions int) error {
	if l.Producer >= MaxProducers || l.Partition < 0 || int(l.Partition) >= partitions || l.Issued < 0 || l.Issued > maxSeq || l.LastOffset < -1 {
		return fmt.Errorf("producer %d, partition %d, %d records and offset %d are not those of a lane",
			l.Producer, l.Partition, l.Issued, l.LastOffset)
	}
	for _, set := range []Ranges{l.Acknowledged, l.Failed, l.Aborted} {
		if err := set.check(l.Issued); err != nil {
			return err
		}
	}
	if l.Unknown() < 0 || len(intersect(l.Acknowledged.exact(), l.Failed.exact())) > 0 {
		return fmt.Errorf("%d records were issued, %d acknowledged and %d failed: some are both",
			l.Issued, l.Acknowledged.Count(), l.Failed.Count())
	}
	return l.checkOrigins()
}

// check returns an error unless the ranges are a set of numbers below issued.
func (rs Ranges) check(issued int64) error {
	end := int64(0)
	for _, r := range rs {
		if r.From < end || r.To <= r.From || r.To > issued || r.Holes < 0 || r.Count() <= 0 {
			return fmt.Errorf("the range from %d to %d with %d holes is out of place among %d records", r.From, r.To, r.Holes, issued)
		}
		end = r.To
	}
	return nil
}

// exact returns the ranges without holes.
func (rs Ranges) exact() Ranges {
	holed := func(r Range) bool { return !r.exact() }
	if slices.ContainsFunc(rs, holed) { // rare, so the copy is
		return slices.DeleteFunc(slices.Clone(rs), holed)
	}
	return rs
}

// Range is the sequence numbers from From to before To. Holes of them are not
// meant, it is not known which; it is 0 unless there were more ranges to remember
// than maxRanges.
type Range struct{ From, To, Holes int64 }

// Ranges is a set of sequence numbers: sorted ranges that do not overlap.
type Ranges []Range

// maxRanges bounds a list of ranges to 12 KiB. An outage leaves one range a lane, so this is exact up to 500 outages.
const maxRanges = 512

// Count returns how many numbers are in the range.
func (r Range) Count() int64 { return r.To - r.From - r.Holes }

func (r Range) exact() bool { return r.Holes == 0 }

// MarshalJSON writes [from,to], or [from,to,holes] if there are any.
func (r Range) MarshalJSON() ([]byte, error) {
	if r.exact() {
		return json.Marshal([2]int64{r.From, r.To})
	}
	return json.Marshal([3]int64{r.From, r.To, r.Holes})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (r *Range) UnmarshalJSON(b []byte) error {
	var v []int64
	err := json.Unmarshal(b, &v)
	if err == nil && len(v) != 2 && len(v) != 3 {
		err = errors.New("a range is two or three numbers")
	}
	if err == nil {
		v = append(v, 0)
		*r = Range{v[0], v[1], v[2]}
	}
	return err
}

// Count returns how many numbers are in the set.
func (rs Ranges) Count() int64 {
	var n int64
	for _, r := range rs {
		n += r.Count()
	}
	return n
}

// add puts the numbers [from, to) into the set, which holds all of them or none. limit, at least 3, bounds its ranges.
func (rs *Ranges) add(from, to int64, limit int) {
	if !rs.extend(from, to) {
		rs.insert(from, to, limit)
	}
}

// extend is add when the numbers go on where the set ends, and false when not. fold leaves the last range exact.
func (rs Ranges) extend(from, to int64) bool {
	last := len(rs) - 1
	if last < 0 || rs[last].To != from {
		return false
	}
	rs[last].To = to
	return true
}

// insert is add at any place.
func (rs *Ranges) insert(from, to int64, limit int) {
	set := *rs
	i := sort.Search(len(set), func(i int) bool { return set[i].To > from })
	if i < len(set) && set[i].From < to { // within a range
		set[i].Holes = max(0, set[i].Holes-(to-from))
		return
	}
	before := i > 0 && set[i-1].To == from && set[i-1].exact()
	after := i < len(set) && set[i].From == to && set[i].exact()
	switch {
	case before && after:
		set[i-1].To = set[i].To
		*rs = slices.Delete(set, i, i+1)
	case before:
		set[i-1].To = to
	case after:
		set[i].From = from
	case len(set) >= limit:
		rs.fold()
		rs.insert(from, to, limit)
	default:
		*rs = slices.Insert(set, i, Range{From: from, To: to})
	}
}

// fold makes room: the lower half of the ranges becomes one, with holes. Places are forgotten, never counts.
func (rs *Ranges) fold() {
	set := *rs
	half := max(2, len(set)/2)
	to := set[half-1].To
	set[0] = Range{From: set[0].From, To: to, Holes: to - set[0].From - set[:half].Count()}
	*rs = slices.Delete(set, 1, half)
}

// The functions below work on exact ranges only.

// intersect returns the numbers in both sets.
func intersect(a, b Ranges) Ranges {
	var both Ranges
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if from, to := max(a[i].From, b[j].From), min(a[i].To, b[j].To); from < to {
			both = append(both, Range{From: from, To: to})
		}
		if a[i].To < b[j].To {
			i++
		} else {
			j++
		}
	}
	return both
}

// subtract returns the numbers in a that are not in b.
func subtract(a, b Ranges) Ranges {
	if len(b) == 0 {
		return a
	}
	var rest Ranges
	j := 0
	for _, r := range a {
		for j < len(b) && b[j].To <= r.From {
			j++
		}
		from := r.From
		for k := j; k < len(b) && b[k].From < r.To; k++ {
			if from < b[k].From {
				rest = append(rest, Range{From: from, To: b[k].From})
			}
			from = max(from, b[k].To)
		}
		if from < r.To {
			rest = append(rest, Range{From: from, To: r.To})
		}
	}
	return rest
}

// union makes ranges in any order, empty and overlapping ones among them, a set.
func union(rs Ranges) Ranges {
	slices.SortFunc(rs, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	var set Ranges
	for _, r := range rs {
		n := len(set)
		switch {
		case r.From >= r.To:
		case n > 0 && r.From <= set[n-1].To:
			set[n-1].To = max(set[n-1].To, r.To)
		default:
			set = append(set, Range{From: r.From, To: r.To})
		}
	}
	return set
}
