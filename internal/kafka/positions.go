package kafka

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// layout numbers the partitions of the topics that are read, counting on from one
// topic to the next.
type layout struct {
	topics []result.Topic
	base   map[string]int32 // the number of each topic's partition 0
	count  int
}

func newLayout(topics []result.Topic) layout {
	l := layout{topics: topics, base: make(map[string]int32, len(topics))}
	for _, t := range topics {
		l.base[t.Name] = int32(l.count)
		l.count += t.Partitions
	}
	return l
}

func (l *layout) names() []string {
	var names []string
	for _, t := range l.topics {
		names = append(names, t.Name)
	}
	return names
}

// each calls f for every partition.
func (l *layout) each(f func(topic string, partition, number int32)) {
	for _, t := range l.topics {
		for p := range int32(t.Partitions) {
			f(t.Name, p, l.base[t.Name]+p)
		}
	}
}

// byNumber puts offsets in the order of the partitions' numbers; unknown ones are
// -1.
func (l *layout) byNumber(offsets kadm.ListedOffsets) []int64 {
	out := make([]int64, l.count)
	l.each(func(topic string, partition, number int32) {
		out[number] = -1
		if o, ok := offsets.Lookup(topic, partition); ok && o.Err == nil {
			out[number] = o.Offset
		}
	})
	return out
}

// positions is how far the readers are and where the partitions end. Readers write
// it, anybody may look.
type positions struct {
	groups []groupPositions
	ends   []atomic.Int64 // by partition: the newest end that is known

	mu         sync.Mutex // guards the rest
	endOffsets []int64    // by partition: reading is over there; nil: not known yet
}

// groupPositions are those of one group, or of the readers that need none.
type groupPositions struct {
	next  []atomic.Int64 // by partition: the offset after the newest record read
	owned []atomic.Bool  // by partition: a reader of this process has it

	elsewhere []atomic.Int64 // by partition: what a reader of another process has committed, -1: nothing
}

func newPositions(groups int, starts, ends []int64) *positions {
	p := &positions{groups: make([]groupPositions, groups), ends: make([]atomic.Int64, len(ends))}
	for i, end := range ends {
		p.ends[i].Store(end)
	}
	for g := range p.groups {
		p.groups[g] = groupPositions{
			next: make([]atomic.Int64, len(starts)), owned: make([]atomic.Bool, len(starts)), elsewhere: make([]atomic.Int64, len(starts)),
		}
		for i, start := range starts {
			p.groups[g].next[i].Store(start)
			p.groups[g].elsewhere[i].Store(-1)
		}
	}
	return p
}

// sawEnd notes that a partition reaches at least to end.
func (p *positions) sawEnd(number int32, end int64) {
	if end > p.ends[number].Load() {
		p.ends[number].Store(end)
	}
}

// setEndOffsets sets where reading is over.
func (p *positions) setEndOffsets(ends []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endOffsets = ends
}

// passes reports whether reading on from one offset to another reaches the end offset.
func (p *positions) passes(number int32, from, to int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endOffsets != nil && from < p.endOffsets[number] && to >= p.endOffsets[number]
}

// atEndOffsets reports whether every group has read every partition up to its end offset.
func (p *positions) atEndOffsets() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endOffsets == nil {
		return false
	}
	for g := range p.groups {
		for i, end := range p.endOffsets {
			if group := &p.groups[g]; group.next[i].Load() < end && group.elsewhere[i].Load() < end {
				return false
			}
		}
	}
	return true
}

// sumElsewhere is what readers of other processes have committed, of all partitions.
func (p *positions) sumElsewhere() (sum int64) {
	for g := range p.groups {
		for i := range p.groups[g].elsewhere {
			if !p.groups[g].owned[i].Load() { // else the commit is this process's own
				sum += p.groups[g].elsewhere[i].Load()
			}
		}
	}
	return sum
}

// waiting is how many records of a partition wait to be read by the group. What others
// count is what no reader here has, if they count that; and where one of theirs has read.
// A reader that has just taken over a partition does not know yet where it goes on, but
// not before what is committed.
func (g *groupPositions) waiting(number int, end int64, othersCount bool) int64 {
	next, elsewhere := g.next[number].Load(), g.elsewhere[number].Load()
	if !g.owned[number].Load() && (othersCount || elsewhere > next) {
		return 0
	}
	return max(0, end-max(next, elsewhere))
}

// ownsAll tells whether the group has every partition in this process.
func (g *groupPositions) ownsAll() bool {
	for i := range g.owned {
		if !g.owned[i].Load() {
			return false
		}
	}
	return true
}

// settled tells whether the group has any partition in this process.
func (g *groupPositions) settled() bool {
	for i := range g.owned {
		if g.owned[i].Load() {
			return true
		}
	}
	return false
}

// lagPoll is how often the ends of the partitions are asked for. In between, the
// readers know them from what they fetch.
const lagPoll = time.Second

// ConsumerLag is the source of how many records wait to be read.
type ConsumerLag struct {
	cluster *Cluster
	asking  sync.WaitGroup
	groups  []string // their names; "" has no committed offsets
	layout  *layout
	at      *positions
	stable  bool    // the ends are those of committed transactions
	later   bool    // of the processes of a load it is not the first, which counts what has no reader yet
	told    []int64 // by partition: what the windows so far add up to
}

var _ engine.Source = (*ConsumerLag)(nil)

// Start begins to ask for the ends of the partitions.
func (b *ConsumerLag) Start(ctx context.Context, _ func() time.Duration) {
	b.asking.Go(func() { every(ctx, lagPoll, func() { b.ask(ctx) }) })
}

// every calls f at each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// Wait returns when nobody asks any more.
func (b *ConsumerLag) Wait() { b.asking.Wait() }

// ask looks where the partitions end, and how far other processes are that share a
// group with this one. What a broker that is away does not tell stays as it was.
func (b *ConsumerLag) ask(ctx context.Context) {
	if ends, err := b.cluster.ends(ctx, b.layout, b.stable); err == nil {
		for i, end := range ends {
			if end >= 0 {
				b.at.ends[i].Store(end)
			}
		}
	}
	for i, name := range b.groups {
		g := &b.at.groups[i]
		if name == "" || g.ownsAll() {
			continue
		}
		committed, err := b.cluster.committed(ctx, b.layout, name)
		if err != nil {
			continue
		}
		for number, offset := range committed {
			g.elsewhere[number].Store(offset)
		}
	}
}

// Take tells by how much the consumer lag has changed.
func (b *ConsumerLag) Take() stats.Window {
	var w stats.Window
	othersCount := make([]bool, len(b.at.groups))
	for g := range othersCount {
		othersCount[g] = b.later || b.at.groups[g].settled()
	}
	for i := range b.at.ends {
		end := b.at.ends[i].Load()
		var waiting int64
		for g := range b.at.groups {
			waiting += b.at.groups[g].waiting(i, end, othersCount[g])
		}
		change := waiting - b.told[i]
		if change == 0 {
			continue
		}
		b.told[i] = waiting
		if w.Partitions == nil {
			w.Partitions = make(map[int32]stats.Partition)
		}
		w.Partitions[int32(i)] = stats.Partition{ConsumerLag: change}
		w.ConsumerLag += change
	}
	return w
}
