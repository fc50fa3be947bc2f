package pulsar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
)

// turnBatches is how many batches a partition gets before the next has its turn.
const turnBatches = 10

// add notes a shard: several are opened at once.
func (s *session) add(to *[]*engine.Shard, shard *engine.Shard) {
	s.opening.Lock()
	defer s.opening.Unlock()
	*to = append(*to, shard)
}

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
	n := len(s.topics.All)
	w := &worker{
		session: s, shard: shard, client: c, Lanes: p.Add(shard, s.Values), each: turnBatches * s.Settings.linger,
		producers: make([]client.Producer, n), turn: make([]int32, n), until: make([]time.Duration, n),
	}
	err = cmp.Or(s.topics.Each(func(i int, t *result.Topic) (err error) {
		w.producers[i], err = within(ctx, openTimeout, func() (client.Producer, error) { return w.open(t) })
		return err
	})...)
	if err != nil {
		leave(c)
		return nil, err
	}
	s.add(&s.writers, shard)
	return w, nil
}

func (w *worker) open(t *result.Topic) (client.Producer, error) {
	s := w.session
	return w.client.CreateProducer(client.ProducerOptions{
		Topic: s.full(t), SendTimeout: s.Settings.timeout,
		// The engine bounds what is on its way, and must not be held up in Do.
		DisableBlockIfQueueFull: true, MaxPendingMessages: s.Settings.pending,
		DisableBatching:         !s.Settings.batches(),
		BatchingMaxPublishDelay: s.Settings.linger, BatchingMaxSize: s.Settings.batchBytes, BatchingMaxMessages: s.Settings.batchMessages,
		CompressionType: s.Settings.compression,
		MessageRouter:   func(*client.ProducerMessage, client.TopicMetadata) int { return w.partition }, // SendAsync asks
	})
}

type worker struct {
	*queue.Lanes
	session   *session
	shard     *engine.Shard
	client    client.Client
	producers []client.Producer // by topic
	partition int               // of the message that the client gets, in its topic
	turn      []int32           // by topic, as Lanes.Topic has them: the queue of its messages
	until     []time.Duration   // the same: when the next queue has its turn
	each      time.Duration     // how long a turn is
}

// message is the worker's state of an Op. The client uses it until the outcome is known.
type message struct {
	client.ProducerMessage
	queue.Outgoing
	done func(client.MessageID, *client.ProducerMessage, error)
}

// Do gives one message to the client. The client has room for it, or fails it at once.
func (w *worker) Do(op *engine.Op) (waited bool) {
	m, ok := op.State.(*message)
	if !ok {
		m = &message{done: func(_ client.MessageID, _ *client.ProducerMessage, err error) { w.Settle(op, code(err), w.shard.Now()) }}
		op.State = m
	}
	w.Fill(op, func(key []byte) int32 { return w.choose(key, op.Sent) })
	m.Payload, m.ProducerMessage.Key = m.Outgoing.Value, string(m.Outgoing.Key)
	topic, partition := w.session.topics.Place(m.Queue)
	w.partition = partition
	w.producers[topic].SendAsync(context.Background(), &m.ProducerMessage, m.done)
	return false
}

// choose returns the partition of a message: by its key, or one for some batches, as with Java's client.
func (w *worker) choose(key []byte, now time.Duration) int32 {
	topic := w.Topic()
	if key != nil || now >= w.until[topic] {
		w.turn[topic], w.until[topic] = w.Choose(topic, key), now+w.each
	}
	return w.turn[topic]
}

// Flush waits until the client has an outcome for every message.
func (w *worker) Flush(ctx context.Context) error {
	for _, p := range w.producers {
		_ = p.FlushWithCtx(ctx) // it sends batches at once; it ends early when a message fails
	}
	return w.Lanes.Flush(ctx)
}

// Close closes the client. Messages without an outcome fail.
func (w *worker) Close() error {
	leave(w.client)
	return nil
}

// code returns the name of an error, "" of none.
func code(err error) string {
	var e *client.Error
	if err == nil {
		return ""
	}
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

type consumers struct {
	*queue.Arrivals
	session *session
	ends    [][]end // by group and partition; nil: nobody has asked where reading is over
}

var _ engine.ReadDriver = (*consumers)(nil)

func newConsumers(s *session, o queue.Options) *consumers {
	return &consumers{Arrivals: queue.NewArrivals(o), session: s}
}

// OpenReader subscribes, so that what is written from now on is kept for the reader.
func (d *consumers) OpenReader(ctx context.Context, shard *engine.Shard) (engine.Reader, error) {
	s, read := d.session, d.session.plan.Read
	r := &reader{
		driver: d, shard: shard, group: shard.Index / read.Consumers,
		acks: s.own || read.Commit != plan.CommitNone, each: s.Settings.shared(),
	}
	var topics []string
	for i := range s.topics.All {
		t := &s.topics.All[i]
		if s.isWhole() {
			topics = append(topics, s.full(t))
			continue
		}
		for id, name := range s.each(t, s.full(t)) {
			if s.plan.ReaderOf(s.topics.Number(t.Name, id)) == shard.Index%read.Consumers {
				topics = append(topics, name)
			}
		}
	}
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
	r.arrived = make(chan client.ConsumerMessage, s.Settings.receiverQueue)
	r.consumer, err = within(ctx, openTimeout, func() (client.Consumer, error) {
		return r.client.Subscribe(client.ConsumerOptions{
			Topics: topics, SubscriptionName: s.subscriptions[r.group], Type: s.Settings.subscription,
			SubscriptionInitialPosition: from, ReceiverQueueSize: s.Settings.receiverQueue,
			MessageChannel:      r.arrived,
			AutoDiscoveryPeriod: 2 * time.Second, // brokers keep what is in new partitions from the start
		})
	})
	if err != nil {
		leave(r.client)
		return nil, err
	}
	s.add(&s.readers, shard)
	return r, nil
}

// isWhole reports whether each consumer subscribes to the topic as a whole, and so gets partitions that are added.
func (s *session) isWhole() bool {
	return s.plan.Share.IsZero() && (s.plan.Read.Consumers == 1 || s.Settings.subscription != client.Exclusive) || s.Settings.subscription != client.Exclusive && !s.own
}

type reader struct {
	driver   *consumers
	shard    *engine.Shard
	group    int
	client   client.Client               // nil: it has nothing to read
	consumer client.Consumer             // of client
	arrived  chan client.ConsumerMessage // filled by consumer

	acks, each bool // it acknowledges, and each message by itself
	batch      []queue.Message
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
	r.batch = r.batch[:0]
	select {
	case <-ctx.Done():
		return 0, nil
	case m := <-r.arrived:
		r.shard.Working()
		r.take(m.Message)
		for limit = min(limit, maxPoll, 1+len(r.arrived)); len(r.batch) < limit; {
			r.take((<-r.arrived).Message)
		}
	}
	// The messages of a partition come in order. Count takes those of one partition together.
	slices.SortStableFunc(r.batch, func(a, b queue.Message) int { return int(a.Queue - b.Queue) })
	r.driver.Count(r.shard, r.group, r.batch)
	return len(r.batch), nil
}

func (r *reader) take(m client.Message) {
	partition := r.driver.session.number(m.Topic())
	var key []byte
	if k := m.Key(); k != "" {
		key = []byte(k)
	}
	r.batch = append(r.batch, queue.Message{Queue: partition, Key: key, Value: m.Payload()})
	id := m.ID()
	if ends := r.driver.ends; ends != nil && int(partition) < len(ends[r.group]) {
		ends[r.group][partition].take(id)
	}
	// The client sends acknowledgements together. An error is that it is closed.
	switch {
	case r.acks && r.each:
		_ = r.consumer.AckID(id)
	case r.acks && endsBatch(id): // the client acknowledges whole batches
		_ = r.consumer.AckIDCumulative(id)
	}
}

// Flush does nothing: Close sends the acknowledgements that wait.
func (r *reader) Flush(context.Context) {}

// Close ends the subscription's consumer.
func (r *reader) Close() error {
	if r.client != nil {
		leave(r.client)
	}
	return nil
}

type position struct {
	Ledger int64 `json:"ledgerId"`
	Entry  int64 `json:"entryId"`
}

// end is where the reading of a partition by a group is over.
type end struct {
	position
	reached atomic.Bool  // the last message was read, or nothing is left
	read    atomic.Int64 // messages up to the end

	before int64     // read at the last look
	since  time.Time // when that became so
}

func (e *end) take(id client.MessageID) {
	at := cmp.Or(cmp.Compare(id.LedgerID(), e.Ledger), cmp.Compare(id.EntryID(), e.Entry))
	if at <= 0 {
		e.read.Add(1)
	}
	if at > 0 || at == 0 && endsBatch(id) {
		e.reached.Store(true)
	}
}

// othersWithin is the time in which the other consumers of a partition read what they have got of it.
const othersWithin = 3 * time.Second

func (e *end) over(quiet time.Duration, now time.Time) bool {
	if n := e.read.Load(); n != e.before || e.since.IsZero() {
		e.before, e.since = n, now
	}
	return e.reached.Load() && now.Sub(e.since) >= quiet
}

// endsBatch reports whether a message is the last one of a batch, or in none.
func endsBatch(id client.MessageID) bool { return id.BatchIdx()+1 >= id.BatchSize() }

// SetEndOffsets looks up where the partitions end now. Brokers count entries, which are batches: the messages that wait are not
// known by their number. So reading is over at the last entry, or where a subscription has nothing left.
func (d *consumers) SetEndOffsets(ctx context.Context) error {
	s := d.session
	if s.seen != nil {
		return fmt.Errorf("where topic %s ends: %w; --num-records or --duration ends reading without the admin API", s.plan.Topic.Short(), s.seen)
	}
	if s.plan.Writes() {
		return d.Arrivals.SetEndOffsets(ctx)
	}
	d.ends = make([][]end, len(s.subscriptions))
	for g := range d.ends {
		d.ends[g] = make([]end, s.topics.Count())
	}
	errs := s.topics.Each(func(_ int, t *result.Topic) error {
		for id, path := range s.each(t, s.path(t)) {
			number := s.topics.Number(t.Name, id)
			var at position
			mine := !s.own || queue.Mine(s.plan, number) // else nobody reads it here
			if err := s.admin.Get(ctx, path+"/lastMessageId", &at); mine && err != nil && queue.Status(err) != http.StatusNotFound {
				return fmt.Errorf("where partition %d of topic %s ends: %w", id, t.Name, err)
			}
			for g := range d.ends {
				d.ends[g][number].position = at
				d.ends[g][number].reached.Store(!mine)
			}
		}
		return nil
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	d.Go(ctx, func(ctx context.Context) { engine.Every(ctx, time.Second/5, func() { d.lookForEnd(ctx) }) })
	return nil
}

// lookForEnd ends the reading when every group has read every partition, or has nothing left of it to read.
func (d *consumers) lookForEnd(ctx context.Context) {
	left, quiet := false, time.Duration(0)
	if d.session.Settings.shared() {
		quiet = othersWithin + d.session.plan.Read.Processing.Mean()
	}
	all, errs := d.session.stats(ctx)
	err := cmp.Or(errs...)
	for g, name := range d.session.subscriptions {
		for i := range d.ends[g] {
			e := &d.ends[g][i]
			if err == nil && all[i] != nil {
				if s, there := all[i].Subscriptions[name]; there && s.MsgBacklog == 0 {
					e.reached.Store(true)
					continue
				}
			}
			left = !e.over(quiet, time.Now()) || left
		}
	}
	if !left {
		d.End()
	}
}
