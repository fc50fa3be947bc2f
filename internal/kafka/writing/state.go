package writing

import (
	"sync"
	"sync/atomic"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

// State is the part of a driver that writes which is the same for every client: what is written where, and the outcomes.
type State struct {
	Cluster    *kafka.Cluster
	Plan       plan.Plan
	Settings   javaconf.Producer
	Values     *payload.Values // the content of the records
	Layout     *kafka.Layout   // of the topics
	Partitions int             // that the topics had when the run began
	Run        uint64          // in the stamps

	mu       sync.Mutex // guards accounts
	accounts []*Account // of the producers

	find    sync.Once // makes the rest
	targets []Target
}

// Target is a topic that this process writes to.
type Target struct {
	Name  string
	First int32   // number of its first partition in the Layout
	Own   []int32 // partitions that this process writes to, by their ids in the topic; at least one

	count  int32
	layout *kafka.Layout
}

// Number returns the number of the topic's partition in the Layout. The topic may have got it during the run.
//
//go:noinline
func (t *Target) Number(id int32) int32 {
	if id < t.count {
		return t.First + id
	}
	return t.layout.Number(t.Name, id)
}

// Targets returns the topics that this process writes to: those with partitions of its own.
func (s *State) Targets() []Target {
	s.find.Do(func() {
		first := int32(0)
		for _, t := range s.Layout.Topics {
			to := Target{Name: t.Name, First: first, count: int32(t.Partitions), layout: s.Layout}
			for id := range to.count {
				if s.Plan.Share.Has(first + id) {
					to.Own = append(to.Own, id)
				}
			}
			if len(to.Own) > 0 {
				s.targets = append(s.targets, to)
			}
			first += to.count
		}
	})
	return s.targets
}

// Turns returns the turns of a producer of this process among its Targets; nil: there is one.
func (s *State) Turns(index int) *plan.Turns {
	return s.Plan.Turns(index, len(s.Targets()))
}

// Blind reports whether no broker answers: acks is 0.
func (s *State) Blind() bool { return s.Settings.Acks() == "0" }

// Account is what was written by one producer of the load.
type Account struct {
	sync.Mutex // held while an outcome is noted: it may come after the end of the run
	blind      bool
	acked      []atomic.Int64     // as State.Acked has them
	of         []*ledger.Producer // by the producer's ids; none: only acked counts
}

// Open returns the account of one more producer.
func (s *State) Open(of ...*ledger.Producer) *Account {
	a := &Account{blind: s.Blind(), acked: make([]atomic.Int64, s.Partitions), of: of}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts = append(s.accounts, a)
	return a
}

// Settle notes the outcome of n records, the first of which has a number. Those that were taken are at offset and after it, -1: not
// known. of may be nil. The account must be locked. The engine counts the outcome later, or in the same hold: so what is counted is in
// the next Lanes.
func (a *Account) Settle(of *ledger.Producer, partition int32, first, n, offset int64, taken bool) {
	switch acked := &a.acked[partition]; {
	case !taken:
	case a.blind: // the client counts offsets from 0
		acked.Add(n)
		offset = -1
	case offset >= 0:
		acked.Store(max(acked.Load(), offset+n))
	}
	switch {
	case of == nil:
	case taken:
		of.Acknowledged(partition, first, n, offset)
	default:
		of.Failed(partition, first, n)
	}
}

// Acked returns, by partition, the offset after the newest record that was acknowledged; with acks=0 how many were sent.
func (s *State) Acked() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	acked := make([]int64, s.Partitions)
	for _, a := range s.accounts {
		for i := range acked {
			if n := a.acked[i].Load(); a.blind {
				acked[i] += n
			} else {
				acked[i] = max(acked[i], n)
			}
		}
	}
	return acked
}

// Lanes returns all records that the producers wrote so far, and their outcomes.
func (s *State) Lanes() (lanes []ledger.Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.accounts {
		for _, p := range a.of {
			lanes = append(lanes, p.Lanes(a)...)
		}
	}
	return lanes
}
