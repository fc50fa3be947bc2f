package pulsar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/queue"
)

// turnBatches is how many batches a partition gets before the next has its turn.
const turnBatches = 10

// producer is the driver that writes.
type producer struct {
	session *session
	*queue.Accounts
}

var _ engine.Driver = (*producer)(nil)

// Open makes a client that is connected to the brokers of all partitions.
func (p *producer) Open(ctx context.Context, shard *engine.Shard) (engine.Worker, error) {
	s := p.session
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	number, all := s.plan.Shard(shard.Index)
	w := &worker{
		shard: shard, client: c, lanes: p.Add(shard), generator: s.values.Generator(*s.plan, number, all),
		each: turnBatches * s.producer.linger,
	}
	w.producer, err = within(ctx, openTimeout, func() (client.Producer, error) {
		return c.CreateProducer(client.ProducerOptions{
			Topic: s.full(), SendTimeout: s.producer.timeout,
			// The engine bounds what is on its way, and must not be held up in Do.
			DisableBlockIfQueueFull: true, MaxPendingMessages: s.producer.pending,
			DisableBatching:         !s.producer.batches(),
			BatchingMaxPublishDelay: s.producer.linger, BatchingMaxSize: s.producer.batchBytes, BatchingMaxMessages: s.producer.batchMessages,
			CompressionType: s.producer.compression,
			MessageRouter:   func(*client.ProducerMessage, client.TopicMetadata) int { return int(w.turn) }, // SendAsync asks
		})
	})
	if err != nil {
		leave(c)
		return nil, err
	}
	s.writers = append(s.writers, shard)
	return w, nil
}

// worker is one producer.
type worker struct {
	shard     *engine.Shard
	client    client.Client
	producer  client.Producer
	lanes     *queue.Lanes
	generator *payload.Generator
	turn      int32         // the partition of the message that the client gets
	until     time.Duration // when the next partition has its turn
	each      time.Duration // how long a turn is
	open      atomic.Int64  // messages without an outcome
}

// message is the worker's state of an Op. The client uses it until the outcome is known.
type message struct {
	client.ProducerMessage
	memory    payload.Memory
	partition int32
	seq       int64 // in its stamp
	done      func(client.MessageID, *client.ProducerMessage, error)
}

// OpRecords returns 1: an application hands its messages over one by one.
func (w *worker) OpRecords() int { return 1 }

// Place returns the partition that was chosen.
func (w *worker) Place(op *engine.Op) int32 { return op.State.(*message).partition }

// Do gives one message to the client. The client has room for it, or fails it at once.
func (w *worker) Do(op *engine.Op) (waited bool) {
	m, ok := op.State.(*message)
	if !ok {
		m = &message{}
		m.done = func(_ client.MessageID, _ *client.ProducerMessage, err error) { w.settle(op, m, err) }
		op.State = m
	}
	key, value := w.generator.Fill(&m.memory, op.Index)
	m.partition = w.choose(key, op.Sent)
	m.seq = w.lanes.Stamp(op, key, value, m.partition)
	m.Payload, m.Key = value, string(key)
	op.Bytes = len(key) + len(value)
	w.open.Add(1)
	w.producer.SendAsync(context.Background(), &m.ProducerMessage, m.done)
	return false
}

// settle notes the outcome of a message.
func (w *worker) settle(op *engine.Op, m *message, err error) {
	if err == nil {
		w.lanes.Acknowledge(op, m.partition, m.seq, w.shard.Now())
	} else {
		w.lanes.Fail(op, m.partition, m.seq, code(err))
	}
	w.open.Add(-1)
}

// choose returns the partition of a message: by its key, or one after the other. As with Java's client, one has
// all messages of some batches, which would be small otherwise.
func (w *worker) choose(key []byte, now time.Duration) int32 {
	if key != nil || now >= w.until {
		w.turn, w.until = w.lanes.Choose(key), now+w.each
	}
	return w.turn
}

// Flush waits until the client has an outcome for every message.
func (w *worker) Flush(ctx context.Context) error {
	_ = w.producer.FlushWithCtx(ctx) // it sends batches at once; it ends early when a message fails
	for w.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond): // it looks again
		}
	}
	return nil
}

// Close closes the client. Messages without an outcome fail.
func (w *worker) Close() error {
	leave(w.client)
	return nil
}

// leave closes a client with its producers and consumers, which wait for their brokers' answers.
func leave(c client.Client) {
	_, _ = within(context.Background(), leaveTimeout, func() (struct{}, error) { c.Close(); return struct{}{}, nil }) // late: it goes on by itself
}

// within calls f, and returns an error if ctx ends first, or if f takes longer than most. All waiting for the client is done
// here: its calls take no context, and a broker that keeps the connection can make them wait for ever.
func within[T any](ctx context.Context, most time.Duration, f func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("the broker keeps the connection, and did not answer within %s: check its log", most))
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() { value, err := f(); done <- answer{value, err} }() // late: nobody takes it
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// code returns the name of an error, as Pulsar has it.
func code(err error) string {
	var e *client.Error
	if !errors.As(err, &e) { // below the client's results, such as one of its connection
		text, _, _ := strings.Cut(err.Error(), "\n")
		return "client:" + text
	}
	before, name, _ := strings.Cut(e.Error(), ": ")
	switch {
	case e.Result() == client.ProducerFenced:
		return "ProducerFenced" // the client does not write that name
	case e.Result() == client.UnknownError && before != "":
		return before // the broker's own
	}
	return name
}
