package queue

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

// Lanes makes the messages of one producer, and notes their outcomes: the part of an engine.Worker that is the same for all
// systems. Fill, Choose and Stamp are for the goroutine that sends, the others for any.
type Lanes struct {
	run       uint64
	shard     *engine.Shard
	generator *payload.Generator
	account   *ledger.Producer // nil: messages carry no stamps
	own       [][]int32        // the queues that this process writes to, by topic; without topics of which it writes to none
	turns     *plan.Turns      // of own
	turn      []int            // by topic of own

	open  atomic.Int64   // messages without an outcome
	idle  chan struct{}  // holds one value: there are none
	mu    sync.Mutex     // held while an outcome is noted
	acked []atomic.Int64 // acknowledged messages, by queue
}

// Outgoing is a message that is sent. A worker embeds it in its own state of an op.
type Outgoing struct {
	Key, Value []byte
	Queue      int32
	memory     payload.Memory
	seq        int64 // in its stamp
}

func (m *Outgoing) outgoing() *Outgoing { return m }

func outgoing(op *engine.Op) *Outgoing {
	return op.State.(interface{ outgoing() *Outgoing }).outgoing()
}

// Accounts are the Lanes of all producers of a run: the part of an engine.Driver that is about verification.
type Accounts struct {
	plan   *plan.Plan
	run    uint64 // in the stamps
	queues int
	own    [][]int32 // as those of Lanes

	mu  sync.Mutex // held while clients open, which may be several at once
	all []*Lanes
}

// NewAccounts returns the accounts of the producers of a plan.
func NewAccounts(p *plan.Plan, run uint64, l *Layout) *Accounts {
	a, topic := &Accounts{plan: p, run: run, queues: l.Count()}, -1
	for q := range int32(a.queues) {
		if at, _ := l.Place(q); p.Share.Has(q) {
			if at != topic {
				a.own, topic = append(a.own, nil), at
			}
			a.own[len(a.own)-1] = append(a.own[len(a.own)-1], q)
		}
	}
	return a
}

// Limits returns how much may wait for acknowledgements: so many bytes, and at an unlimited rate so many messages. They are
// waited for a little longer than a message may take, which the client reports by itself.
func Limits(p *plan.Plan, bytes int64, unlimited int, timeout time.Duration) engine.Options {
	o := engine.Options{BufferBytes: bytes, BufferRecords: engine.DefaultBufferRecords, DrainTimeout: timeout + 5*time.Second}
	if p.Load.Rate.IsUnlimited() {
		o.BufferRecords = min(engine.DefaultBufferRecords, unlimited)
	}
	return o
}

// Add returns the lanes of one more producer, whose messages hold these values.
func (a *Accounts) Add(s *engine.Shard, values *payload.Values) *Lanes {
	l := &Lanes{run: a.run, shard: s, own: a.own, idle: make(chan struct{}, 1), acked: make([]atomic.Int64, a.queues)}
	l.turn = slices.Repeat([]int{s.Index}, len(a.own))
	l.turns = a.plan.Turns(s.Index, len(a.own))
	if values != nil {
		number, all := a.plan.Shard(s.Index)
		l.generator = values.Generator(*a.plan, number, all)
	}
	if a.plan.Payload.Stamp {
		l.account = ledger.NewProducer(uint16(s.Index))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, l)
	return l
}

// Acked returns, by queue, how many messages were acknowledged.
func (a *Accounts) Acked() []int64 {
	acked := make([]int64, a.queues)
	for _, l := range a.all {
		for q := range acked {
			acked[q] += l.acked[q].Load()
		}
	}
	return acked
}

// Lanes returns all messages that were sent so far, and their outcomes.
func (a *Accounts) Lanes() []ledger.Lane {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lanes []ledger.Lane
	for _, l := range a.all {
		if l.account != nil {
			lanes = append(lanes, l.account.Lanes(&l.mu)...)
		}
	}
	return lanes
}

// OpRecords returns 1: an application hands its messages over one by one.
func (l *Lanes) OpRecords() int { return 1 }

// Place returns the queue that was chosen.
func (l *Lanes) Place(op *engine.Op) int32 { return outgoing(op).Queue }

// Fill makes the message of an op, for the queue that choose returns.
func (l *Lanes) Fill(op *engine.Op, choose func(key []byte) int32) {
	m := outgoing(op)
	m.Key, m.Value = l.generator.Fill(&m.memory, op.Index)
	m.Queue = choose(m.Key)
	m.seq = l.Stamp(op, m.Key, m.Value, m.Queue)
	op.Bytes, op.Busiest = len(m.Key)+len(m.Value), l.generator.Busiest(m.Key)
	l.open.Add(1)
}

// Settle reports the outcome of a message at a time: the name of an error, or "" that the system took it.
func (l *Lanes) Settle(op *engine.Op, code string, at time.Duration) {
	m, taken := outgoing(op), code == ""
	l.mu.Lock() // from before it is counted: what is counted is in the next Lanes
	counted := taken && op.Acknowledge(m.Queue, at) || !taken && op.Fail(m.Queue, code)
	if counted && taken {
		l.acked[m.Queue].Add(1)
	}
	switch {
	case !counted || l.account == nil:
	case taken:
		l.account.Acknowledged(m.Queue, m.seq, 1, -1)
	default:
		l.account.Failed(m.Queue, m.seq, 1)
	}
	l.mu.Unlock()
	if l.open.Add(-1) == 0 {
		select {
		case l.idle <- struct{}{}:
		default:
		}
	}
}

// Flush waits for all outcomes.
func (l *Lanes) Flush(ctx context.Context) error {
	for l.open.Load() > 0 {
		select {
		case <-l.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Topic returns the index of the topic of the next message, among those of which this process writes to a queue.
func (l *Lanes) Topic() int { return l.turns.Next() }

// Choose returns the queue of the next message to a topic: by its key, or each one in turn.
func (l *Lanes) Choose(topic int, key []byte) int32 {
	own, turn := l.own[topic], &l.turn[topic]
	if key != nil {
		h := fnv.New32a()
		_, _ = h.Write(key) // a hash has no errors
		return own[int(h.Sum32()%uint32(len(own)))]
	}
	*turn = (*turn + 1) % len(own)
	return own[*turn]
}

// Stamp writes the stamp of a message into its value, if messages have stamps, and returns the message's number in its lane.
func (l *Lanes) Stamp(op *engine.Op, key, value []byte, queue int32) (seq int64) {
	if l.account == nil {
		return 0
	}
	stamp := ledger.Stamp{
		Run: l.run, Seq: l.account.Next(queue, 1), Due: l.shard.Started().UnixNano() + int64(op.Due),
		Producer: l.account.Number(), Partition: queue, Warmup: op.Warmup(),
	}
	stamp.Put(value, ledger.Around{Key: key})
	return stamp.Seq
}
