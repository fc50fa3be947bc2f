package watch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
)

// lagPoll is the time between two requests for the ends of the partitions. In between,
// readers learn them from their fetches.
const lagPoll = time.Second

// ConsumerLag is the source of the number of records that wait to be read.
type ConsumerLag struct {
	cluster *kafka.Cluster
	at      *kafka.Positions
	asking  sync.WaitGroup
	counted []int64 // by partition: the sum of the windows so far
	others  string  // what was found last
	told    string  // of it, the last event
	found   atomic.Pointer[stats.Event]
}

var _ engine.Source = (*ConsumerLag)(nil)

// NewConsumerLag returns the source for readers that are at these positions.
func NewConsumerLag(c *kafka.Cluster, at *kafka.Positions) *ConsumerLag {
	return &ConsumerLag{cluster: c, at: at, counted: make([]int64, len(at.Ends))}
}

// Start begins to ask for the ends of the partitions.
func (l *ConsumerLag) Start(ctx context.Context, now func() time.Duration) {
	l.asking.Go(func() { engine.Every(ctx, lagPoll, func() { l.ask(ctx, now) }) })
}

// Wait returns when no request is under way.
func (l *ConsumerLag) Wait() { l.asking.Wait() }

// ask gets the ends of the partitions, and the committed offsets of groups that have readers
// in other processes. Offsets of brokers that are away stay as they were.
func (l *ConsumerLag) ask(ctx context.Context, now func() time.Duration) {
	var others string
	if ends, err := l.cluster.EndOffsets(ctx, l.at.Layout, l.at.Committed); err == nil {
		for i, end := range ends {
			if end >= 0 {
				l.at.Ends[i].Store(end)
			}
		}
	}
	for i := range l.at.Groups {
		g := &l.at.Groups[i]
		if g.Name == "" || g.OwnsAll() {
			continue
		}
		committed, err := l.cluster.CommittedOffsets(ctx, l.at.Layout, g.Name)
		if err != nil {
			continue
		}
		for number, offset := range committed {
			g.Elsewhere[number].Store(offset)
		}
		if !l.at.Shared && others == "" {
			others = l.cluster.OtherMembers(ctx, l.at.Layout, g)
		}
	}
	// In a rebalance a partition may have no reader here for a moment, so only what is found twice counts.
	if others != "" && others == l.others && others != l.told {
		l.told = others
		l.found.Store(&stats.Event{At: now(), Kind: stats.OtherMembers, Broker: -1, To: -1, Text: others})
	}
	l.others = others
}

// Take returns the change of the consumer lag since the last call.
func (l *ConsumerLag) Take() stats.Window {
	var w stats.Window
	if e := l.found.Swap(nil); e != nil {
		w.Events = append(w.Events, *e)
	}
	othersCount := make([]bool, len(l.at.Groups))
	for g := range othersCount {
		othersCount[g] = l.at.Later || l.at.Groups[g].OwnsAny()
	}
	for i := range l.at.Ends {
		end := l.at.Ends[i].Load()
		var lag int64
		for g := range l.at.Groups {
			lag += waiting(&l.at.Groups[g], i, end, othersCount[g])
		}
		change := lag - l.counted[i]
		if change == 0 {
			continue
		}
		l.counted[i] = lag
		if w.Partitions == nil {
			w.Partitions = make(map[int32]stats.Partition)
		}
		w.Partitions[int32(i)] = stats.Partition{ConsumerLag: change}
		w.ConsumerLag += change
	}
	return w
}

// waiting returns the number of records of a partition that a group has not read yet.
//
// Lag of a partition that no reader in this process owns is counted by the process that owns
// it. That is another one if it counts all partitions without a reader here (othersCount), or
// has committed more than was read here.
//
// A reader that has just taken over a partition does not know its position before the first
// fetch. Until then the committed offset counts.
func waiting(g *kafka.GroupPositions, number int, end int64, othersCount bool) int64 {
	next, elsewhere := g.Next[number].Load(), g.Elsewhere[number].Load()
	if !g.Owned[number].Load() && (othersCount || elsewhere > next) {
		return 0
	}
	return max(0, end-max(next, elsewhere))
}
