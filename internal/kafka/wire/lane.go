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
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

// lane is the batches of one producer id for one partition. One is on its way at a time, for requests have no order among each
// other. A worker has several lanes for each partition, and so as many producer ids.
type lane struct {
	w         *worker
	number    int // in the worker
	topic     *writing.Target
	partition int32            // by its number in the Layout
	account   *ledger.Producer // nil: nobody accounts for the records

	queue []*batch // that wait for the one on its way; guarded by the worker's mu
	busy  bool     // there is one on its way; the same

	// Of whoever has the busy lane: one goroutine, and a connection while a request is on its way.
	batch     *batch
	identity  identity
	fails     int  // of the batch; without a leader it fails before it is prepared
	prepared  bool // head and now are those of the batch
	sent      bool // the newest request of the batch was written, or begun to be
	uncertain bool // a request of the batch was sent and not answered
	began     time.Time
	head      head
	now       encoded // records on their way
}

type answer struct {
	code   string // "": the broker took the batch
	offset int64  // of its first record; -1: the broker did not say
	broker int32

	again bool // the same bytes can be sent again
	ask   bool // after asking for leaders
	lost  bool // the broker may have the batch
	renew bool // the broker no longer knows the producer
}

func (l *lane) prepare() {
	l.began, l.sent = time.Now(), false
	if l.prepared {
		return // the same bytes again
	}
	b := l.batch
	l.prepared, l.now = true, l.w.encode(b)
	l.head.put(l.identity, b.times, b.records, l.now)
	if l.w.driver.byHeaders() {
		l.w.outcomes.Lock()
		defer l.w.outcomes.Unlock()
		l.account.Originate(l.partition, ledger.Origin{ID: l.identity.id, Epoch: l.identity.epoch, Sequence: l.identity.sequence, First: b.first})
	}
}

func (l *lane) settle(a answer) {
	w, b := l.w, l.batch
	l.uncertain = l.uncertain || a.lost
	switch {
	case a.code == "":
		at := w.shard.Now()
		l.identity.pass(b.records)
		l.note(a.offset, true)
		w.hooks.Batch(a.broker, b.records, b.size, len(l.now.records))
		for _, op := range b.ops {
			op.Acknowledge(l.partition, at)
		}
	case w.ctx.Err() != nil: // the engine gives its records up
	case a.renew:
		go l.renew(b, a.code)
		return
	case a.again && int64(l.fails) < w.retries && w.shard.Now() < b.opened+w.delivery:
		l.fails++
		go l.again(a)
		return
	default:
		code := a.code
		if a.again && int64(l.fails) < w.retries {
			code = deliveryTimeout
		}
		if l.uncertain && l.identity.id >= 0 { // the broker's next sequence is not known
			go l.renew(b, code)
			return
		}
		l.fail(b, code)
	}
	l.next()
}

const deliveryTimeout = "client:DELIVERY_TIMEOUT"

func (l *lane) next() {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = append(w.spare, l.batch)
	l.fails, l.prepared, l.uncertain, l.busy = 0, false, false, false
	w.busy--
	if w.ctx.Err() == nil {
		w.offer(l)
	}
	if !l.busy {
		w.idle.Broadcast()
	}
}

func (l *lane) again(a answer) {
	w := l.w
	kafka.Pause(w.ctx, w.backoff(l.fails))
	if a.ask {
		_ = w.leaders.ask(w.ctx, l.began) // if nobody answers, the next try fails too
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.route(l)
}

// unanswered returns the outcome of a batch whose request failed here. Without a connection no broker can have it.
func (l *lane) unanswered(err error) answer {
	a := answer{code: kafka.ErrorCode(err), lost: true}
	if l.w.ctx.Err() != nil {
		return a // the connection may still write
	}
	var refused *kerr.Error
	a.lost = l.sent
	a.again = l.sent || !errors.As(err, &refused) || refused.Retriable
	a.ask = a.again
	return a
}

func (l *lane) read(p *kmsg.ProduceResponseTopicPartition, version int16, from int32) answer {
	a := answer{broker: from, offset: -1}
	err := kerr.ErrorForCode(p.ErrorCode)
	switch {
	case err == nil:
		a.offset = p.BaseOffset
		return a
	case errors.Is(err, kerr.DuplicateSequenceNumber):
		return a // it was taken when it was sent before
	}
	a.code = kafka.ErrorCode(err)
	writing.Hear(l.w.shard, p)
	switch {
	case kafka.IsAny(err, kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch):
		a.renew = l.identity.id >= 0
	case kerr.IsRetriable(err):
		a.again, a.ask = true, true
		// Of these a broker may have appended the batch before, while it waited for the replicas.
		a.lost = kafka.IsAny(err, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.UnknownTopicOrPartition)
		if to := p.CurrentLeader; to.LeaderID >= 0 && to.LeaderID != from && version >= leaderHints {
			a.ask = !l.w.leaders.hear(l.partition, leader{to.LeaderID, to.LeaderEpoch})
		}
	}
	return a
}

// leaderHints is the first version of produce responses that name the new leader (KIP-951).
const leaderHints = 10

// note puts the outcome of the batch into the account.
func (l *lane) note(offset int64, taken bool) {
	l.w.outcomes.Lock()
	defer l.w.outcomes.Unlock()
	l.w.outcomes.Settle(l.account, l.partition, l.batch.first, int64(l.batch.records), offset, taken)
}

func (l *lane) fail(b *batch, code string) {
	l.note(-1, false)
	for _, op := range b.ops {
		op.Fail(l.partition, code)
	}
}

// renew fails a batch and goes on under another producer id. It tries until it has one or the run is aborted.
func (l *lane) renew(b *batch, code string) {
	w := l.w
	l.fail(b, code)
	for fails := 1; w.ctx.Err() == nil; fails++ {
		i, err := newIdentity(w.ctx, w.clients[0])
		if err == nil {
			l.identity = i
			w.shard.Event(stats.Event{
				Kind: stats.ProducerRenewed, Broker: -1, To: -1, Count: 1, Partitions: []int32{l.partition},
				Text: "the producer has a new id, because what the brokers hold of its last batch is not known",
			})
			break
		}
		kafka.Pause(w.ctx, w.backoff(fails))
	}
	l.next()
}

func newIdentity(ctx context.Context, c *kgo.Client) (identity, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = -1 // there are no transactions
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		return nobody, err
	}
	return identity{id: resp.ProducerID, epoch: resp.ProducerEpoch}, kerr.ErrorForCode(resp.ErrorCode)
}

type batch struct {
	ops     []*engine.Op
	records int
	opened  time.Duration // when the first op came
	times   times

	template int    // where the pool has its records
	encoded  []byte // or the records themselves, where each one differs
	first    int64  // number of the first record in the lane
	size     int    // bytes of the records before compression, once they are sent
}
