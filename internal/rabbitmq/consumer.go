package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/stats"
)

// consumer is the driver that reads.
type consumer struct {
	*session
	*queue.Arrivals

	mu      sync.Mutex // guards readers
	readers []*reader
}

var _ engine.ReadDriver = (*consumer)(nil)

// OpenReader makes the reader of one shard. In a round trip it connects now, so that messages are
// read from the first one on.
func (c *consumer) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	r := &reader{consumer: c, shard: s, number: s.Index, queues: c.share(s.Index)}
	c.mu.Lock()
	c.readers = append(c.readers, r)
	c.mu.Unlock()
	if !c.plan.Writes() {
		return r, nil
	}
	return r, c.anyNode(func() error { return r.open(ctx) })
}

// share returns the queues of a consumer: they are dealt out, and where there are more consumers than queues,
// several share one.
func (s *session) share(index int) (mine []int) {
	own, number, all := s.dealt(index)
	if all > len(own) {
		return []int{own[number%len(own)]}
	}
	for i, q := range own {
		if i%all == number {
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

// shared reports whether several consumers share a queue.
func (s *session) shared(partition int32) bool {
	own, _, all := s.dealt(0)
	at := slices.Index(own, int(partition))
	return at >= 0 && at+len(own) < all
}

// onTheirWay returns how many messages of a queue came to this process and were not read.
func (s *session) onTheirWay(partition int) (n int64) {
	if s.read == nil {
		return 0
	}
	s.read.mu.Lock()
	defer s.read.mu.Unlock()
	for _, r := range s.read.readers {
		n += r.onItsWay(partition)
	}
	return n
}

// reader is one consumer.
type reader struct {
	*consumer
	shard    *engine.Shard
	number   int
	queues   []int
	tries    int
	pause    backOff
	retry    time.Time // when to connect again; zero: now
	messages []queue.Message

	mu sync.Mutex // guards in, which only the reader changes
	in *inlet     // nil: it is not connected
}

// inlet is a connection of a reader, with a channel for each of its queues. So the delivery tags of a queue are
// without gaps, and one acknowledgement is of all messages up to it.
type inlet struct {
	*link
	channels []*amqp.Channel
	ends     chan *amqp.Error
	news     chan struct{} // holds one value: look at inbox
	down     chan struct{} // closed: nothing comes any more, of one queue at least

	mu    sync.Mutex // guards the rest
	inbox []delivery
	taken []int64 // by channel
	over  bool    // down is closed
}

// delivery is a message that came on a channel.
type delivery struct {
	amqp.Delivery
	channel int
}

func (r *reader) onItsWay(partition int) int64 {
	r.mu.Lock()
	in := r.in
	r.mu.Unlock()
	if in == nil {
		return 0
	}
	for i, q := range r.queues {
		if q == partition {
			in.mu.Lock()
			defer in.mu.Unlock()
			return in.pipe.arrived(uint16(i+1)) - in.taken[i] // the client numbers channels from 1, as they are opened
		}
	}
	return 0
}

// open connects to the next of the nodes, and subscribes to the queues.
func (r *reader) open(ctx context.Context) error {
	hosts := r.hosts
	host := hosts[(r.number+r.tries)%len(hosts)]
	r.tries++
	l, err := r.connect(ctx, host, fmt.Sprintf("kt consumer %d", r.number+1))
	if err != nil {
		return err
	}
	in := &inlet{
		link: l, ends: l.NotifyClose(make(chan *amqp.Error, 1)), news: make(chan struct{}, 1), down: make(chan struct{}),
		taken: make([]int64, len(r.queues)),
	}
	l.pipe.limit(r.settings.prefetch * len(r.queues))
	for i, q := range r.queues {
		if err := in.subscribe(r, i, r.session.queues[q]); err != nil {
			l.end()
			return fmt.Errorf("read queue %s: %w", r.session.queues[q], explain(err))
		}
	}
	r.mu.Lock()
	r.in = in
	r.mu.Unlock()
	return nil
}

func (in *inlet) subscribe(r *reader, number int, name string) error {
	ch, err := in.Channel()
	if err != nil {
		return err
	}
	in.channels = append(in.channels, ch)
	if !r.settings.autoAck {
		if err := ch.Qos(r.settings.prefetch, 0, false); err != nil {
			return err
		}
	}
	messages, err := ch.Consume(name, "", r.settings.autoAck, false, false, false, nil)
	if err != nil {
		return err
	}
	go func() {
		for d := range messages {
			in.mu.Lock()
			in.inbox = append(in.inbox, delivery{d, number})
			in.mu.Unlock()
			in.tell()
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		if !in.over {
			in.over = true
			close(in.down)
		}
	}()
	return nil
}

func (in *inlet) tell() {
	select {
	case in.news <- struct{}{}:
	default: // the reader has not looked since the last value
	}
}

// Read waits for messages, and acknowledges them. A connection that was lost is made again, whatever the patience: it
// may be shorter than that takes.
func (r *reader) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	waiting := ctx
	if patience > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if r.in == nil {
		if !pass(waiting, r.retry) {
			return 0, nil
		}
		if err := r.open(ctx); err != nil {
			r.failed(ctx, err)
			r.retry = time.Now().Add(r.pause.next())
			return 0, nil
		}
		r.reconnected(r.shard, r.in.host)
	}
	select {
	case <-r.in.news:
	case <-r.in.down:
	case <-waiting.Done():
		return 0, nil
	}
	r.shard.Working()
	n, err := r.take(limit)
	if n > 0 {
		r.pause = 0
		return n, nil // err comes again
	}
	select {
	case <-r.in.down:
		r.lose(ctx)
	default:
		if err != nil {
			r.lose(ctx)
		}
	}
	return 0, nil
}

// take counts and acknowledges up to limit messages of the inbox.
func (r *reader) take(limit int) (n int, err error) {
	in := r.in
	r.messages = r.messages[:0]
	last := make([]uint64, len(in.channels))
	in.mu.Lock()
	n = min(limit, len(in.inbox))
	for i := range in.inbox[:n] {
		d := &in.inbox[i]
		m := queue.Message{Queue: int32(r.queues[d.channel]), Value: d.Body, Redelivered: d.Redelivered}
		if d.CorrelationId != "" {
			m.Key = []byte(d.CorrelationId)
		}
		r.messages = append(r.messages, m)
		last[d.channel] = d.DeliveryTag
		in.taken[d.channel]++
	}
	rest := copy(in.inbox, in.inbox[n:])
	clear(in.inbox[rest:])
	in.inbox = in.inbox[:rest]
	in.mu.Unlock()
	if rest > 0 {
		in.tell()
	}
	if n == 0 {
		return 0, nil
	}
	r.Count(r.shard, 0, r.messages)
	in.pipe.take(n)
	if r.settings.autoAck {
		return n, nil
	}
	in.pipe.hold()
	for i, tag := range last {
		if tag > 0 {
			err = errors.Join(err, in.channels[i].Ack(tag, true))
		}
	}
	return n, errors.Join(err, in.pipe.flush())
}

// lose gives a connection up.
func (r *reader) lose(ctx context.Context) {
	in := r.in
	in.end()
	r.mu.Lock()
	r.in = nil
	r.mu.Unlock()
	r.retry = time.Now().Add(r.pause.next())
	if why := reason(<-in.ends); ctx.Err() == nil {
		r.failed(ctx, why)
		r.disconnected(r.shard, in.host, why)
	}
}

// failed counts an error that reading goes on after.
func (r *reader) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, code(err)) })
	}
}

// Flush has nothing to wait for: an acknowledgement has no answer.
func (r *reader) Flush(context.Context) {}

// Close ends the connection. The server gives messages that were not acknowledged to others.
func (r *reader) Close() error {
	if r.in != nil {
		r.in.end()
	}
	return nil
}
