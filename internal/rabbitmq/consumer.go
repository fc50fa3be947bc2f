package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
func (s *session) share(index int) (mine []int32) {
	own, number, all := s.dealt(index)
	for i, q := range own {
		if n := min(len(own), all); i%n == number%n {
			mine = append(mine, q)
		}
	}
	return mine
}

// dealt returns the queues of this process, and the number of one of its consumers among all that they are dealt out to.
func (s *session) dealt(index int) (own []int32, number, all int) {
	share := s.plan.Share
	for q := range int32(s.topics.Count()) {
		if share.Has(q) {
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
	at := slices.Index(own, partition)
	return at >= 0 && at+len(own) < all
}

// onTheirWay returns how many messages of each queue came to this process and were not read.
func (c *consumer) onTheirWay() map[int32]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := make(map[int32]int64)
	for _, r := range c.readers {
		if in := r.in.Load(); in != nil {
			in.count(n)
		}
	}
	return n
}

type reader struct {
	*consumer
	dialer
	shard    *engine.Shard
	queues   []int32
	messages []queue.Message
	in       atomic.Pointer[subscription] // nil: it is not connected; only the reader changes it
}

// subscription is a connection of a reader, with one channel: messages come in the order of their tags, so that one
// acknowledgement is of all that were read.
type subscription struct {
	*link
	channel *amqp.Channel
	missing []int32          // queues that were deleted
	again   <-chan time.Time // when kt looks for those again; nil: there are none

	news, room chan struct{}   // hold one value: look whether messages wait, and whether fewer do
	mu         sync.Mutex      // guards what follows
	waiting    []queue.Message // that came and were not counted
	bytes      int             // of them
	most       int             // of them, above which nothing more is read from the connection; 0: it is being opened

	cancelled bool // when it is over: the server has ended the consumer of a queue
	gone      int32

	held  map[int32]*queue.Held // of the reader, by queue: what comes back if the connection is lost
	taken uint64                // the same: the delivery tag of the newest message
	ack   []byte
}

// mostWaiting is the bytes of unread messages with which nothing more is read from a connection.
const mostWaiting = 64 << 20

func (r *reader) open(ctx context.Context) error {
	l, err := r.reach(ctx, r.System)
	if err != nil {
		return err
	}
	in := &subscription{
		link: l, news: make(chan struct{}, 1), room: make(chan struct{}, 1), held: make(map[int32]*queue.Held),
	}
	for _, q := range r.queues {
		if in.held[q] = new(queue.Held); !r.Settings.autoAck {
			in.held[q].Most = r.Settings.prefetch
		}
	}
	l.frames.taker.Store(&taker{message: in.put, largest: uint64(r.Settings.maxMessage), cancel: func(number int32) {
		in.cancelled = in.held[number] != nil
		in.gone = number
		_ = l.frames.Close()
	}})
	if err = l.within(ctx, dialTimeout, func() error { return r.subscribe(ctx, in) }); err != nil {
		l.end()
		return cmp.Or(r.refused(in), err)
	}
	in.mu.Lock()
	in.most = r.Settings.prefetch * len(r.queues)
	in.mu.Unlock()
	r.in.Store(in)
	return nil
}

func (r *reader) subscribe(ctx context.Context, in *subscription) (err error) {
	if in.channel, err = in.open(); err == nil && !r.Settings.autoAck {
		err = in.channel.Qos(r.Settings.prefetch, 0, false) // of each queue
	}
	if err != nil {
		return fmt.Errorf("open a channel at %s: %w", in.host, err)
	}
	for _, q := range r.queues {
		there, err := r.consume(ctx, in, q, r.Settings.autoAck)
		if err != nil {
			return err
		}
		if !there { // the others go on
			if in.missing = append(in.missing, q); len(in.missing) == len(r.queues) {
				return fmt.Errorf("read queue %s: it was deleted", r.queue(q))
			}
			r.failed(ctx, "NOT_FOUND")
			in.again = time.Tick(watchEvery)
		}
	}
	return nil
}

// consume begins to read a queue, if it is there. It reports that one that was gone is read again.
func (r *reader) consume(ctx context.Context, in *subscription, q int32, noWait bool) (there bool, err error) {
	name := r.queue(q)
	if r.deleted(ctx, name) {
		return false, nil
	}
	if _, err := in.channel.Consume(name, strconv.Itoa(int(q)), r.Settings.autoAck, false, false, noWait, nil); err != nil {
		return true, fmt.Errorf("read queue %s: %w", name, err)
	}
	if r.turn(name, false) {
		r.shard.Event(event(stats.PartitionsAdded, -1, "queue %s is there again, and kt reads it from the start", name))
	}
	return true, nil
}

// deleted reports whether a queue that the server has ended consumers of is not there any more.
func (s *session) deleted(ctx context.Context, name string) bool {
	s.mu.Lock()
	gone := s.gone[name]
	s.mu.Unlock()
	return gone && isDeleted(s.ask(ctx, func(ch *amqp.Channel) error {
		_, err := inspect(ch, name)
		return err
	}))
}

// put keeps a message for the reader. Nothing more is read from the connection while too many wait.
func (in *subscription) put(m *content) {
	if in.held[m.queue] == nil { // it is not of kt's consumers
		return
	}
	in.mu.Lock()
	in.waiting = append(in.waiting, queue.Message{Queue: m.queue, Key: m.key, Value: m.body, Redelivered: m.redelivered})
	in.bytes += len(m.body)
	in.mu.Unlock()
	signal(in.news)
	for in.full() {
		select {
		case <-in.room:
		case <-in.frames.closed:
			return
		}
	}
}

func (in *subscription) full() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.most > 0 && (len(in.waiting) > in.most || in.bytes > mostWaiting)
}

// count adds the messages of each queue that came and were not counted.
func (in *subscription) count(n map[int32]int64) map[int32]int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.waiting {
		n[in.waiting[i].Queue]++
	}
	return n
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
		err := r.open(ctx)
		if err == nil {
			r.tell(r.shard, r.in.Load().host, nil)
			return 0, nil
		}
		r.failed(ctx, code(err))
		r.later()
		if large := new(tooLarge); errors.As(err, &large) {
			return 0, err
		}
		return 0, nil
	}
	select {
	case <-in.again: // as in subscribe, no answer is waited for; an error is that the connection is lost
		in.missing = slices.DeleteFunc(in.missing, func(q int32) bool { there, _ := r.consume(ctx, in, q, true); return there })
	case <-waiting.Done():
		return 0, nil
	case <-in.news:
	case <-in.over:
	}
	in.mu.Lock()
	r.messages = append(r.messages[:0], in.waiting[:min(limit, len(in.waiting))]...)
	in.mu.Unlock()
	switch {
	case len(r.messages) > 0:
		r.shard.Working()
		r.take(in)
	case in.frames.isClosed():
		r.lose(ctx, in)
		return 0, r.refused(in)
	}
	return len(r.messages), nil
}

// take counts the messages that wait longest, and acknowledges them.
func (r *reader) take(in *subscription) {
	r.Count(r.shard, 0, r.messages)
	in.mu.Lock()
	for i := range r.messages {
		m := &r.messages[i]
		in.bytes -= len(m.Value)
		in.held[m.Queue].Add(m)
	}
	if in.waiting = slices.Delete(in.waiting, 0, len(r.messages)); len(in.waiting) > 0 {
		signal(in.news)
	}
	in.mu.Unlock()
	signal(in.room)
	r.pause = 0
	if in.taken += uint64(len(r.messages)); r.Settings.autoAck {
		return
	}
	in.ack = appendAck(in.ack[:0], firstChannel, in.taken)
	if _, err := in.frames.Write(in.ack); err != nil {
		_ = in.frames.Close() // nothing comes any more
	}
}

// refused returns the error of a message that was too large, nil if none was. It ends reading.
func (r *reader) refused(in *subscription) error {
	large := in.frames.tooLarge.Load()
	if large == nil {
		return nil
	}
	return fmt.Errorf("queue %s: %w", r.queue(large.queue), large)
}

func (r *reader) lose(ctx context.Context, in *subscription) {
	in.end()
	<-in.over
	unread := in.count(make(map[int32]int64))
	for q, held := range in.held {
		r.Lost(0, q, held, int(unread[q]))
	}
	r.in.Store(nil)
	r.later()
	switch {
	case ctx.Err() != nil:
	case in.cancelled:
		r.failed(ctx, cancelled)
		if name := r.queue(in.gone); r.turn(name, true) {
			e := event(stats.LeaderLost, -1, "RabbitMQ ended the consumers of queue %s, as when it is deleted or its node is gone", name)
			e.Count, e.Partitions = 1, []int32{in.gone}
			r.shard.Event(e)
		}
	default:
		r.failed(ctx, code(in.why))
		r.tell(r.shard, in.host, in.why)
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
