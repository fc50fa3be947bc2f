package watch

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// lagPoll is the time between two requests for the ends of the partitions, of very many a multiple. An answer tells of now for
// lagHolds, and that multiple of it.
const lagPoll, lagHolds = time.Second, 3 * time.Second

// ConsumerLag is the source of the number of records that wait to be read.
type ConsumerLag struct {
	engine.Events
	cluster *kafka.Cluster
	at      *kafka.Positions
	now     func() time.Duration
	counted []int64      // by partition: the sum of the windows so far
	asked   atomic.Int64 // when the ends were asked for that are known, from the start of the run
	rarely  time.Duration
	others  string // members that the last question found
	told    string // those of the last event
}

var _ engine.Source = (*ConsumerLag)(nil)

// NewConsumerLag returns the source for readers that are at these positions.
func NewConsumerLag(c *kafka.Cluster, at *kafka.Positions) *ConsumerLag {
	return &ConsumerLag{cluster: c, at: at, counted: make([]int64, at.Layout.Count()), rarely: time.Duration(rarely(at.Layout.Count())), now: func() time.Duration { return 0 }}
}

// Start begins to ask for the ends of the partitions.
func (l *ConsumerLag) Start(ctx context.Context, now func() time.Duration) {
	l.now = now
	l.Go(func() { engine.Every(ctx, l.rarely*lagPoll, func() { l.ask(ctx) }) })
}

// ask gets the starts and ends of the partitions, and the committed offsets of groups that have readers elsewhere too.
func (l *ConsumerLag) ask(ctx context.Context) {
	others, asked := "", l.now()
	starts, err := l.cluster.LogStarts(ctx, l.at.Layout)
	var ends []int64
	if err == nil {
		ends, err = l.cluster.EndOffsets(ctx, l.at.Layout, l.at.Committed)
	}
	for i, start := range starts {
		if err == nil && start >= 0 && ends[i] >= 0 {
			l.at.At(int32(i)).Start.Store(start)
			l.at.At(int32(i)).End.Store(ends[i])
		}
	}
	for i := range l.at.Groups {
		g := &l.at.Groups[i]
		if g.Name == "" || g.Owned() == l.at.Layout.Count() {
			continue
		}
		committed, bad := l.cluster.CommittedOffsets(ctx, l.at.Layout, g.Name)
		if bad != nil {
			err = bad
			continue
		}
		for number, offset := range committed {
			g.At(int32(number)).Elsewhere.Store(offset)
		}
		if !l.at.Shared && others == "" {
			others = l.cluster.OtherMembers(ctx, l.at.Layout, g)
		}
	}
	if err == nil {
		l.asked.Store(int64(asked))
	}
	// In a rebalance a partition may have no reader here for a moment, so members count only when they are found twice.
	if others != "" && others == l.others && others != l.told {
		l.told = others
		l.Add(stats.Event{At: l.now(), Kind: stats.OtherMembers, Broker: -1, To: -1, Text: others})
	}
	l.others = others
}

// Take returns the change of the consumer lag since the last call, and the events of the readers.
func (l *ConsumerLag) Take() stats.Window {
	w := l.Events.Take()
	w.Withheld = l.at.Withheld.Swap(0)
	if l.now()-time.Duration(l.asked.Load()) > l.rarely*lagHolds {
		w.LagUnknown = 1
	}
	var gone, added []int32
	var names []string
	for _, p := range l.at.Layout.All()[len(l.counted):] {
		l.counted, added, names = append(l.counted, 0), append(added, p.Number), append(names, fmt.Sprintf("%s-%d", p.Topic, p.ID))
	}
	othersCount := make([]bool, len(l.at.Groups))
	for g := range othersCount {
		othersCount[g] = l.at.Later || l.at.Groups[g].Owned() > 0
	}
	for i := range l.counted {
		number := int32(i)
		var p stats.Partition
		for g := range l.at.Groups {
			p.ConsumerLag += waiting(l.at.Groups[g].At(number), l.at.At(number), othersCount[g])
			p.Deleted += l.at.Groups[g].At(number).Deleted.Swap(0)
		}
		p.ConsumerLag, l.counted[i] = p.ConsumerLag-l.counted[i], p.ConsumerLag
		if p == (stats.Partition{}) {
			continue
		}
		if p.Deleted > 0 {
			gone = append(gone, number)
		}
		if w.Partitions == nil {
			w.Partitions = make(map[int32]stats.Partition)
		}
		w.Partitions[number] = p
		w.ConsumerLag += p.ConsumerLag
		w.Deleted += p.Deleted
	}
	l.at.Tell(stats.PartitionsAdded, added, theme.Plural(len(added), "partition was", "partitions were")+" added, which kt reads from the start: "+kafka.Some(names))
	l.at.Tell(stats.RecordsDeleted, gone, theme.Plural(w.Deleted, "record was", "records were")+" deleted before they were read")
	for _, e := range l.at.Told() {
		e.At = l.now()
		w.Events = append(w.Events, e)
	}
	return w
}

// waiting returns the number of records of a partition that a group has not read yet. A partition that no reader here owns is counted
// by the process that owns it: another one, if that counts those without a reader here (othersCount), or has committed more than was
// read here. Until the first fetch of a reader that has just taken over, the committed offset counts.
func waiting(at *kafka.Position, log *kafka.Bounds, othersCount bool) int64 {
	next, elsewhere := at.Next.Load(), at.Elsewhere.Load()
	if at.Owner.Load() == 0 && (othersCount || elsewhere > next) {
		return 0
	}
	return at.Records(max(0, log.End.Load()-max(next, elsewhere, log.Start.Load())))
}

// RecordDeleter deletes the records that all readers have read, so that the embedded cluster's memory holds the unread ones and
// little more.
type RecordDeleter struct {
	engine.Events // there are none
	each          func()
	end           func()
}

var _ engine.Source = (*RecordDeleter)(nil)

// NewRecordDeleter returns the one for readers that are at these positions.
func NewRecordDeleter(e *kafka.Embedded, at *kafka.Positions) *RecordDeleter {
	d := new(RecordDeleter)
	read := func(below func(number int32) int64) {
		for _, p := range at.Layout.All() {
			e.DeleteRead(d, p.Topic, p.ID, below(p.Number))
		}
	}
	d.each = func() {
		read(func(number int32) int64 {
			below := int64(math.MaxInt64)
			for g := range at.Groups {
				below = min(below, at.Groups[g].At(number).Next.Load())
			}
			return below
		})
	}
	d.end = func() { read(func(int32) int64 { return math.MaxInt64 }) } // they need nothing any more
	read(func(int32) int64 { return 0 })
	return d
}

// NewUnreadDeleter returns one for topics that are written to, as far as nobody reads them.
func NewUnreadDeleter(e *kafka.Embedded, of *kafka.Layout) *RecordDeleter {
	return &RecordDeleter{
		each: func() {
			for _, p := range of.All() {
				e.DeleteUnread(p.Topic, p.ID)
			}
		},
		end: func() {},
	}
}

// deleteEvery is the time between two deletions: 6 MiB of records at 50,000 records of 512 bytes a second.
const deleteEvery = 250 * time.Millisecond

// Start begins to delete.
func (d *RecordDeleter) Start(ctx context.Context, _ func() time.Duration) {
	d.Go(func() {
		engine.Every(ctx, deleteEvery, d.each)
		d.end()
	})
}
