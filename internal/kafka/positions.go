package kafka

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/kt-bench/kt/internal/stats"
)

// Positions is how far the readers of one process are, and where the partitions end.
// Partitions are numbered as in the Layout, which grows with the topics. Readers and the source of the consumer lag write
// it at the same time.
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

// Position is how far a group is in a partition. The zero value is that of a partition which the topic got
// during the run: it is read from its start.
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

// SumElsewhere returns the offsets that readers of other processes have
// committed, added up.
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

// OwnsAll reports whether the group has every partition in this process.
func (g *GroupPositions) OwnsAll() bool { return g.owned() == g.layout.Count() }

// OwnsAny reports whether the group has any partition in this process.
func (g *GroupPositions) OwnsAny() bool { return g.owned() > 0 }

func (g *GroupPositions) owned() (n int) {
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
