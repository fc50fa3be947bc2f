package wire

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
)

// lane is the batches of one producer for one partition. It has one request on its way at a time, for requests have no
// order among each other; so a broker that keeps the order of a producer's batches never refuses one.
type lane struct {
	w         *worker
	number    int // in the worker
	partition int32

	queue []*batch // guarded by the worker's mu
	busy  bool     // the same: run is at work

	// Of run, and of the connection while a request is on its way.
	identity  identity
	uncertain bool // of the batch: a request of it was not answered
	head      head
	now       encoded // records on their way
}

// run sends batches until none waits.
func (l *lane) run() {
	w := l.w
	for {
		w.mu.Lock()
		if len(l.queue) == 0 && w.opened == l && w.linger == 0 {
			w.seal() // it has waited for the request before it
		}
		if len(l.queue) == 0 || w.ctx.Err() != nil {
			l.busy = false
			w.idle.Broadcast()
			w.mu.Unlock()
			return
		}
		b := l.queue[0]
		l.queue = append(l.queue[:0], l.queue[1:]...)
		w.mu.Unlock()
		l.send(b)
		w.mu.Lock()
		w.spare = append(w.spare, b)
		w.mu.Unlock()
	}
}

// send sends a batch until it has an outcome or the run is aborted.
func (l *lane) send(b *batch) {
	w := l.w
	l.now, l.uncertain = w.encode(b), false
	l.head.put(l.identity, b.times, b.records, l.now)
	for fails := 1; ; fails++ {
		began := time.Now()
		a := l.try()
		switch {
		case w.ctx.Err() != nil:
			return // the engine gives its records up
		case a.code == "":
			l.acknowledge(b, a)
			return
		case a.renew:
			l.fail(b, a.code)
			l.renew()
			return
		case !a.again || int64(fails) > w.retries:
			l.giveUp(b, a.code)
			return
		case w.shard.Now() >= b.opened+w.delivery:
			l.giveUp(b, deliveryTimeout)
			return
		}
		w.pause(w.backoff(fails))
		if a.ask {
			_ = w.leaders.ask(w.ctx, began) // if nobody answers, the next try fails too
		}
	}
}

// deliveryTimeout is the error code of records that were not delivered within delivery.timeout.ms.
const deliveryTimeout = "client:DELIVERY_TIMEOUT"

// answer is what came of a request.
type answer struct {
	code   string // "": the broker took the batch
	offset int64  // of its first record; -1: the broker did not say
	broker int32

	again bool // the same bytes can be sent again
	ask   bool // after asking for leaders
	renew bool // the broker no longer knows the producer
}

// try sends the batch to the leader of its partition.
func (l *lane) try() answer {
	w := l.w
	to := w.leaders.leader(l.partition)
	if to < 0 {
		return answer{code: kerr.LeaderNotAvailable.Message, again: true, ask: true}
	}
	room := w.requests(to)
	room <- struct{}{}
	got, err := w.client.Broker(int(to)).Request(w.ctx, w.request(l))
	<-room
	if err != nil {
		l.uncertain = true
		return answer{code: kafka.ErrorCode(err), again: true, ask: true}
	}
	return l.read(got.(*kmsg.ProduceResponse), to)
}

// read reads the answer of a broker.
func (l *lane) read(resp *kmsg.ProduceResponse, from int32) answer {
	a := answer{broker: from, offset: -1}
	if len(resp.Topics) == 0 || len(resp.Topics[0].Partitions) == 0 {
		return a // acks=0
	}
	p := &resp.Topics[0].Partitions[0]
	err := kerr.ErrorForCode(p.ErrorCode)
	switch {
	case err == nil:
		a.offset = p.BaseOffset
		return a
	case errors.Is(err, kerr.DuplicateSequenceNumber):
		return a // it was taken when it was sent before
	}
	a.code = kafka.ErrorCode(err)
	switch {
	case errors.Is(err, kerr.OutOfOrderSequenceNumber), errors.Is(err, kerr.UnknownProducerID), errors.Is(err, kerr.InvalidProducerEpoch):
		a.renew = l.identity.id >= 0
	case kerr.IsRetriable(err) && !errors.Is(err, kerr.UnknownTopicID): // a topic made anew is another one
		a.again, a.ask = true, true
		if errors.Is(err, kerr.RequestTimedOut) || errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
			l.uncertain = true // it is in the log of the leader
		}
		if to := p.CurrentLeader.LeaderID; to >= 0 && to != from && resp.Version >= leaderHints {
			l.w.leaders.moved(l.partition, to)
			a.ask = false
		}
	}
	return a
}

// leaderHints is the first version of produce responses that name the new leader (KIP-951).
const leaderHints = 10

func (l *lane) acknowledge(b *batch, a answer) {
	w, at := l.w, l.w.shard.Now()
	l.identity.pass(b.records)
	w.settle(l, b, a.offset, true)
	w.shard.Record(func(rec *stats.Recorder, phase int) {
		rec.Batch(phase, a.broker, b.records, b.size, len(l.now.records))
	})
	for _, op := range b.ops {
		op.Acknowledge(l.partition, at)
	}
}

// giveUp fails a batch. If the broker may have it, nobody knows the next sequence that it expects, and the lane goes on
// under another producer id.
func (l *lane) giveUp(b *batch, code string) {
	l.fail(b, code)
	if l.uncertain && l.identity.id >= 0 {
		l.renew()
	}
}

func (l *lane) fail(b *batch, code string) {
	l.w.settle(l, b, -1, false)
	for _, op := range b.ops {
		op.Fail(l.partition, code)
	}
}

// renew gets another producer id. It tries until it has one or the run is aborted.
func (l *lane) renew() {
	w := l.w
	for fails := 1; w.ctx.Err() == nil; fails++ {
		i, err := newIdentity(w.ctx, w.client)
		if err == nil {
			l.identity = i
			w.shard.Event(stats.Event{
				Kind: stats.ProducerRenewed, Broker: -1, To: -1, Count: 1, Partitions: []int32{l.partition},
				Text: "the producer has a new id, because what the brokers hold of its last batch is not known",
			})
			return
		}
		w.pause(w.backoff(fails))
	}
}

// newIdentity asks the brokers for a producer id.
func newIdentity(ctx context.Context, c *kgo.Client) (identity, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = -1 // there are no transactions
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		return nobody, err
	}
	return identity{id: resp.ProducerID, epoch: resp.ProducerEpoch}, kerr.ErrorForCode(resp.ErrorCode)
}

// batch is some ops that are sent together.
type batch struct {
	ops     []*engine.Op
	records int
	opened  time.Duration // when the first op came
	times   times

	template int    // where the pool has its records
	encoded  []byte // or the records themselves, where each one differs
	first    int64  // their first number in the lane, in the stamps
	size     int    // bytes of the records before compression, once they are sent
}
