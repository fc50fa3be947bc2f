package ledger

import "fmt"

// Book is the account of the records that a run wrote.
type Book struct {
	Run     uint64
	Topic   string
	TopicID string
	Start   []int64 // end offsets of the topic before the run, by partition; 0 for those not in it

	// StartEpochs is the leader epochs at Start, by partition: their ends now show
	// whether the log was cut off below Start since. Those not in it are not known.
	StartEpochs []int32

	// SameTopic: the topic read is beyond doubt the topic written, because this process wrote
	// it or its id is the same. It is not in the file.
	SameTopic bool

	// Headers: the records carry no stamps. The headers of their batches say which they are, and a Reader is told of
	// batches.
	Headers bool

	// OwnValues: no other run has these values. So a copy is known by its value, also if another producer wrote it.
	OwnValues bool

	// The settings of the client that explain the findings of Verify.
	Idempotent bool
	Acks       string // as the property acks: "all", "1", "0"; "": not Kafka's
	Retries    bool   // the client sends unanswered records again

	Lanes []Lane // no two of the same producer and partition
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

// Unknown returns how many records were sent and never answered.
func (l *Lane) Unknown() int64 { return l.Issued - l.Acknowledged.Count() - l.Failed.Count() }

// StartOffset returns the offset of a partition from which on the run's records are,
// unless its log was cut off below it.
func (b *Book) StartOffset(partition int32) int64 {
	if uint(partition) < uint(len(b.Start)) {
		return b.Start[partition]
	}
	return 0
}

// StartEpoch returns the leader epoch of a partition when the run began, -1: not known.
func (b *Book) StartEpoch(partition int32) int32 {
	if uint(partition) < uint(len(b.StartEpochs)) {
		return b.StartEpochs[partition]
	}
	return -1
}

// unordered reports whether the client may write records in another order than it
// was given them: it sends again, and the brokers do not look at the order.
func (b *Book) unordered() bool { return !b.Idempotent && b.Retries }

// check returns an error unless a Producer can give the lane.
func (l *Lane) check() error {
	if l.Producer >= MaxProducers || l.Partition < 0 || l.Issued < 0 || l.Issued > maxSeq || l.LastOffset < -1 {
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
	for i, r := range rs {
		if !r.exact() { // rare, so the copy is
			set := append(Ranges(nil), rs[:i]...)
			for _, r := range rs[i:] {
				if r.exact() {
					set = append(set, r)
				}
			}
			return set
		}
	}
	return rs
}
