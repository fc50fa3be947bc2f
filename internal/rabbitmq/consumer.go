package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/stats"
)

type consumer struct {
	*session
	*queue.Arrivals

	mu      sync.Mutex // guards readers
	readers []*reader
}

var _ engine.ReadDriver = (*consumer)(nil)

// OpenReader makes the reader of one shard. In a round trip it connects now, so that messages are read from the first one on.
func (c *consumer) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	r := &reader{consumer: c, shard: s, queues: c.share(s.Index), dialer: dialer{name: fmt.Sprintf("kt consumer %d", s.Index+1), number: s.Index}}
	c.mu.Lock()
	c.readers = append(c.readers, r)
	c.mu.Unlock()
	if !c.plan.Writes() {
		return r, nil
	}
	return r, explain(c.anyNode(func() error { return r.open(ctx) }))
}

// share returns the queues of a consumer. Where there are more consumers than queues, several share one.
func (s *session) share(index int) (mine []int) {
	own, number, all := s.dealt(index)
	for i, q := range own {
		if n := min(len(own), all); i%n == number%n {
			mine = append(mine, q)
		}
	}
	return mine
}

// dealt returns the queues of this process, and the number of one of its consumers among all that they are dealt out to.
func (s *session) dealt(index int) (own []int, number, all int) {
	share := s.plan.Share
	for q := range s.topic.Partitions {
		if share.Has(int32(q)) {
			own = append(own, q)
		}
	}
	if share.Slots == 0 && share.Consumers > 0 {
		return own, share.Consumer + index, share.Consumers
	}
	return own, index, s.plan.Read.Consumers
}

func (s *session) shared(partition int32) bool {
	own, _, all := s.dealt(0)
	at := slices.Index(own, int(partition))
	return at >= 0 && at+len(own) < all
}

// onTheirWay returns how many messages of a queue came to this process and were not read.
func (c *consumer) onTheirWay(partition int) (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.readers {
		if in, i := r.in.Load(), slices.Index(r.queues, partition); in != nil && i >= 0 {
			n += in.frames.arrived(channelOf(i))
		}
	}
	return n
}

type reader struct {
	*consumer
	dialer
	shard    *engine.Shard
	queues   []int
	messages []queue.Message
	channels []int                        // of the messages
	in       atomic.Pointer[subscription] // nil: it is not connected; only the reader changes it
}

// subscription is a connection of a reader, with a channel for each of its queues, so that one acknowledgement is of all messages up
// to it.
type subscription struct {
	*link
	ends  chan *amqp.Error // why channels ended
	feeds sync.WaitGroup   // of the inbox
	inbox chan delivery    // closed: nothing comes any more
	gone  chan string      // names of queues whose consumers the server has ended

	channels []*amqp.Channel
	missing  []int            // numbers of channels whose queues were deleted
	again    <-chan time.Time // when kt looks for those again; nil: there are none

	held []queue.Held // of the reader, by channel: what comes back if the connection is lost
	last []uint64     // the same: delivery tags that are to be acknowledged
	acks []byte
}

type delivery struct {
	queue.Message
	channel int
	tag     uint64
}

// maxInbox bounds the memory of an inbox that is empty.
const maxInbox = 10_000

// channelOf returns the number of a channel: the client numbers channels from 1, as they are opened.
func channelOf(index int) uint16 { return uint16(index + firstChannel) }

func (r *reader) open(ctx context.Context) error {
	l, err := r.reach(ctx, r.System)
	if err != nil {
		return err
	}
	n, most := len(r.queues), r.settings.prefetch*len(r.queues)
	in := &subscription{
		link: l, ends: make(chan *amqp.Error, n), inbox: make(chan delivery, min(most, maxInbox)),
		gone: make(chan string, n), last: make([]uint64, n), held: make([]queue.Held, n),
	}
	for i := range in.held {
		if !r.settings.autoAck {
			in.held[i].Most = r.settings.prefetch
		}
	}
	l.frames.limit(most, uint64(r.settings.maxMessage))
	err = in.within(ctx, dialTimeout, func(answered func()) error { return in.subscribe(ctx, r, answered) })
	go func() { in.feeds.Wait(); close(in.inbox) }()
	if err != nil {
		in.end()
		return cmp.Or(r.refused(in), err)
	}
	r.in.Store(in)
	return nil
}

// subscribe begins to read the queues. Nothing waits for an answer once messages may come that no prefetch bounds.
func (in *subscription) subscribe(ctx context.Context, r *reader, answered func()) (err error) {
	in.channels = make([]*amqp.Channel, len(r.queues))
	for i := range in.channels {
		if in.channels[i], err = in.Channel(); err == nil && !r.settings.autoAck {
			err = in.channels[i].Qos(r.settings.prefetch, 0, false)
		}
		if err != nil {
			return fmt.Errorf("open a channel at %s: %w", in.host, err)
		}
		answered()
	}
	for i, ch := range in.channels {
		name := r.session.queues[r.queues[i]]
		if r.deleted(ctx, name) { // the others go on
			if in.missing = append(in.missing, i); len(in.missing) == len(in.channels) {
				return fmt.Errorf("read queue %s: it was deleted", name)
			}
			r.failed(ctx, "NOT_FOUND")
			in.again = time.Tick(watchEvery)
			continue
		}
		messages, err := ch.Consume(name, "", r.settings.autoAck, false, false, r.settings.autoAck, nil)
		if err != nil {
			return fmt.Errorf("read queue %s: %w", name, err)
		}
		answered()
		in.feed(r, i, ch, messages)
	}
	return nil
}

// again begins to read queues that are there again. As in subscribe, no answer is waited for.
func (r *reader) again(ctx context.Context, in *subscription) {
	in.missing = slices.DeleteFunc(in.missing, func(i int) bool {
		name := r.session.queues[r.queues[i]]
		if r.deleted(ctx, name) {
			return false
		}
		messages, err := in.channels[i].Consume(name, "", r.settings.autoAck, false, false, true, nil)
		if err == nil { // else the connection is lost, and the next one reads the queue
			in.feed(r, i, in.channels[i], messages)
		}
		return true
	})
}

// deleted reports whether a queue that the server has ended consumers of is not there any more.
func (s *session) deleted(ctx context.Context, name string) bool {
	s.mu.Lock()
	gone := s.gone[name]
	s.mu.Unlock()
	return gone && isDeleted(s.ask(ctx, func(ch *amqp.Channel, _ func()) error {
		_, err := inspect(ch, name)
		return err
	}))
}

// feed passes the messages of a queue on to the inbox. It reports that one that was gone is read again.
func (in *subscription) feed(r *reader, number int, ch *amqp.Channel, messages <-chan amqp.Delivery) {
	partition := r.queues[number]
	if name := r.session.queues[partition]; r.turn(name, false) {
		r.shard.Event(event(stats.PartitionsAdded, -1, "queue %s is there again, and kt reads it from the start", name))
	}
	cancels, ends := ch.NotifyCancel(make(chan string, 1)), ch.NotifyClose(make(chan *amqp.Error, 1))
	in.feeds.Go(func() {
		for d := range messages {
			m := delivery{queue.Message{Queue: int32(partition), Value: d.Body, Redelivered: d.Redelivered}, number, d.DeliveryTag}
			if d.CorrelationId != "" {
				m.Key = []byte(d.CorrelationId)
			}
			in.inbox <- m
		}
		if len(cancels) > 0 {
			in.gone <- r.session.queues[partition]
		}
		if len(ends) > 0 {
			in.ends <- <-ends
		}
		_ = in.frames.Close() // the server has ended it, or it is closed
	})
}

func (in *subscription) end() {
	in.link.end()
	for range in.inbox { // nobody else looks at it
	}
}

// Read waits for messages, and acknowledges them. A connection that was lost is made again, whatever the patience: it may be
// shorter than that takes.
func (r *reader) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	waiting := ctx
	if patience > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	in := r.in.Load()
	if in == nil {
		if !r.wait(waiting) {
			return 0, nil
		}
		if err := r.open(ctx); err != nil {
			r.failed(ctx, code(err))
			r.later()
			var large *tooLarge
			if errors.As(err, &large) {
				return 0, err
			}
			return 0, nil
		}
		in = r.in.Load()
		r.reconnected(r.shard, in.host)
	}
	select {
	case <-in.again:
		r.again(ctx, in)
		return 0, nil
	case d, ok := <-in.inbox:
		if !ok {
			r.lose(ctx, in)
			return 0, r.refused(in)
		}
		r.shard.Working()
		return r.take(in, d, limit), nil
	case <-waiting.Done():
		return 0, nil
	}
}

// refused returns the error of a message that was too large, nil if none was. It ends reading.
func (r *reader) refused(in *subscription) error {
	large := in.frames.refused()
	if large == nil {
		return nil
	}
	if i := int(large.channel) - firstChannel; i >= 0 && i < len(r.queues) {
		return fmt.Errorf("queue %s: %w", r.session.queues[r.queues[i]], large)
	}
	return large
}

func (r *reader) take(in *subscription, d delivery, limit int) int {
	r.messages, r.channels = r.messages[:0], r.channels[:0]
	for more := true; more; {
		r.messages = append(r.messages, d.Message)
		r.channels = append(r.channels, d.channel)
		in.last[d.channel] = d.tag
		if more = len(r.messages) < limit; more {
			select {
			case d, more = <-in.inbox:
			default:
				more = false
			}
		}
	}
	r.Count(r.shard, 0, r.messages)
	for i, channel := range r.channels {
		in.held[channel].Add(&r.messages[i])
	}
	r.pause = 0
	in.acks = in.acks[:0]
	for i, tag := range in.last {
		if tag > 0 {
			in.frames.take(channelOf(i), tag)
			in.acks = appendAck(in.acks, channelOf(i), tag)
		}
	}
	clear(in.last)
	if !r.settings.autoAck {
		if _, err := in.frames.Write(in.acks); err != nil {
			_ = in.frames.Close() // the inbox ends
		}
	}
	return len(r.messages)
}

func (r *reader) lose(ctx context.Context, in *subscription) {
	in.end()
	for i, q := range r.queues {
		r.Lost(0, int32(q), &in.held[i], int(in.frames.arrived(channelOf(i))))
	}
	r.in.Store(nil)
	r.later()
	if ctx.Err() != nil {
		return
	}
	select {
	case name := <-in.gone:
		r.failed(ctx, cancelled)
		if r.turn(name, true) {
			e := event(stats.LeaderLost, -1, "RabbitMQ ended the consumers of queue %s, as when it is deleted or its node is gone", name)
			e.Count, e.Partitions = 1, []int32{int32(slices.Index(r.session.queues, name))}
			r.shard.Event(e)
		}
	default:
		var end *amqp.Error // of the first one, if the client says it
		select {
		case end = <-in.ends:
		default:
		}
		why := reason(end)
		r.failed(ctx, code(why))
		r.disconnected(r.shard, in.host, why)
	}
}

const cancelled = "CONSUMER_CANCELLED"

func (r *reader) failed(ctx context.Context, code string) {
	if ctx.Err() == nil {
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, code) })
	}
}

// Flush has nothing to wait for: an acknowledgement has no answer.
func (r *reader) Flush(context.Context) {}

// Close ends the connection. The server gives messages that were not acknowledged to others.
func (r *reader) Close() error {
	if in := r.in.Load(); in != nil {
		in.end()
	}
	return nil
}
