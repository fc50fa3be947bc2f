package pulsar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/queue"
)

// turnBatches is how many batches a partition gets before the next has its turn.
const turnBatches = 10

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
	w := &worker{shard: shard, client: c, Lanes: p.Add(shard, s.values), each: turnBatches * s.producer.linger}
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

type worker struct {
	*queue.Lanes
	shard    *engine.Shard
	client   client.Client
	producer client.Producer
	turn     int32         // the partition of the message that the client gets
	until    time.Duration // when the next partition has its turn
	each     time.Duration // how long a turn is
}

// message is the worker's state of an Op. The client uses it until the outcome is known.
type message struct {
	client.ProducerMessage
	queue.Outgoing
	done func(client.MessageID, *client.ProducerMessage, error)
}

// Place returns the partition that was chosen.
func (w *worker) Place(op *engine.Op) int32 { return op.State.(*message).Queue }

// Do gives one message to the client. The client has room for it, or fails it at once.
func (w *worker) Do(op *engine.Op) (waited bool) {
	m, ok := op.State.(*message)
	if !ok {
		m = &message{}
		m.done = func(_ client.MessageID, _ *client.ProducerMessage, err error) {
			if err != nil {
				w.Settle(op, &m.Outgoing, code(err), 0)
			} else {
				w.Settle(op, &m.Outgoing, "", w.shard.Now())
			}
		}
		op.State = m
	}
	w.Fill(op, &m.Outgoing, func(key []byte) int32 { return w.choose(key, op.Sent) })
	m.Payload, m.ProducerMessage.Key = m.Outgoing.Value, string(m.Outgoing.Key)
	w.producer.SendAsync(context.Background(), &m.ProducerMessage, m.done)
	return false
}

// choose returns the partition of a message: by its key, or one for some batches, as with Java's client.
func (w *worker) choose(key []byte, now time.Duration) int32 {
	if key != nil || now >= w.until {
		w.turn, w.until = w.Choose(key), now+w.each
	}
	return w.turn
}

// Flush waits until the client has an outcome for every message.
func (w *worker) Flush(ctx context.Context) error {
	_ = w.producer.FlushWithCtx(ctx) // it sends batches at once; it ends early when a message fails
	return w.Lanes.Flush(ctx)
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

// within calls f, and returns an error if ctx ends first, or if f takes longer than most: the client's calls take no context.
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
