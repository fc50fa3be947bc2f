package kafka

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Positions is how far the readers of one process are, and where the partitions end. Partitions are numbered as in the Layout,
// which grows with the topics. Readers and the source of the consumer lag write it at the same time.
type Positions struct {
	Layout         *Layout
	Groups         []GroupPositions
	Committed      bool         // the ends are those of committed transactions
	Shared         bool         // other processes of the load read in the groups
	Later          bool         // another process of the load counts partitions that have no reader yet
	Withheld       atomic.Int64 // records behind open transactions, that reading does not get to
	column[Bounds]              // by partition

	mu         sync.Mutex // guards the rest
	endOffsets []int64    // by partition: reading is over there; nil: not known yet
	events     []stats.Event
}

// Bounds are the newest offsets that are known of a partition's log. Records before Start are deleted.
type Bounds struct{ Start, End atomic.Int64 }

// GroupPositions are those of one group, or of the readers that need none.
type GroupPositions struct {
	Name   string // empty: the readers need no group
	layout *Layout
	column[Position]
}

// Position is how far a group is in a partition. The zero value is that of a partition which the topic got during the run: it
// is read from its start.
type Position struct {
	Next      atomic.Int64 // the offset after the newest record read
	Owner     atomic.Int32 // the reader of this process that has it, counted from 1; 0: none
	Elsewhere atomic.Int64 // the offset that a reader of another process has committed; below 0: none
	Deleted   atomic.Int64 // records that were deleted before they were read, since the last window

	read, passed atomic.Int64 // records read, and the offsets that they took
}

// column holds a value for each partition, by number. At makes a value that is missing.
type column[T any] struct{ all sync.Map }

// At returns the value of a partition.
func (c *column[T]) At(number int32) *T {
	v, ok := c.all.Load(number)
	if !ok {
		v, _ = c.all.LoadOrStore(number, new(T))
	}
	return v.(*T)
}

// NewPositions returns the positions of groups, by name, that read from the starts on.
func NewPositions(l *Layout, groups []string, starts, ends []int64) *Positions {
	p := &Positions{Layout: l, Groups: make([]GroupPositions, len(groups))}
	for i, end := range ends {
		p.At(int32(i)).End.Store(end)
	}
	for g := range p.Groups {
		p.Groups[g].Name, p.Groups[g].layout = groups[g], l
		for i, start := range starts {
			p.Groups[g].At(int32(i)).Next.Store(start)
		}
	}
	return p
}

// SawEnd notes that a partition ends at an offset or after it.
func (p *Positions) SawEnd(number int32, end int64) {
	if at := &p.At(number).End; end > at.Load() {
		at.Store(end)
	}
}

// Tell keeps an event of some partitions for Told. Without a partition there is no event.
func (p *Positions) Tell(kind stats.EventKind, partitions []int32, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(partitions); n > 0 {
		p.events = append(p.events, stats.Event{Kind: kind, Broker: -1, To: -1, Count: n, Partitions: partitions[:min(n, stats.MaxEventPartitions)], Text: text})
	}
}

// Told returns the events since its last call.
func (p *Positions) Told() []stats.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

// SetEndOffsets sets the offset, by partition, at which reading is over.
func (p *Positions) SetEndOffsets(ends []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endOffsets = ends
}

// Passes reports whether reading on from one offset to another reaches the end offset.
func (p *Positions) Passes(number int32, from, to int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(number) < len(p.endOffsets) && from < p.endOffsets[number] && to >= p.endOffsets[number]
}

// AtEndOffsets reports whether every group has read every partition up to its end offset. Readers of this process pass over
// what is deleted by themselves, and count it. In other partitions nothing is left to read below the start of the log.
func (p *Positions) AtEndOffsets() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endOffsets == nil {
		return false
	}
	for g := range p.Groups {
		for i, end := range p.endOffsets {
			at := p.Groups[g].At(int32(i))
			if at.Next.Load() < end && at.Elsewhere.Load() < end && (at.Owner.Load() > 0 || p.At(int32(i)).Start.Load() < end) {
				return false
			}
		}
	}
	return true
}

// SumElsewhere returns the offsets that readers of other processes have committed, added up.
func (p *Positions) SumElsewhere() (sum int64) {
	for g := range p.Groups {
		for i := range int32(p.Layout.Count()) {
			if at := p.Groups[g].At(i); at.Owner.Load() == 0 { // else the commit is this process's own
				sum += max(0, at.Elsewhere.Load())
			}
		}
	}
	return sum
}

// Owned returns how many partitions the group has in this process.
func (g *GroupPositions) Owned() (n int) {
	for i := range int32(g.layout.Count()) {
		if g.At(i).Owner.Load() > 0 {
			n++
		}
	}
	return n
}

// Read moves the position behind records that were read, and returns where it was.
func (p *Position) Read(records int, next int64) (before int64) {
	before = p.Next.Swap(next)
	p.read.Add(int64(records))
	p.passed.Add(max(0, next-before))
	return before
}

// Records estimates how many records some offsets hold, by the share of records in the offsets passed. Markers of transactions
// and compacted records leave offsets without a record.
func (p *Position) Records(offsets int64) int64 {
	read, passed := p.read.Load(), p.passed.Load()
	if read >= passed {
		return offsets
	}
	return int64(math.Round(float64(offsets) * float64(read) / float64(passed)))
}

// Layout numbers the partitions of several topics, counting on from one topic to the next. Partitions that a topic gets later
// have the next numbers, so those of a single topic are always the ids of its partitions.
type Layout struct {
	Topics []result.Topic

	mu      sync.Mutex // guards the rest
	places  []Place    // by number
	numbers map[string][]int32
	follow  []func([]Place)
}

// Place is a partition of a Layout.
type Place struct {
	Topic      string
	ID, Number int32 // in its topic, and in the Layout
}

// NewLayout numbers the partitions of these topics.
func NewLayout(topics []result.Topic) *Layout {
	l := &Layout{Topics: topics, numbers: make(map[string][]int32, len(topics))}
	for _, t := range topics {
		l.numbers[t.Name] = nil
		l.add(t.Name, t.Partitions)
	}
	return l
}

// add numbers the partitions of a topic up to a count. The caller holds mu.
func (l *Layout) add(topic string, count int) (added []Place) {
	numbers := l.numbers[topic]
	for id := len(numbers); id < count; id++ {
		p := Place{topic, int32(id), int32(len(l.places) + len(added))}
		numbers, added = append(numbers, p.Number), append(added, p)
	}
	l.numbers[topic], l.places = numbers, append(l.places, added...)
	return added
}

// Number returns the number of a partition that the cluster has named, -1: of a topic that is not known, or above what kt
// takes, because a broker may name any. A partition that the topic has got since gets a number, and so do those before it.
func (l *Layout) Number(topic string, id int32) int32 {
	l.mu.Lock()
	if numbers, known := l.numbers[topic]; !known || id < 0 || int(id) >= max(len(numbers), plan.MaxPartitions) {
		l.mu.Unlock()
		return -1
	}
	added := l.add(topic, int(id)+1)
	number, follow := l.numbers[topic][id], l.follow
	l.mu.Unlock()
	for i := 0; i < len(follow) && len(added) > 0; i++ {
		follow[i](added)
	}
	return number
}

// Follow calls f with all partitions, and with those that topics get later.
func (l *Layout) Follow(f func([]Place)) {
	l.mu.Lock()
	l.follow = append(slices.Clip(l.follow), f)
	all := slices.Clip(l.places)
	l.mu.Unlock()
	f(all)
}

// All returns the partitions by number. The caller must not change them.
func (l *Layout) All() []Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.places)
}

// Count returns the number of all partitions.
func (l *Layout) Count() int { return len(l.All()) }

// Names returns the names of the topics.
func (l *Layout) Names() []string {
	var names []string
	for _, t := range l.Topics {
		names = append(names, t.Name)
	}
	return names
}

// byNumber returns offsets by number, and the epochs of the leaders; -1 for unknown ones. New partitions get numbers.
func (l *Layout) byNumber(offsets kadm.ListedOffsets) (out []int64, epochs []int32) {
	offsets.Each(func(o kadm.ListedOffset) { _ = l.Number(o.Topic, o.Partition) })
	for _, p := range l.All() {
		at, epoch := int64(-1), int32(-1)
		if o, ok := offsets.Lookup(p.Topic, p.ID); ok && o.Err == nil {
			at, epoch = o.Offset, o.LeaderEpoch
		}
		out, epochs = append(out, at), append(epochs, epoch)
	}
	return out, epochs
}

// OtherMembers returns a clause on the members of a group whose partitions have no reader in this process; "" if there are none
// or kt may not see them.
func (c *Cluster) OtherMembers(ctx context.Context, l *Layout, g *GroupPositions) string {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	var clauses []string
	add := func(client, host string, assigned kadm.TopicsSet) {
		var theirs []string
		for _, p := range l.All() {
			if _, ok := assigned[p.Topic][p.ID]; ok && g.At(p.Number).Owner.Load() == 0 {
				theirs = append(theirs, fmt.Sprintf("%s-%d", p.Topic, p.ID))
			}
		}
		if len(theirs) > 0 {
			clauses = append(clauses, fmt.Sprintf("client id %s at %s has %s", client, strings.TrimPrefix(host, "/"), Some(theirs)))
		}
	}
	classic, _ := c.admin.DescribeGroups(ctx, g.Name) // a group is known in one of both ways
	for _, m := range classic[g.Name].Members {
		assigned := make(kadm.TopicsSet)
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				assigned.Add(t.Topic, t.Partitions...)
			}
		}
		add(m.ClientID, m.ClientHost, assigned)
	}
	modern, _ := c.admin.DescribeConsumerGroups(ctx, g.Name)
	for _, m := range modern[g.Name].Members {
		add(m.ClientID, m.ClientHost, m.Assignment)
	}
	if len(clauses) == 0 {
		return ""
	}
	slices.Sort(clauses)
	return fmt.Sprintf("group %s has other members: %s", g.Name, Some(clauses))
}

// Some joins words. It counts those behind the first six.
func Some(words []string) string {
	const most = 6
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, ", ")
}
