package pulsar

import (
	"context"
	"slices"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
)

// consumers is the driver that reads.
type consumers struct {
	*queue.Arrivals
	session *session
	numbers map[string]int32 // of partitions, by their whole names
	ends    [][]end          // by group and partition; nil: nobody has asked where reading is over
}

var _ engine.ReadDriver = (*consumers)(nil)

func newConsumers(s *session, o queue.Options) *consumers {
	d := &consumers{Arrivals: queue.NewArrivals(o), session: s, numbers: make(map[string]int32)}
	for i, name := range s.each(s.full()) {
		d.numbers[name] = int32(i)
	}
	return d
}

// OpenReader subscribes, so that what is written from now on is kept for the reader.
func (d *consumers) OpenReader(_ context.Context, shard *engine.Shard) (engine.Reader, error) {
	s, read := d.session, d.session.plan.Read
	r := &reader{
		driver: d, shard: shard, group: shard.Index / read.Consumers,
		last: make([]client.MessageID, s.topic.Partitions),
		acks: s.own || read.Commit != plan.CommitNone,
		each: s.consumer.subscription == client.Shared || s.consumer.subscription == client.KeyShared,
	}
	topics := d.share(shard.Index % read.Consumers)
	if len(topics) == 0 {
		return r, nil // it has nothing to read
	}
	var err error
	if r.client, err = s.client(); err != nil {
		return nil, err
	}
	from := client.SubscriptionPositionEarliest
	if read.From.Latest {
		from = client.SubscriptionPositionLatest
	}
	r.consumer, err = r.client.Subscribe(client.ConsumerOptions{
		Topics: topics, SubscriptionName: s.subscriptions[r.group], Type: s.consumer.subscription,
		SubscriptionInitialPosition: from, ReceiverQueueSize: s.consumer.receiverQueue,
		MessageChannel: make(chan client.ConsumerMessage, s.consumer.receiverQueue),
	})
	if err != nil {
		r.client.Close()
		return nil, err
	}
	return r, nil
}

// share returns what a consumer subscribes to. A broker shares out the partitions, unless each may have one consumer only,
// or other processes read some of them without a group.
func (d *consumers) share(member int) (topics []string) {
	s := d.session
	if s.consumer.subscription != client.Exclusive && (!s.own || s.plan.Share.IsZero()) {
		return []string{s.full()}
	}
	for i, name := range s.each(s.full()) {
		if s.plan.ReaderOf(int32(i)) == member {
			topics = append(topics, name)
		}
	}
	return topics
}

// reader is one consumer.
type reader struct {
	driver   *consumers
	shard    *engine.Shard
	group    int
	client   client.Client   // nil: it has nothing to read
	consumer client.Consumer // of client

	acks, each bool // it acknowledges, and each message by itself
	batch      []queue.Message
	last       []client.MessageID // read last, by partition; nil: since the last acknowledgement none was
}

// maxPoll bounds the messages of one Read, which are counted together.
const maxPoll = 1000

// Read waits for a message, and takes with it what has arrived.
func (r *reader) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if r.consumer == nil {
		<-ctx.Done()
		return 0, nil
	}
	arrived := r.consumer.Chan()
	r.batch = r.batch[:0]
	select {
	case <-ctx.Done():
		return 0, nil
	case m := <-arrived:
		r.shard.Working()
		r.take(m.Message)
		for limit = min(limit, maxPoll, 1+len(arrived)); len(r.batch) < limit; {
			r.take((<-arrived).Message)
		}
	}
	// The messages of a partition come in order. Count takes those of one partition together.
	slices.SortStableFunc(r.batch, func(a, b queue.Message) int { return int(a.Queue - b.Queue) })
	r.driver.Count(r.shard, r.group, r.batch)
	r.acknowledge()
	return len(r.batch), nil
}

// take adds a message to the batch.
func (r *reader) take(m client.Message) {
	partition := r.driver.numbers[m.Topic()]
	var key []byte
	if k := m.Key(); k != "" {
		key = []byte(k)
	}
	r.batch = append(r.batch, queue.Message{Queue: partition, Key: key, Value: m.Payload(), Redelivered: m.RedeliveryCount() > 0})
	if r.acks && r.each {
		_ = r.consumer.Ack(m) // the client sends them together; an error is that it is closed
	}
	id := m.ID()
	r.last[partition] = id
	if ends := r.driver.ends; ends != nil {
		ends[r.group][partition].pass(id)
	}
}

// acknowledge acknowledges what was read.
func (r *reader) acknowledge() {
	for i, id := range r.last {
		if id == nil {
			continue
		}
		if r.acks && !r.each {
			_ = r.consumer.AckIDCumulative(id) // as in take
		}
		r.last[i] = nil
	}
}

// Flush does nothing: Close sends the acknowledgements that wait.
func (r *reader) Flush(context.Context) {}

// Close ends the subscription's consumer.
func (r *reader) Close() error {
	if r.client != nil {
		leave(r.consumer, r.client)
	}
	return nil
}
