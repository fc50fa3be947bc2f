package rabbitmq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/queue"
)

// The codes of messages that were not published and not taken.
const (
	noRoute      = "NO_ROUTE" // returned: no queue is bound
	nack         = "NACK"     // the server could not keep it
	notConnected = "client:not connected"
	blockedCode  = "client:connection blocked"
)

// producer is the driver that writes.
type producer struct {
	*session
	*queue.Accounts
}

var _ engine.Driver = (*producer)(nil)

// Open connects the producer, so that this is not timed.
func (p *producer) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	number, all := p.plan.Shard(s.Index)
	w := &worker{
		session: p.session, shard: s, number: number, lanes: p.Add(s), generator: p.values.Generator(*p.plan, number, all),
		news: make(chan struct{}, 1), idle: make(chan struct{}, 1), done: make(chan struct{}),
	}
	var l *outlet
	err := p.anyNode(func() (err error) { l, err = w.open(ctx); return err })
	if err != nil {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	go w.work(ctx, l)
	return w, nil
}

// worker is one producer: a connection with one channel. One goroutine publishes; that which reads from the
// connection settles what was confirmed.
type worker struct {
	*session
	shard     *engine.Shard
	number    int // in the whole load
	lanes     *queue.Lanes
	generator *payload.Generator
	tries     int // of connecting

	news chan struct{}      // holds one value: look at waiting and blocked
	idle chan struct{}      // holds one value: all ops have their outcomes
	stop context.CancelFunc // of the goroutine that publishes
	done chan struct{}      // closed: it has ended

	outstanding atomic.Int64
	blocked     atomic.Bool // by the server, because of an alarm

	mu      sync.Mutex
	waiting []*engine.Op // not published
	spare   []*engine.Op
}

// message is the worker's state of an Op.
type message struct {
	memory     payload.Memory
	key, value []byte
	queue      int32
	seq        int64
	returned   bool // no queue took it
}

// OpRecords returns 1: an application publishes its messages one by one.
func (w *worker) OpRecords() int { return 1 }

// Place returns the partition that was chosen in Do.
func (w *worker) Place(op *engine.Op) int32 { return op.State.(*message).queue }

// Do leaves an op to the goroutine that publishes.
func (w *worker) Do(op *engine.Op) (waited bool) {
	m, ok := op.State.(*message)
	if !ok {
		m = &message{}
		op.State = m
	}
	m.key, m.value = w.generator.Fill(&m.memory, op.Index)
	m.queue, m.returned = w.lanes.Choose(m.key), false
	m.seq = w.lanes.Stamp(op, m.key, m.value, m.queue)
	op.Bytes = len(m.key) + len(m.value)
	w.outstanding.Add(1)
	w.mu.Lock()
	w.waiting = append(w.waiting, op)
	w.mu.Unlock()
	w.tell()
	return false
}

func (w *worker) tell() {
	select {
	case w.news <- struct{}{}:
	default: // it has not looked since the last value
	}
}

// settle reports the outcome of an op; "" is that it was taken.
func (w *worker) settle(op *engine.Op, code string, at time.Duration) {
	if m := op.State.(*message); code == "" {
		w.lanes.Acknowledge(op, m.queue, m.seq, at)
	} else {
		w.lanes.Fail(op, m.queue, m.seq, code)
	}
	if w.outstanding.Add(-1) == 0 {
		select {
		case w.idle <- struct{}{}:
		default:
		}
	}
}

// Flush waits for all outcomes.
func (w *worker) Flush(ctx context.Context) error {
	for w.outstanding.Load() > 0 {
		select {
		case <-w.idle:
		case <-ctx.Done():
			w.refuse(0) // they have never left kt
			return ctx.Err()
		}
	}
	return nil
}

// Close ends the connection.
func (w *worker) Close() error {
	w.stop()
	<-w.done
	return nil
}

// refuse fails messages that have waited so long.
func (w *worker) refuse(age time.Duration) {
	code := notConnected
	if w.blocked.Load() {
		code = blockedCode
	}
	before := w.shard.Now() - age
	w.mu.Lock()
	n := 0
	for n < len(w.waiting) && w.waiting[n].Sent <= before {
		n++
	}
	old := w.waiting[:n:n]
	w.waiting = w.waiting[n:]
	w.mu.Unlock()
	for _, op := range old {
		w.settle(op, code, 0)
	}
}

// outlet is a connection of a worker that is ready to publish.
type outlet struct {
	*link
	worker   *worker
	channel  *amqp.Channel
	exchange string
	blocks   chan amqp.Blocking
	ends     chan *amqp.Error
	down     chan struct{} // closed: the channel has ended
	why      error         // then

	frames, id []byte // of the goroutine that publishes

	mu        sync.Mutex            // guards the rest
	pending   map[uint64]*engine.Op // published and not confirmed, by delivery tag
	published uint64                // the newest delivery tag
	oldest    uint64                // no tag below it is pending
	settled   []*engine.Op          // the goroutine that reads reuses it
}

// firstChannel is the number that the client gives to the first channel of a connection.
const firstChannel = 1

// open connects to the next of the nodes.
func (w *worker) open(ctx context.Context) (*outlet, error) {
	host := w.hosts[(w.number+w.tries)%len(w.hosts)]
	w.tries++
	l, err := w.connect(ctx, host, fmt.Sprintf("kt producer %d", w.number+1))
	if err != nil {
		return nil, err
	}
	o := &outlet{link: l, worker: w, exchange: w.topic.Name, down: make(chan struct{}), pending: make(map[uint64]*engine.Op), oldest: 1}
	if o.channel, err = l.Channel(); err == nil && w.settings.confirms {
		err = l.pipe.confirms(firstChannel, o.confirm, o.returned)
	}
	if err != nil {
		l.end()
		return nil, fmt.Errorf("connect to %s: %w", host, explain(err))
	}
	o.blocks, o.ends = l.NotifyBlocked(make(chan amqp.Blocking, 1)), o.channel.NotifyClose(make(chan *amqp.Error, 1))
	return o, nil
}

// work publishes until ctx ends, on one connection after the other.
func (w *worker) work(ctx context.Context, o *outlet) {
	defer close(w.done)
	var pause backOff
	for {
		if o != nil {
			go w.hear(o)
			// A server that takes nothing more holds up what is being written.
			unhook := context.AfterFunc(ctx, func() { time.AfterFunc(endTimeout, func() { _ = o.pipe.Close() }) })
			w.publish(ctx, o)
			o.end()
			unhook()
			<-o.down
			if w.lose(ctx, o) {
				pause = 0
			}
		}
		if !pass(ctx, time.Now().Add(pause.next())) {
			return
		}
		w.refuse(w.settings.deliveryTimeout)
		var err error
		if o, err = w.open(ctx); err == nil {
			w.reconnected(w.shard, o.host)
		}
	}
}

// lose fails what was published and not confirmed when the connection ended. It reports whether anything was confirmed.
func (w *worker) lose(ctx context.Context, o *outlet) (worked bool) {
	w.setBlocked(false, "")
	o.mu.Lock()
	left := o.pending
	worked = int(o.published) > len(left)
	o.pending = nil
	o.mu.Unlock()
	for _, tag := range slices.Sorted(maps.Keys(left)) {
		w.settle(left[tag], code(o.why), 0)
	}
	if ctx.Err() == nil {
		w.disconnected(w.shard, o.host, o.why)
	}
	return worked
}

// publish publishes what waits until the connection or ctx ends.
func (w *worker) publish(ctx context.Context, o *outlet) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	w.tell() // some may have waited for the connection
	for {
		select {
		case <-w.news:
		case <-ticker.C:
			w.refuse(w.settings.deliveryTimeout)
		case <-o.down:
			return
		case <-ctx.Done():
			return
		}
		if w.blocked.Load() {
			continue
		}
		w.mu.Lock()
		ops := w.waiting
		w.waiting = w.spare[:0]
		w.mu.Unlock()
		w.spare = ops
		if err := w.publishAll(o, ops); err != nil {
			return
		}
	}
}

// publishAll publishes some messages together. Those after an error wait for the next connection.
func (w *worker) publishAll(o *outlet, ops []*engine.Op) error {
	o.pipe.hold()
	for i, op := range ops {
		if err := w.publishOne(o, op); err != nil {
			w.mu.Lock()
			w.waiting = append(append([]*engine.Op(nil), ops[i+1:]...), w.waiting...)
			w.mu.Unlock()
			return err
		}
	}
	if err := o.pipe.flush(); err != nil {
		return err
	}
	if !w.settings.confirms && len(ops) > 0 {
		o.confirm(o.published, true, true)
	}
	return nil
}

func (w *worker) publishOne(o *outlet, op *engine.Op) error {
	m := op.State.(*message)
	p := publication{exchange: o.exchange, key: w.keys[m.queue], mode: w.settings.deliveryMode, correlationID: m.key, body: m.value}
	o.mu.Lock()
	o.published++
	tag := o.published
	o.pending[tag] = op
	o.mu.Unlock()
	if w.settings.mandatory && w.settings.confirms {
		o.id = strconv.AppendUint(o.id[:0], tag, 10) // a returned message is known by it
		p.mandatory, p.id = true, o.id
	}
	o.frames = p.append(o.frames[:0], firstChannel, o.Config.FrameSize)
	_, err := o.pipe.Write(o.frames)
	return err
}

// hear waits for alarms, until the channel has ended.
func (w *worker) hear(o *outlet) {
	defer close(o.down)
	blocks := o.blocks
	for {
		select {
		case b, ok := <-blocks:
			if !ok {
				blocks = nil
				continue
			}
			w.setBlocked(b.Active, b.Reason)
			w.tell()
		case e := <-o.ends:
			o.why = reason(e)
			return
		}
	}
}

// returned notes that no queue took a message. Its confirm follows.
func (o *outlet) returned(messageID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if tag, err := strconv.ParseUint(messageID, 10, 64); err == nil && o.pending[tag] != nil {
		o.pending[tag].State.(*message).returned = true
	}
}

// confirm settles the message with a tag, or all up to it.
func (o *outlet) confirm(tag uint64, multiple, taken bool) {
	now := o.worker.shard.Now()
	o.mu.Lock()
	o.settled = o.settled[:0]
	from := tag
	if multiple {
		from = o.oldest
	}
	for ; from <= tag; from++ {
		if op := o.pending[from]; op != nil {
			delete(o.pending, from)
			o.settled = append(o.settled, op)
		}
	}
	for o.oldest <= o.published && o.pending[o.oldest] == nil {
		o.oldest++
	}
	o.mu.Unlock()
	for _, op := range o.settled {
		switch {
		case !taken:
			o.worker.settle(op, nack, now)
		case op.State.(*message).returned:
			o.worker.settle(op, noRoute, now)
		default:
			o.worker.settle(op, "", now)
		}
	}
}

// setBlocked notes whether the server takes no messages of this connection.
func (w *worker) setBlocked(blocked bool, reason string) {
	if w.blocked.Swap(blocked) != blocked {
		w.alarm(w.shard, blocked, reason)
	}
}
