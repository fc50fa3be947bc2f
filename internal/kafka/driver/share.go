package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/stats"
)

// Share is the driver that reads in share groups. A partition is a queue there: its readers have no positions, and what waits is what
// the group has not settled. Set its fields, and call Begin.
type Share struct {
	Cluster  *kafka.Cluster
	Settings javaconf.Consumer
	Layout   *kafka.Layout
	Memory   *reading.Memory
	Groups   []kafka.ShareGroup
	Written  func() []int64  // as in reading.Options
	Embedded *kafka.Embedded // it deletes the records that all groups have settled; nil: another cluster

	*queue.Arrivals

	opened, from []int64      // by partition number: the ends of the logs before the load, and where a new group begins
	leaders      []int32      // the same
	waiting      atomic.Int64 // members that have fetched nothing yet
	ready        chan struct{}
	others       atomic.Bool           // a group has members of other processes
	forgotten    atomic.Bool           // brokers have lost what they knew of a group
	failed       atomic.Pointer[error] // why reading cannot go on

	mu      sync.Mutex
	doubted []acks                      // guarded by mu: those that no broker has confirmed
	reached map[place]reach             // guarded by mu
	tips    map[kafka.LeaderEpoch]int64 // guarded by mu: the furthest record delivered of each leader
	missing int                         // guarded by mu: looks in a row that did not find a topic
	locks   atomic.Int64                // of stats.Share
	news    shareNews
}

// place is a partition of a group, by their numbers.
type place struct {
	group  int
	number int32
}

// reach is how far a group is in a partition.
type reach struct {
	from, start, end int64 // where it began, below 0: not known; what it had not settled at the last look; behind the last record delivered
	first, passed    int64 // records delivered for the first time, and offsets that were deleted before they were settled, as far as is known
}

var _ engine.ReadDriver = (*Share)(nil)

// Begin notes where the logs end before the load. o is what all queues have in common.
func (d *Share) Begin(ctx context.Context, o queue.Options) (err error) {
	d.ready, d.reached, d.tips = make(chan struct{}), make(map[place]reach), make(map[kafka.LeaderEpoch]int64)
	d.waiting.Store(int64(o.Plan.Read.Clients()))
	d.opened, _, err = d.Cluster.LogEnds(ctx, d.Layout)
	if d.from = d.opened; err == nil && !o.Plan.Read.From.Latest {
		d.from, err = d.Cluster.LogStarts(ctx, d.Layout)
	}
	if err != nil {
		return fmt.Errorf("find the first and last offsets: %w", err)
	}
	for _, t := range d.Layout.Topics {
		for id := range int32(t.Partitions) {
			d.leaders = append(d.leaders, t.Leaders[id])
		}
	}
	o.Queues, o.Shared, o.Counted, o.Backlog = len(d.opened), func(int32) bool { return true }, true, d.backlog
	if d.Written != nil {
		o.Written = func() []int64 { // of this load
			all := d.Written()
			for q, opened := range d.opened {
				all[q] = max(0, all[q]-opened)
			}
			return all
		}
	}
	d.Arrivals = queue.NewArrivals(o)
	for i := range d.Groups {
		d.free(&d.Groups[i], d.from) // before anything is written
		for q, from := range d.from {
			if !d.Groups[i].Made {
				from = -1
			} else if o.Book != nil {
				d.Skipped(i, int32(q), from-o.Book.StartOffset(int32(q)))
			}
			d.reached[place{i, int32(q)}] = reach{from: from, start: from}
		}
	}
	return nil
}

// backlog returns how many records each group has to settle. The brokers do not tell that before it has settled one of the partition.
func (d *Share) backlog(ctx context.Context) (all []int64, err error) {
	ends, _, err := d.Cluster.LogEnds(ctx, d.Layout)
	d.noteMissing(ends, err)
	var begins []int64
	if err == nil {
		begins, err = d.Cluster.LogStarts(ctx, d.Layout)
	}
	locks := int64(0)
	for i := 0; err == nil && i < len(d.Groups); i++ {
		g := &d.Groups[i]
		var starts, left, delivered []int64
		for q := range d.Queues { // before the starts are asked for, or those of a moment later would seem locked
			delivered = append(delivered, d.delivered(place{i, int32(q)}, nil, 0))
		}
		if starts, left, err = d.Cluster.ShareOffsets(ctx, d.Layout, g.Name); err == nil {
			d.free(g, starts)
		}
		for q, n := range left[:d.Queues] {
			start := starts[q]
			d.settledUpTo(place{i, int32(q)}, start, begins[q])
			if start < 0 && g.Made {
				start = d.from[q]
			}
			if n < 0 && start >= 0 {
				n = max(0, ends[q]-max(start, begins[q]))
			}
			if used := delivered[q] - max(start, begins[q]); start >= 0 {
				locks = max(locks, min(used, int64(cmp.Or(g.Locks, math.MaxInt))))
			}
			all = append(all, n)
		}
		d.look(ctx, i)
	}
	if err == nil {
		d.locks.Store(locks)
	}
	return all, err
}

// noteMissing ends reading when a topic is not there any more. The client would wait for it.
func (d *Share) noteMissing(ends []int64, err error) {
	const looks = 3 // a broker that has just started may not know it yet
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.missing++; !kafka.IsAny(err, kerr.UnknownTopicOrPartition) {
		d.missing = 0
	}
	if at := slices.Index(ends, -1); at >= 0 && d.missing >= looks {
		gone := fmt.Errorf("topic %s is not there any more: %w", d.Layout.All()[at].Topic, err)
		d.failed.CompareAndSwap(nil, &gone)
	}
}

// delivered notes records that a group got, some for the first time, and returns the furthest offset behind its records.
func (d *Share) delivered(p place, records []*kgo.Record, first int) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.reached[p]
	for _, r := range records {
		of := kafka.LeaderEpoch{Number: p.number, Epoch: r.LeaderEpoch}
		d.tips[of], at.end = max(d.tips[of], r.Offset), max(at.end, r.Offset+1)
	}
	at.first += int64(first)
	d.reached[p] = at
	return at.end
}

// confirm takes back what was read of logs that do not hold all that was delivered, or of which no broker says so: see
// reading.State.Readers. A group gets nothing twice, so it is not known what is left of it.
func (d *Share) confirm(ctx context.Context, all []*ledger.Reader) error {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), kafka.ConfirmTimeout)
	defer cancel()
	answers, err := d.Cluster.EpochEnds(asking, d.Layout, slices.Collect(maps.Keys(d.tips)))
	cut := make(map[int32]bool)
	for tip, offset := range d.tips {
		if a, ok := answers[tip]; !ok || a.Epoch != tip.Epoch || a.Offset <= offset {
			cut[tip.Number] = true
			for g := range all {
				d.Unfinished(g, tip.Number)
				all[g].Log(tip.Number).Unconfirmed()
			}
		}
	}
	if len(cut) > 0 {
		err = errors.Join(err, fmt.Errorf("logs were cut off below records that share group %s got, or no broker says that they were not (partitions: %d)", d.Plan.Read.Group, len(cut)))
	}
	return err
}

// settledUpTo notes the first offset that a group has not settled, below 0: it is not known; and where the log begins. The brokers
// pass over records that are deleted.
func (d *Share) settledUpTo(p place, start, begin int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.reached[p]
	if at.start < 0 {
		at.from, at.start = start, start
	}
	if gone := begin - at.start; at.start >= 0 && gone > 0 {
		d.Skipped(p.group, p.number, gone)
		at.passed, at.end = at.passed+gone, max(at.end, begin)
	}
	at.start = max(at.start, start, begin)
	d.reached[p] = at
}

// Take returns the change of the consumer lag since the last call, the locks, and the events of the groups; at the end of the load
// also what was deleted before it was delivered.
func (d *Share) Take() stats.Window {
	w := d.Arrivals.Take()
	w.Locks = d.locks.Load()
	d.mu.Lock()
	for p, at := range d.reached {
		if gone := min(at.passed, at.end-at.from-at.first); d.news.ended() && gone > 0 && queue.Mine(&d.Plan, p.number) {
			w.Add(&stats.Window{Counters: stats.Counters{Deleted: gone}, Partitions: map[int32]stats.Partition{p.number: {Deleted: gone}}})
			at.passed = 0
			d.reached[p] = at
		}
	}
	d.mu.Unlock()
	found := d.news.events.Take()
	w.Add(&found)
	return w
}

// free lets the embedded broker delete the records that a group has settled.
func (d *Share) free(g *kafka.ShareGroup, starts []int64) {
	for i, p := range d.Layout.All() {
		if d.Embedded != nil && i < len(starts) {
			d.Embedded.DeleteRead(g, p.Topic, p.ID, max(0, starts[i]))
		}
	}
}

// Readers returns the records that were accepted or archived. Others are unchecked where that is not all that the group settled.
func (d *Share) Readers(ctx context.Context) ([]*ledger.Reader, error) {
	why, compacted := "", d.Cluster.CompactedSince(ctx, d.Layout)
	for i := range d.Groups {
		switch {
		case compacted != nil:
			why = compacted.Error()
		case d.others.Load():
			why = "other processes have members in it, which may have accepted them"
		case !d.Groups[i].Made:
			why = "it was there before, and may have accepted them then"
		case d.forgotten.Load():
			why = "brokers forgot it while it was read, as when a backup is restored, so it began anew"
		case len(d.doubted) > 0:
			why = "brokers did not confirm all acknowledgements, so they may be archived"
		}
		for q := 0; why != "" && q < d.Queues; q++ {
			d.Unfinished(i, int32(q))
		}
	}
	all, err := d.Arrivals.Readers(ctx)
	for i := 0; err == nil && !d.others.Load() && i < len(d.doubted); i++ { // brokers have taken those that never came again, although they could
		if a := &d.doubted[i]; !a.last {
			d.Settle(a.group, a.number, len(a.records), a.records)
		}
	}
	if errors.Is(err, queue.ErrWaiting) {
		err = fmt.Errorf("reading ended before share group %s had read all records: some are still to be delivered, or wait for their acknowledgements", d.Plan.Read.Group)
	}
	if n := d.Book.Verify(all...).Unchecked; why != "" && n > 0 {
		err = errors.Join(err, fmt.Errorf("share group %s did not give %d records to these consumers: %s", d.Plan.Read.Group, n, why))
	}
	return all, errors.Join(err, d.confirm(ctx, all))
}

// OpenReader makes a member of a group. In a run that also sends, the last one waits until all have fetched: then the group has its
// place in each partition.
func (d *Share) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	number, _ := d.Plan.Reader(s.Index)
	r := &sharer{
		driver: d, shard: s, member: strconv.Itoa(number + 1), group: s.Index / d.Plan.Read.Consumers,
		rng: rand.New(rand.NewPCG(uint64(number), 0x61636b)), waiting: make(map[int32][]acks),
	}
	if !d.Plan.Writes() {
		return r, nil
	}
	if err := r.connect(); err != nil || s.Index < s.Count-1 {
		return r, err
	}
	return awaitAll(ctx, r, d.ready, "share group "+d.Plan.Read.Group+": its members could not fetch")
}
