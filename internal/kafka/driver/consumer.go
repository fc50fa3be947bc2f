package driver

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// ReadOptions are the topics of a Consumer, and the way to read them.
type ReadOptions struct {
	Plan     plan.Plan
	Settings javaconf.Consumer
	Topics   []result.Topic
	Run      uint64       // end-to-end latency counts for stamps of this run; 0: for those of any
	Book     *ledger.Book // of the run to verify; nil: nothing is verified

	// Written returns, by partition, the offset after the newest record that this process
	// wrote. Reading does not stop before it, even if the broker's end is lower for a
	// while. It is nil if the process writes nothing.
	Written func() []int64

	// Again is called before partitions are read again because their logs were truncated
	// below the position of a reader. It may be nil.
	Again func(partitions int)
}

// Consumer is the driver that reads. NewConsumer makes it.
type Consumer struct {
	ReadOptions
	cluster *kafka.Cluster
	layout  *kafka.Layout
	starts  []int64 // by partition number: first offset for readers without a committed one
	begins  []int64 // by partition number: start of the log
	at      *kafka.Positions
	books   []*ledger.Reader // by group; nil: nothing is verified

	mu      sync.Mutex // guards the rest
	waiting int        // clients without partitions yet
	ready   chan struct{}
}

var _ engine.ReadDriver = (*Consumer)(nil)

// NewConsumer asks the cluster for the starts and ends of the partitions, and for the committed
// offsets of the plan's groups.
func NewConsumer(ctx context.Context, c *kafka.Cluster, r ReadOptions) (*Consumer, error) {
	d := &Consumer{
		ReadOptions: r, cluster: c, layout: kafka.NewLayout(r.Topics),
		waiting: r.Plan.Read.Clients(), ready: make(chan struct{}),
	}
	ends, err := c.EndOffsets(ctx, d.layout, r.Settings.ReadCommitted())
	if err != nil {
		return nil, fmt.Errorf("find the last offsets: %w", err)
	}
	from, refuse := r.Settings.From(r.Plan.Read.From, time.Now())
	if d.starts, d.begins, err = c.StartOffsets(ctx, d.layout, from, ends); err != nil {
		return nil, err
	}
	if r.Book != nil && !r.Plan.Writes() { // a round trip starts at the plan's offsets
		if err := d.startAt(ctx, r.Book); err != nil {
			return nil, err
		}
	}
	d.at = d.positions(ends)
	for g := range d.at.Groups {
		if err := d.lookUpGroup(ctx, g, refuse); err != nil {
			return nil, err
		}
	}
	if r.Book != nil {
		d.verify(r.Book)
	}
	return d, nil
}

// positions returns the positions before the first record is read.
func (d *Consumer) positions(ends []int64) *kafka.Positions {
	var groups []string
	for g := range max(1, d.Plan.Read.Groups) {
		groups = append(groups, d.group(g))
	}
	at := kafka.NewPositions(d.layout, groups, d.starts, ends)
	at.Committed = d.Settings.ReadCommitted()
	at.Later = d.Plan.Share.Consumer > 0
	return at
}

// startAt starts reading at the start of the book: earlier records are none of its. Where the
// log was truncated below that since, the book's records go on from the end of the truncated
// log.
func (d *Consumer) startAt(ctx context.Context, book *ledger.Book) error {
	var questions []kafka.LeaderEpoch
	for number := range int32(d.layout.Count) {
		if epoch := book.StartEpoch(number); epoch >= 0 {
			questions = append(questions, kafka.LeaderEpoch{Number: number, Epoch: epoch})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, kafka.AdminTimeout)
	defer cancel()
	answers, err := d.cluster.EpochEnds(ctx, d.layout, questions)
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

// lookUpGroup sets a group's positions to its committed offsets. With refuse, a partition
// without one is an error.
func (d *Consumer) lookUpGroup(ctx context.Context, g int, refuse bool) error {
	group := d.group(g)
	if group == "" {
		return nil
	}
	committed, err := d.cluster.CommittedOffsets(ctx, d.layout, group)
	if err != nil {
		return err
	}
	for number, offset := range committed {
		if offset < 0 && refuse {
			return kafka.Misfit("auto.offset.reset=none: group %s has no committed offset for every partition", group)
		}
		if offset >= 0 {
			d.at.Groups[g].Next[number].Store(offset)
		}
	}
	return nil
}

// verify makes one ledger.Reader for each group. It begins at the group's position, because
// records before it were read in an earlier run.
func (d *Consumer) verify(book *ledger.Book) {
	for g := range d.at.Groups {
		r := ledger.NewReader(book.Run)
		for number, begin := range d.begins {
			r.Begin(int32(number), max(begin, d.at.Groups[g].Next[number].Load()))
		}
		d.books = append(d.books, r)
	}
}

// reader returns the number of the consumer of this process that reads a partition without a
// group. No consumer has that number if another process reads it.
func (d *Consumer) reader(partition int32) int {
	share, own := d.Plan.Share, d.Plan.Read.Consumers
	switch {
	case share.Slots > 0 && share.Has(partition):
		return int(partition) / share.Slots % own
	case share.Slots > 0:
		return -1
	case share.Consumers > 0:
		return int(partition)%share.Consumers - share.Consumer
	}
	return int(partition) % own
}

// elsewhere reports whether another process reads a partition at a position that is unknown
// here, because it is not committed.
func (d *Consumer) elsewhere(partition int32) bool {
	n := d.reader(partition)
	return d.Plan.Read.Group == "" && (n < 0 || n >= d.Plan.Read.Consumers)
}

// group returns the name of a client's group, or nothing for readers without one.
func (d *Consumer) group(index int) string {
	name := d.Plan.Read.Group
	if name != "" && d.Plan.Read.Groups > 1 {
		name += "-" + strconv.Itoa(index)
	}
	return name
}

// Positions returns the positions of the readers.
func (d *Consumer) Positions() *kafka.Positions { return d.at }

// SetEndOffsets ends reading at the partitions' current end offsets. It retries while brokers
// are away.
func (d *Consumer) SetEndOffsets(ctx context.Context) error {
	for {
		ends, err := d.cluster.EndOffsets(ctx, d.layout, d.Settings.ReadCommitted())
		if err == nil {
			if d.Written != nil {
				d.awaitWritten(ctx, ends)
			}
			for i := range ends {
				if d.elsewhere(int32(i)) {
					ends[i] = 0
				}
			}
			d.at.SetEndOffsets(ends)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("find the last offsets: %w", err)
		case <-time.After(time.Second):
		}
	}
}

// awaitWritten moves ends behind the records that this process wrote, as far as the logs still
// hold them: truncated records never arrive.
func (d *Consumer) awaitWritten(ctx context.Context, ends []int64) {
	written := d.Written()
	behind := false
	for i, next := range written {
		behind = behind || next > ends[i]
	}
	if !behind {
		return
	}
	last, _, _ := d.cluster.LastOffsets(ctx, d.layout) // unknown ends: the records may arrive
	for i, next := range written {
		if last[i] >= 0 {
			next = min(next, last[i])
		}
		ends[i] = max(ends[i], next)
	}
}

// AtEndOffsets reports whether every partition was read up to its end offset.
func (d *Consumer) AtEndOffsets() bool { return d.at.AtEndOffsets() }

// Elsewhere returns the offsets that readers in other processes of the same load have committed,
// added up. Other members of the group do not count.
func (d *Consumer) Elsewhere() int64 {
	if d.Plan.Share.Consumers == 0 {
		return 0
	}
	return d.at.SumElsewhere()
}

// OpenReader makes a reader. Its client connects with the first Read, so that joining a group is
// part of the run. In a run that also sends, the last reader waits until all have their
// partitions, before the first record is sent.
func (d *Consumer) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	perGroup := d.Plan.Read.Consumers
	r := &fetcher{driver: d, shard: s, group: s.Index / perGroup, member: s.Index % perGroup, running: ctx}
	r.hooks = &fetchHooks{clientHooks: clientHooks{s}}
	if !d.Plan.Writes() {
		return r, nil
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if s.Index < s.Count-1 || d.Plan.Read.Group == "" {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	select {
	case <-d.ready:
		return r, nil
	case <-ctx.Done():
		_ = r.Close()
		return nil, fmt.Errorf("group %s: no partitions yet: %w", d.Plan.Read.Group, context.Cause(ctx))
	}
}

// joined notes that a client has its first partitions.
func (d *Consumer) joined() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 {
		close(d.ready)
	}
}

// fatal reports whether an error of a fetch ends reading.
func fatal(err error) bool {
	if lostData(err) {
		return false // the client goes on at the new end of the log
	}
	return fatalCodes[errorCode(err)]
}

// fatalCodes are the errors of a fetch that a retry does not mend.
var fatalCodes = map[string]bool{
	"TOPIC_AUTHORIZATION_FAILED": true, "GROUP_AUTHORIZATION_FAILED": true, "CLUSTER_AUTHORIZATION_FAILED": true,
	"OFFSET_OUT_OF_RANGE": true, "UNKNOWN_TOPIC_OR_PARTITION": true, "UNKNOWN_TOPIC_ID": true,
	"INVALID_GROUP_ID": true, "UNSUPPORTED_VERSION": true, "FENCED_INSTANCE_ID": true,
	"INCONSISTENT_GROUP_PROTOCOL": true, "UNSUPPORTED_ASSIGNOR": true, "INVALID_SESSION_TIMEOUT": true,
	"UNRELEASED_INSTANCE_ID": true, "GROUP_MAX_SIZE_REACHED": true,
}
