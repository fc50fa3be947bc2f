package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Verdict is the fate of the records of a run. Issued to Unknown are the book's
// own numbers. The others are sums over the readers, each of which is compared by
// itself, and so for every reader
//
//	acknowledged = acknowledged_read + lost + unchecked + undecided + aborted
//
// and, unless it is inexact,
//
//	checked = acknowledged_read + unconfirmed + aborted_read + resurrected + unknown_read + unissued + duplicated
type Verdict struct {
	Readers int `json:"readers"`

	// Headers reports whether the headers of batches said which records were read. Then Unstamped is records of other
	// producers, and Corrupted those of batches whose checksum does not fit.
	Headers bool `json:"headers,omitempty"`

	Issued       int64 `json:"issued"`
	Acknowledged int64 `json:"acknowledged"`
	Failed       int64 `json:"failed"`
	Unknown      int64 `json:"unknown"` // sent, and never answered

	Checked          int64 `json:"checked"` // records of the run that were read and compared
	AcknowledgedRead int64 `json:"acknowledged_read"`
	Archived         int64 `json:"archived,omitempty"`    // of Checked: no consumer of the share group accepted them, and nobody gets them any more
	Lost             int64 `json:"lost"`                  // acknowledged, and certainly not where the reader looked
	Unchecked        int64 `json:"unchecked,omitempty"`   // acknowledged, and perhaps where the reader could not look
	NotCopied        int64 `json:"not_copied,omitempty"`  // of Unchecked: not in the mirror, where all that was read is older
	Unconfirmed      int64 `json:"unconfirmed,omitempty"` // acknowledged and read, but perhaps cut off since: they count as unchecked, or as lost
	TooLarge         int64 `json:"too_large,omitempty"`   // offsets whose records were not read, because they are too large: any may have been there
	Undecided        int64 `json:"undecided,omitempty"`   // acknowledged, and read or lost: that is forgotten
	Aborted          int64 `json:"aborted,omitempty"`     // acknowledged in a transaction that was not committed
	AbortedRead      int64 `json:"aborted_read,omitempty"`
	Resurrected      int64 `json:"resurrected"`        // reported failed, and read
	UnknownRead      int64 `json:"unknown_read"`       // never answered, and read
	Unissued         int64 `json:"unissued,omitempty"` // of this run, and read, but not in the book

	Duplicated       int64 `json:"duplicated"`               // further copies of records that were read
	Copied           int64 `json:"copied,omitempty"`         // of Duplicated: another producer wrote them
	Reordered        int64 `json:"reordered"`                // came after a record with a higher number
	LateUndecided    int64 `json:"late_undecided,omitempty"` // duplicated or reordered: that is forgotten
	Corrupted        int64 `json:"corrupted"`                // not as they were sent; if acknowledged, they are lost too
	Unstamped        int64 `json:"unstamped"`                // not of a verified load
	Uncompared       int64 `json:"uncompared,omitempty"`     // of Unstamped, with Headers: they may be copies
	Foreign          int64 `json:"foreign,omitempty"`        // of other runs
	Redelivered      int64 `json:"redelivered,omitempty"`    // read again: the reader went back, the log is not at fault
	EpochRegressions int64 `json:"epoch_regressions,omitempty"`

	// Rewritten counts logs that were cut off below an offset already read, and written again
	// from there on by a new leader.
	Rewritten int64 `json:"rewritten,omitempty"`

	// ReadAgain counts partitions that were read again from the start, because their log had
	// been cut off below an offset already read. The last reading counts.
	ReadAgain int64 `json:"read_again,omitempty"`

	// Inexact reports whether some lane had more than it can remember. Then the certain counts
	// are too low, and Undecided and LateUndecided hold the rest.
	Inexact bool `json:"inexact,omitempty"`

	// OtherRun is the id of the run of most foreign records, as 16 hexadecimal digits. It is the
	// run of more than half of them in the partition with the most; else it is empty.
	OtherRun string `json:"other_run,omitempty"`

	// OfAnotherRun reports whether the book is of other records than those read, by the rule of
	// Verify. Then nothing was compared, and lost records were never there.
	OfAnotherRun bool `json:"of_another_run,omitempty"`

	// AnyOrder reports whether several readers shared a partition. No order is defined there, so Reordered is only of others.
	AnyOrder bool `json:"any_order,omitempty"`

	// RepeatsAllowed reports whether the client's settings allow records to be duplicated
	// and reordered: it retries, and the brokers do not check.
	RepeatsAllowed bool `json:"repeats_allowed,omitempty"`

	// PartsUnknown is how many processes of a merged run left no verdict. Unchecked has their acknowledged records, as far as these are known.
	PartsUnknown int64 `json:"parts_unknown,omitempty"`

	// CutAt and LedgerDamaged are those of the book. Records without an outcome by then (UnknownRead) or of later times (Unissued) are
	// not checked. With Headers, those of producer ids of later times are among Unstamped.
	CutAt         time.Time `json:"cut_at,omitzero"`
	LedgerDamaged bool      `json:"ledger_damaged,omitempty"`

	Mirror *Mirror `json:"mirror,omitempty"` // by partition and over time; nil: the topics of the run were read

	UncheckedIn []int32 `json:"unchecked_in,omitempty"` // partitions with unchecked records, maxGaps at most

	Gaps       []Gap    `json:"gaps,omitempty"`        // where records were lost, maxGaps at most
	GapsBeyond int64    `json:"gaps_beyond,omitempty"` // gaps that are not in the list
	Blame      []string `json:"blame,omitempty"`       // sentences: the cause of the findings, as far as the settings show it
}

// Add adds the findings of o on other records: every int64 field, every flag, the gaps up to maxGaps, and the blame. The rest of v stays.
func (v *Verdict) Add(o *Verdict) {
	to, from := reflect.ValueOf(v).Elem(), reflect.ValueOf(o).Elem()
	for i := range to.NumField() {
		switch n := to.Field(i); n.Kind() {
		case reflect.Int64:
			n.SetInt(n.Int() + from.Field(i).Int())
		case reflect.Bool:
			n.SetBool(n.Bool() || from.Field(i).Bool())
		default:
		}
	}
	room := max(0, min(len(o.Gaps), maxGaps-len(v.Gaps))) // a file may have more
	v.Gaps = append(v.Gaps, o.Gaps[:room]...)
	v.GapsBeyond += int64(len(o.Gaps) - room)
	for _, partition := range o.UncheckedIn {
		if len(v.UncheckedIn) < maxGaps && !slices.Contains(v.UncheckedIn, partition) {
			v.UncheckedIn = append(v.UncheckedIn, partition)
		}
	}
	for _, why := range o.Blame {
		if !slices.Contains(v.Blame, why) {
			v.Blame = append(v.Blame, why)
		}
	}
}

// Complete reports whether every acknowledged record was checked: not if the ledger was cut off. If not, there may be more of all counts.
func (v *Verdict) Complete() bool {
	return !v.OfAnotherRun && v.CutAt.IsZero() && v.Unchecked+v.Undecided+v.LateUndecided+v.PartsUnknown == 0
}

// Gap is a place where records of one lane were lost: Count of the numbers from
// First to Last.
type Gap struct {
	Reader    int    `json:"reader"` // index into the arguments of Verify
	Partition int32  `json:"partition"`
	Producer  uint16 `json:"producer"`
	First     int64  `json:"first"`
	Last      int64  `json:"last"`
	Count     int64  `json:"count"`

	// The records of the lane that were read around it: their offsets, -1 if there
	// is none, and when they were due.
	OffsetBefore int64     `json:"offset_before"`
	OffsetAfter  int64     `json:"offset_after"`
	DueBefore    time.Time `json:"due_before,omitzero"`
	DueAfter     time.Time `json:"due_after,omitzero"`
}

// maxGaps bounds the list of gaps in a verdict: more than anyone reads.
const maxGaps = 100

// Verify compares the records written with the findings of each reader. Call it when the
// readers are done: a record read meanwhile may be in one count and not in another.
//
// If no record of the book was read, either all are lost or the book is of another topic.
// Verify takes it for another topic only if SameTopic is not set, and more than half of the
// records read are of other runs. Else each acknowledged record is lost that is not where the
// reader looked.
func (b *Book) Verify(readers ...*Reader) Verdict {
	v := Verdict{
		Readers: len(readers), Headers: b.Headers, RepeatsAllowed: b.unordered() && !b.Mirror, Mirror: b.mirror(),
		CutAt: b.CutAt, LedgerDamaged: b.LedgerDamaged,
	}
	lanes := make(map[laneID]*Lane, len(b.Lanes))
	for i := range b.Lanes {
		l := &b.Lanes[i]
		lanes[l.id()] = l
		v.Issued += l.Issued
		v.Acknowledged += l.Acknowledged.Count()
		v.Failed += l.Failed.Count()
		v.Unknown += l.Unknown()
	}
	most := int64(0)
	for i, r := range readers {
		r.settle()
		b.verify(&v, i, r)
		most = v.addLogs(r, lanes, most)
	}
	v.OfAnotherRun = !b.SameTopic && v.Checked == 0 && v.Foreign > v.Unstamped+v.Corrupted
	v.Blame = b.blame(&v)
	return v
}

// verify adds the findings of the book's lanes in one reading.
func (b *Book) verify(v *Verdict, reader int, r *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	unread, excused := newLog(b.Run, -1, 0), make(map[int32]int64)
	for i := range b.Lanes {
		l := &b.Lanes[i]
		log := r.logs[l.Partition]
		if r.homes != nil {
			log = r.homes[l.Partition]
		}
		if log == nil {
			log = unread
		}
		log.Lock()
		f := b.compare(l, log)
		excused[l.Partition] += f.excuse(log.passed - excused[l.Partition])
		if v.Mirror != nil {
			v.Mirror.Partitions[l.Partition].addLane(&f, log.lane(l.Producer))
		}
		log.Unlock()
		if f.Unchecked > 0 {
			f.UncheckedIn = []int32{l.Partition}
		}
		for i := range f.Gaps {
			f.Gaps[i].Reader, f.Gaps[i].Partition, f.Gaps[i].Producer = reader, l.Partition, l.Producer
			if b.Repartitioned { // the offsets are of several partitions
				f.Gaps[i].OffsetBefore, f.Gaps[i].OffsetAfter = -1, -1
			}
		}
		v.Add(&f)
	}
}

// excuse makes lost records unchecked, n at most, and returns how many.
func (v *Verdict) excuse(n int64) int64 {
	if n = max(0, min(n, v.Lost)); n == v.Lost {
		v.Gaps = nil
	}
	v.Lost, v.Unchecked = v.Lost-n, v.Unchecked+n
	return n
}

// addLogs adds the counts of a reading, and returns the foreign records of the log with the most, which names their run.
func (v *Verdict) addLogs(r *Reader, lanes map[laneID]*Lane, most int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	logs := slices.AppendSeq(slices.Collect(maps.Values(r.logs)), maps.Values(r.homes))
	slices.SortStableFunc(logs, func(a, b *Log) int { return cmp.Compare(a.partition, b.partition) })
	for _, l := range logs {
		l.Lock()
		copies := l.copies()
		v.Add(&l.counts)
		v.Checked += copies
		v.Duplicated += copies
		v.Copied += copies
		v.Unstamped -= copies
		if !l.unfinished {
			v.Corrupted += l.holed
		}
		if v.Mirror != nil {
			v.Mirror.addLog(l)
		}
		v.AnyOrder = v.AnyOrder || l.shared
		v.Inexact = v.Inexact || l.counts.LateUndecided > 0
		if l.counts.Foreign > most {
			most, v.OtherRun = l.counts.Foreign, fmt.Sprintf("%016x", l.other)
		}
		for producer, lane := range l.lanes {
			if lane != nil && lanes[laneID{uint16(producer), l.partition}] == nil {
				v.Unissued += lane.next
				for i := range lane.gaps {
					v.Unissued -= lane.gaps[i].Count()
				}
			}
		}
		l.Unlock()
	}
	return most
}

// blame explains findings by the client's settings, as far as they do.
func (b *Book) blame(v *Verdict) []string {
	var why []string
	if v.Copied > 0 {
		why = append(why, fmt.Sprintf("%d duplicated records are copies that a producer of no process of this run wrote: look for who else writes to the topic", v.Copied))
	}
	if v.Duplicated > v.Copied || v.Reordered > 0 || v.LateUndecided > 0 {
		switch {
		case b.Mirror:
			why = append(why, "a mirror that goes on after a crash copies again what it had not noted as copied, unless it writes exactly once (MirrorMaker 2: "+
				"exactly.once.source.support=enabled, and --isolation read_committed); kt consume --verify on the source says whether records are repeated there")
		case b.Idempotent:
			why = append(why, "the producers were idempotent, which rules out duplicates and reordering: the brokers or the client are at fault")
		case b.unordered():
			why = append(why, "idempotence was off and retries were on: a batch whose answer is lost is written again, which makes duplicates, "+
				"and with more than one request in flight reorders records; the client's settings allow both")
		default:
			why = append(why, "idempotence and retries were off: the client sends no record twice, so the brokers or the client are at fault")
		}
	}
	if v.NotCopied > 0 {
		why = append(why, "records behind those that the mirror has may still be copied: check again later; those that stay out are lost")
	}
	if v.Lost > 0 && !v.OfAnotherRun {
		switch acks := b.Acks; {
		case b.Mirror:
			why = append(why, "the mirror has newer records than the lost ones: kt consume --verify on the source says whether they are there still, or were deleted before they were copied")
		case acks == "": // not Kafka
		case acks == "0":
			why = append(why, "acks=0: no broker acknowledged anything, so the client's settings allow losses")
		case acks == "1":
			why = append(why, "acks=1: a record that only its leader has is lost with the leader; the client's settings allow it")
		default:
			why = append(why, "acks=all: every in-sync replica had the lost records; with min.insync.replicas=1 or unclean leader election the topic's settings allow it")
		}
	}
	return why
}
