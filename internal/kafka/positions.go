package kafka

import (
	"sync"
	"sync/atomic"
)

// Positions is how far the readers of one process are, and where the partitions end.
// Partitions are numbered as in the Layout. Readers and the source of the consumer lag write
// it at the same time.
type Positions struct {
	Layout    *Layout
	Groups    []GroupPositions
	Ends      []atomic.Int64 // by partition: the newest end that is known
	Committed bool           // the ends are those of committed transactions
	Shared    bool           // other processes of the load read in the groups
	Later     bool           // another process of the load counts partitions that have no reader yet

	mu         sync.Mutex // guards the rest
	endOffsets []int64    // by partition: reading is over there; nil: not known yet
}

// GroupPositions are those of one group, or of the readers that need none.
type GroupPositions struct {
	Name      string         // empty: the readers need no group
	Next      []atomic.Int64 // by partition: the offset after the newest record read
	Owned     []atomic.Bool  // by partition: a reader of this process has it
	Elsewhere []atomic.Int64 // by partition: what a reader of another process has committed, -1: nothing
}

// NewPositions returns the positions of groups, by name, that read from the starts on.
func NewPositions(l *Layout, groups []string, starts, ends []int64) *Positions {
	p := &Positions{Layout: l, Groups: make([]GroupPositions, len(groups)), Ends: make([]atomic.Int64, len(ends))}
	for i, end := range ends {
		p.Ends[i].Store(end)
	}
	for g := range p.Groups {
		p.Groups[g] = GroupPositions{
			Name: groups[g],
			Next: make([]atomic.Int64, len(starts)), Owned: make([]atomic.Bool, len(starts)), Elsewhere: make([]atomic.Int64, len(starts)),
		}
		for i, start := range starts {
			p.Groups[g].Next[i].Store(start)
			p.Groups[g].Elsewhere[i].Store(-1)
		}
	}
	return p
}

// SawEnd notes that a partition ends at an offset or after it.
func (p *Positions) SawEnd(number int32, end int64) {
	if end > p.Ends[number].Load() {
		p.Ends[number].Store(end)
	}
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
	return p.endOffsets != nil && from < p.endOffsets[number] && to >= p.endOffsets[number]
}

// AtEndOffsets reports whether every group has read every partition up to its end offset.
func (p *Positions) AtEndOffsets() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endOffsets == nil {
		return false
	}
	for g := range p.Groups {
		for i, end := range p.endOffsets {
			if group := &p.Groups[g]; group.Next[i].Load() < end && group.Elsewhere[i].Load() < end {
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
		for i := range p.Groups[g].Elsewhere {
			if !p.Groups[g].Owned[i].Load() { // else the commit is this process's own
				sum += p.Groups[g].Elsewhere[i].Load()
			}
		}
	}
	return sum
}

// OwnsAll reports whether the group has every partition in this process.
func (g *GroupPositions) OwnsAll() bool {
	for i := range g.Owned {
		if !g.Owned[i].Load() {
			return false
		}
	}
	return true
}

// OwnsAny reports whether the group has any partition in this process.
func (g *GroupPositions) OwnsAny() bool {
	for i := range g.Owned {
		if g.Owned[i].Load() {
			return true
		}
	}
	return false
}
