package reading

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Options are the topics of a State, and the way to read them.
type Options struct {
	Plan     plan.Plan
	Settings javaconf.Consumer
	Layout   *kafka.Layout // of the topics
	Run      uint64        // end-to-end latency counts for stamps of this run; 0: for those of any
	Book     *ledger.Book  // of the run to verify; nil: nothing is verified

	// Written returns, by partition, the offset after the newest record that this process wrote. Reading does not stop before
	// it, even if the broker's end is lower for a while. It is nil if the process writes nothing. With Blind, acks=0, it
	// returns how many records this process sent.
	Written func() []int64
	Blind   bool

	Memory *Memory // nil: that of a machine whose memory is not known

	// Again is called before partitions are read again because their logs were truncated below the position of a reader. It may
	// be nil.
	Again func(partitions int)

	// Reread reads partitions again from the positions of a group to these ends, and takes those that it has read to the end
	// out of the map. It gives up when no record has come for idle.
	Reread func(ctx context.Context, s *State, group int, ends map[int32]int64, idle time.Duration) error
}

// State is the part of a driver that reads which is the same for every client: where reading begins, is and ends, and the
// records that were read. New makes it.
type State struct {
	Options
	Cluster *kafka.Cluster
	At      *kafka.Positions
	Books   []*ledger.Reader // by group; nil: nothing is verified

	Resolved string // at which offsets reading begins, if it begins at a time

	opened []int64 // by partition number: the ends before the load
	starts []int64 // the same: first offset for readers without a committed one
	begins []int64 // the same: start of the log

	passed atomic.Int64 // batches that are too large to read
}

// New asks the cluster for the starts and ends of the partitions, and for the committed offsets of the plan's groups.
func New(ctx context.Context, c *kafka.Cluster, r Options) (*State, error) {
	d := &State{Options: r, Cluster: c}
	if d.Memory == nil {
		d.Memory = NewMemory(0)
	}
	ends, err := c.EndOffsets(ctx, d.Layout, r.Settings.ReadCommitted())
	if err != nil {
		return nil, fmt.Errorf("find the last offsets: %w", err)
	}
	d.opened = slices.Clone(ends)
	from, refuse := r.Settings.From(r.Plan.Read.From, time.Now())
	if d.starts, d.begins, err = c.StartOffsets(ctx, d.Layout, from, ends); err != nil {
		return nil, err
	}
	if shown := d.starts[:min(8, len(d.starts))]; !from.Time.IsZero() {
		d.Resolved = fmt.Sprintf("reading begins at %s: in partitions 0 to %d at offsets %d (partitions: %d)", from.Time.UTC().Format(time.RFC3339Nano), len(shown)-1, shown, len(d.starts))
	}
	if r.Book != nil && !r.Plan.Writes() { // a round trip starts at the plan's offsets
		if err := d.startAt(ctx, r.Book); err != nil {
			return nil, err
		}
	}
	var groups []string
	for g := range max(1, d.Plan.Read.Groups) {
		groups = append(groups, d.Group(g))
	}
	d.At = kafka.NewPositions(d.Layout, groups, d.starts, ends)
	d.At.Committed = d.Settings.ReadCommitted()
	d.At.Later, d.At.Shared = d.Plan.Share.Consumer > 0, d.Plan.Share.Consumers > 0
	for g := range d.At.Groups {
		if err := d.lookUpGroup(ctx, g, refuse); err != nil {
			return nil, err
		}
	}
	for g := 0; r.Book != nil && g < len(d.At.Groups); g++ { // records before its position were read in an earlier run
		read := ledger.NewReader(r.Book)
		for number, begin := range d.begins {
			read.Begin(int32(number), max(begin, d.At.Groups[g].At(int32(number)).Next.Load()))
		}
		d.Books = append(d.Books, read)
	}
	return d, nil
}

// startAt starts reading at the start of the book, or at the end of a log that was truncated below that since.
func (d *State) startAt(ctx context.Context, book *ledger.Book) error {
	var questions []kafka.LeaderEpoch
	for number := range int32(d.Layout.Count()) {
		if epoch := book.StartEpoch(number); epoch >= 0 {
			questions = append(questions, kafka.LeaderEpoch{Number: number, Epoch: epoch})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, kafka.AdminTimeout)
	defer cancel()
	answers, err := d.Cluster.EpochEnds(ctx, d.Layout, questions)
	if err != nil {
		return fmt.Errorf("find the last offsets of earlier leaders: %w", err)
	}
	d.starts = slices.Clone(d.starts)
	for i := range d.starts {
		first := book.StartOffset(int32(i))
		if a, ok := answers[kafka.LeaderEpoch{Number: int32(i), Epoch: book.StartEpoch(int32(i))}]; ok && a.Offset >= 0 {
			first = min(first, a.Offset)
		}
		d.starts[i] = max(d.starts[i], first)
	}
	return nil
}

// lookUpGroup sets a group's positions to its committed offsets that the log holds. With refuse, one without is an error.
func (d *State) lookUpGroup(ctx context.Context, g int, refuse bool) error {
	group := d.Group(g)
	if group == "" {
		return nil
	}
	committed, err := d.Cluster.CommittedOffsets(ctx, d.Layout, group)
	if err != nil {
		return err
	}
	for number, offset := range committed {
		p := d.Layout.All()[number]
		at, held := d.Resume(ctx, g, p.Number, offset)
		switch {
		case held:
		case refuse:
			return result.Misfit("auto.offset.reset=none: group %s has no committed offset that the log holds for every partition", group)
		case offset >= 0 && !d.At.Later:
			d.At.Tell(stats.OffsetReset, []int32{p.Number}, fmt.Sprintf("group %s has committed offset %d, which partition %d of topic %s does not hold: kt reads from %d on", group, offset, p.ID, p.Topic, at))
		}
	}
	return nil
}

// Resume returns the offset at which a group goes on in a partition, from the one that it has committed, -1: none. It reports
// whether the log holds that one.
func (d *State) Resume(ctx context.Context, group int, number int32, committed int64) (at int64, held bool) {
	next := &d.At.Groups[group].At(number).Next
	if committed < 0 {
		return next.Load(), false
	}
	held = int(number) >= min(len(d.begins), len(d.starts)) || committed >= d.begins[number] && committed <= d.At.At(number).End.Load()
	if !held && committed > d.begins[number] { // other readers may be ahead of the end that is known
		ends, _, err := d.Cluster.LogEnds(ctx, d.Layout)
		held = err != nil || committed <= ends[number]
	}
	if !held {
		committed = d.starts[number]
	}
	next.Store(committed)
	return committed, held
}

// Passed moves a group's position over records that were deleted before it has read them: the log begins at start now.
func (d *State) Passed(group int, number int32, start int64) {
	at := d.At.Groups[group].At(number)
	gone := start - at.Next.Load()
	if gone <= 0 {
		return
	}
	at.Next.Store(start)
	at.Deleted.Add(gone)
	if d.Books != nil {
		d.Books[group].Begin(number, start)
	}
}

// IsElsewhere reports whether another process reads a partition at a position that is unknown here, because it is not
// committed.
func (d *State) IsElsewhere(partition int32) bool {
	n := d.Plan.ReaderOf(partition)
	return d.Plan.Read.Group == "" && (n < 0 || n >= d.Plan.Read.Consumers)
}

// Group is plan.Read.GroupName.
func (d *State) Group(index int) string { return d.Plan.Read.GroupName(index) }

// SetEndOffsets ends reading at the partitions' current end offsets. It retries while brokers are away.
func (d *State) SetEndOffsets(ctx context.Context) error {
	for {
		var all []int64 // asked for first, or the marker that ends a transaction now would be behind it
		if d.Settings.ReadCommitted() {
			all, _ = d.Cluster.EndOffsets(ctx, d.Layout, false)
		}
		ends, err := d.Cluster.EndOffsets(ctx, d.Layout, d.Settings.ReadCommitted())
		if err == nil {
			switch {
			case d.Blind:
				d.awaitStored(ctx, ends)
			case d.Written != nil:
				d.awaitWritten(ctx, ends)
			}
			d.withheld(ctx, all, ends)
			for i := range ends {
				if d.IsElsewhere(int32(i)) {
					ends[i] = 0
				}
			}
			d.At.SetEndOffsets(ends)
			return nil
		}
		if !kafka.Pause(ctx, time.Second) {
			return fmt.Errorf("find the last offsets: %w", err)
		}
	}
}

// withheld reports the records that wait behind open transactions. all are the ends of the logs, ends those of committed records.
func (d *State) withheld(ctx context.Context, all, ends []int64) {
	var behind int64
	var in []int32
	for i := range min(len(all), len(ends)) {
		if n := all[i] - ends[i]; n > 0 && !d.IsElsewhere(int32(i)) && (d.Plan.Read.Group == "" || !d.At.Later) {
			behind, in = behind+n, append(in, int32(i))
		}
	}
	if behind == 0 {
		return
	}
	p := d.Layout.All()[in[0]]
	text := fmt.Sprintf("%s behind open transactions: read_committed reads partition %d up to offset %d", theme.Plural(behind, "record waits", "records wait"), p.ID, ends[p.Number])
	if at := d.Cluster.TimeOf(ctx, p, ends[p.Number]); !at.IsZero() {
		text += ", which is of " + at.UTC().Format(time.RFC3339)
	}
	d.At.Withheld.Store(behind)
	d.At.Tell(stats.TransactionOpen, in, text)
}

// awaitWritten moves ends behind the records that this process wrote, as far as the logs still hold them.
func (d *State) awaitWritten(ctx context.Context, ends []int64) {
	written := d.Written()
	behind := false
	for i, next := range written {
		behind = behind || next > ends[i]
	}
	if !behind {
		return
	}
	last, _, _ := d.Cluster.LastOffsets(ctx, d.Layout) // unknown ends: the records may arrive
	for i, next := range written {
		if last[i] >= 0 {
			next = min(next, last[i])
		}
		ends[i] = max(ends[i], next)
	}
}

// awaitStored moves ends on until the logs have grown by what this process sent without an acknowledgement. It gives up when
// they come no nearer to that for 5 s.
func (d *State) awaitStored(ctx context.Context, ends []int64) {
	sent, missing := d.Written(), int64(math.MaxInt64)
	for since := time.Now(); time.Since(since) < 5*time.Second; {
		left := int64(0)
		for i, n := range sent {
			left += max(0, d.opened[i]+n-ends[i])
		}
		if left == 0 {
			return
		} else if left < missing {
			missing, since = left, time.Now()
		}
		if !kafka.Pause(ctx, 100*time.Millisecond) {
			return
		}
		if now, err := d.Cluster.EndOffsets(ctx, d.Layout, d.Settings.ReadCommitted()); err == nil {
			copy(ends, now)
		}
	}
}

// AtEndOffsets reports whether every partition was read up to its end offset.
func (d *State) AtEndOffsets() bool { return d.At.AtEndOffsets() }

// Progress returns the offsets that readers in other processes of the same load have committed, added up, and the progress of
// decompressing. Other members of the group do not count.
func (d *State) Progress() int64 {
	n := d.Memory.progress()
	if d.Plan.Share.Consumers > 0 {
		n += d.At.SumElsewhere()
	}
	return n
}

// Fatal reports whether an error of a fetch ends reading.
func Fatal(err error) bool {
	if LostData(err) {
		return false // the client goes on at the new end of the log
	}
	return fatalCodes[kafka.ErrorCode(err)]
}

// fatalCodes are the errors of a fetch that a retry does not mend.
var fatalCodes = map[string]bool{
	"TOPIC_AUTHORIZATION_FAILED": true, "GROUP_AUTHORIZATION_FAILED": true, "CLUSTER_AUTHORIZATION_FAILED": true,
	"OFFSET_OUT_OF_RANGE": true, "UNKNOWN_TOPIC_OR_PARTITION": true, "UNKNOWN_TOPIC_ID": true,
	"INVALID_GROUP_ID": true, "UNSUPPORTED_VERSION": true, "FENCED_INSTANCE_ID": true,
	"INCONSISTENT_GROUP_PROTOCOL": true, "UNSUPPORTED_ASSIGNOR": true, "INVALID_SESSION_TIMEOUT": true,
	"UNRELEASED_INSTANCE_ID": true, "GROUP_MAX_SIZE_REACHED": true,
}
