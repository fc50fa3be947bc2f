package rabbitmq

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/queue"
)

// The codes of messages that were not published and not taken.
const (
	noRoute      = "NO_ROUTE" // returned: no queue is bound
	nack         = "NACK"     // the server could not keep it
	notConnected = "client:not connected"
	blockedCode  = "client:connection blocked"
)

type producer struct {
	*session
	*queue.Accounts
}

var _ engine.Driver = (*producer)(nil)

// Open connects the producer, so that this is not timed.
func (p *producer) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	number, _ := p.plan.Shard(s.Index)
	w := &worker{
		session: p.session, shard: s, Lanes: p.Add(s, p.Values), news: make(chan struct{}, 1),
		dialer: dialer{name: fmt.Sprintf("kt producer %d", number+1), number: number},
	}
	var o *publisher
	err := p.anyNode(func() (err error) { o, err = w.open(ctx); return err })
	if err != nil {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.tasks.Go(func() { w.work(ctx, o) })
	w.tasks.Go(func() { engine.Every(ctx, time.Second, w.lookAround) })
	return w, nil
}

// worker is one producer: a connection with one channel. One goroutine publishes, that which reads settles what was confirmed,
// and a third one refuses what has waited too long.
type worker struct {
	*session
	dialer
	*queue.Lanes
	shard *engine.Shard

	news  chan struct{}      // holds one value: look at waiting and blocked
	stop  context.CancelFunc // of the tasks
	tasks sync.WaitGroup

	at      atomic.Pointer[publisher] // nil: it is not connected
	blocked atomic.Pointer[string]    // why the server takes no messages, because of an alarm; nil: it does
	nacked  atomic.Bool               // since the last look

	mu      sync.Mutex // guards waiting
	waiting []*engine.Op
}

type message struct {
	queue.Outgoing
	returned bool // no queue took it
}

// Do leaves an op to the goroutine that publishes.
func (w *worker) Do(op *engine.Op) (waited bool) {
	m, ok := op.State.(*message)
	if !ok {
		m = &message{}
		op.State = m
	}
	m.returned = false
	w.Fill(op, w.Choose)
	w.mu.Lock()
	w.waiting = append(w.waiting, op)
	w.mu.Unlock()
	signal(w.news)
	return false
}

// oldest takes the op that has waited longest to be published, if it was sent up to a time; nil: there is none.
func (w *worker) oldest(until time.Duration) *engine.Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 || w.waiting[0].Sent > until {
		return nil
	}
	op := w.waiting[0]
	w.waiting = w.waiting[1:]
	return op
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Flush waits for all outcomes. What has not left kt fails in the end.
func (w *worker) Flush(ctx context.Context) error {
	err := w.Lanes.Flush(ctx)
	if err != nil {
		w.refuse(0)
	}
	return err
}

// Close ends the connection.
func (w *worker) Close() error {
	w.stop()
	w.tasks.Wait()
	return nil
}

func (w *worker) refuse(age time.Duration) {
	code := notConnected
	if w.at.Load() != nil {
		code = blockedCode
	}
	until := w.shard.Now() - age
	for op := w.oldest(until); op != nil; op = w.oldest(until) {
		w.Settle(op, code, 0)
	}
}

// lookAround fails messages that have waited too long, and notes whether the server throttles the worker.
func (w *worker) lookAround() {
	w.refuse(w.Settings.deliveryTimeout)
	nacked, at, why := w.nacked.Swap(false), "", ""
	limit, _ := w.limit.Load().(string)
	flow, _ := w.flow.Load().(map[string]bool)
	if o, reason := w.at.Load(), w.blocked.Load(); o != nil {
		at = o.host
		_, port, _ := net.SplitHostPort(o.frames.conn.LocalAddr().String()) // it has one
		switch {
		case reason != nil:
			why = "RabbitMQ blocks publishers: " + *reason
		case nacked && limit != "":
			why = limit
		case flow[port]:
			why = "credit flow of RabbitMQ, whose queues or disks take no more"
		}
	}
	w.shard.LookThrottled(w.broker(at), why)
}

// work publishes until ctx ends, on one connection after the other.
func (w *worker) work(ctx context.Context, o *publisher) {
	for {
		if o != nil {
			w.at.Store(o)
			go w.hear(o)
			// A server that takes nothing more holds up what is being written.
			unhook := context.AfterFunc(ctx, func() { time.AfterFunc(endTimeout, func() { _ = o.frames.Close() }) })
			w.publish(ctx, o)
			o.end()
			unhook()
			<-o.down
			w.lose(ctx, o)
		}
		w.later()
		if !w.wait(ctx) {
			return
		}
		var err error
		if o, err = w.open(ctx); err == nil {
			w.reconnected(w.shard, o.host)
		}
	}
}

// lose fails what was published and not confirmed when the connection ended.
func (w *worker) lose(ctx context.Context, o *publisher) {
	w.at.Store(nil)
	w.blocked.Store(nil)
	o.mu.Lock()
	left := o.pending
	if o.tag > 1 {
		w.pause = 0 // the connection has worked
	}
	o.pending = nil
	o.mu.Unlock()
	code := code(o.why)
	if code != lost {
		w.shard.Said(code, explain(o.why).Error())
	}
	for _, op := range left {
		if op != nil {
			w.Settle(op, code, 0)
		}
	}
	if ctx.Err() == nil {
		w.disconnected(w.shard, o.host, o.why)
	}
}

func (w *worker) publish(ctx context.Context, o *publisher) {
	signal(w.news) // some may have waited for the connection
	for {
		select {
		case <-w.news:
		case <-o.down:
			return
		case <-ctx.Done():
			return
		}
		if w.blocked.Load() == nil && w.publishSome(o) != nil {
			return
		}
	}
}

func (w *worker) hear(o *publisher) {
	defer close(o.down)
	blocks := o.blocks
	for {
		select {
		case b, ok := <-blocks:
			if !ok {
				blocks = nil
				continue
			}
			w.blocked.Store(map[bool]*string{true: &b.Reason}[b.Active])
			signal(w.news)
		case e := <-o.ends:
			o.why = reason(e)
			return
		}
	}
}

// publisher is a connection of a worker. It settles messages as their confirms come.
type publisher struct {
	*link
	worker *worker
	blocks chan amqp.Blocking
	ends   chan *amqp.Error
	down   chan struct{} // closed: the channel has ended
	why    error         // then

	batch, id []byte // of the goroutine that publishes

	mu      sync.Mutex   // guards the rest
	pending []*engine.Op // published, in the order of delivery tags; nil: confirmed
	tag     uint64       // of the first of them
	settled []*engine.Op // the goroutine that reads reuses it
}

// firstChannel is the number that the client gives to the first channel of a connection.
const firstChannel = 1

func (w *worker) open(ctx context.Context) (*publisher, error) {
	l, err := w.reach(ctx, w.System)
	if err != nil {
		return nil, err
	}
	o := &publisher{link: l, worker: w, down: make(chan struct{}), tag: 1}
	l.frames.taker.Store(&taker{confirm: o.confirm, message: func(m *content) {
		tag, _ := strconv.ParseUint(string(m.id), 10, 64) // 0 with an error
		o.returned(tag)
	}})
	err = l.within(ctx, answerTimeout, func() error {
		channel, err := l.Channel()
		if err != nil {
			return err
		}
		o.blocks, o.ends = l.NotifyBlocked(make(chan amqp.Blocking, 1)), channel.NotifyClose(make(chan *amqp.Error, 1))
		if w.Settings.confirms {
			return channel.Confirm(false)
		}
		return nil
	})
	if err != nil {
		l.end()
		return nil, fmt.Errorf("connect to %s: %w", l.host, explain(err))
	}
	return o, nil
}

// writeAt is the bytes that are written at once while more messages wait, by one system call.
const writeAt = 64 << 10

// maxPending bounds the memory of a connection whose oldest message has no confirm, while later ones have theirs.
const maxPending = 1 << 20

func (w *worker) publishSome(o *publisher) error {
	o.mu.Lock()
	room := maxPending - len(o.pending)
	o.mu.Unlock()
	newest := uint64(0)
	for o.batch = o.batch[:0]; len(o.batch) < writeAt && room > 0; room-- {
		op := w.oldest(math.MaxInt64)
		if op == nil {
			break
		}
		newest = o.add(op)
	}
	if len(o.batch) == 0 {
		return nil
	}
	signal(w.news) // there may be more
	_, err := o.frames.Write(o.batch)
	if err == nil && !w.Settings.confirms {
		o.confirm(newest, true, true)
	}
	return err
}

func (o *publisher) add(op *engine.Op) uint64 {
	o.mu.Lock()
	tag := o.tag + uint64(len(o.pending))
	o.pending = append(o.pending, op)
	o.mu.Unlock()
	w, m := o.worker, op.State.(*message)
	p := publication{exchange: w.topic.Name, key: w.key(m.Queue), mode: w.Settings.deliveryMode, correlationID: m.Key, body: m.Value}
	if w.Settings.mandatory && w.Settings.confirms {
		o.id = strconv.AppendUint(o.id[:0], tag, 10) // a returned message is known by it
		p.mandatory, p.id = true, o.id
	}
	o.batch = p.append(o.batch, firstChannel, o.Config.FrameSize)
	return tag
}

func (o *publisher) returned(tag uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := tag - o.tag; at < uint64(len(o.pending)) && o.pending[at] != nil {
		o.pending[at].State.(*message).returned = true
	}
}

// confirm settles the message with a tag, or all up to it.
func (o *publisher) confirm(tag uint64, multiple, taken bool) {
	now := o.worker.shard.Now()
	for _, op := range o.confirmed(tag, multiple) {
		code := ""
		switch {
		case op == nil:
			continue
		case !taken:
			code = nack
			o.worker.nacked.Store(true)
		case op.State.(*message).returned:
			code = noRoute
		}
		o.worker.Settle(op, code, now)
	}
}

// confirmed takes the message with a tag, or all up to it. Those that were confirmed before are nil.
func (o *publisher) confirmed(tag uint64, multiple bool) []*engine.Op {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settled = o.settled[:0]
	if at := tag - o.tag; at < uint64(len(o.pending)) { // it was not confirmed before
		from := at
		if multiple {
			from = 0
		}
		o.settled = append(o.settled, o.pending[from:at+1]...)
		clear(o.pending[from : at+1])
	}
	full := len(o.pending) >= maxPending
	for len(o.pending) > 0 && o.pending[0] == nil {
		o.pending = o.pending[1:]
		o.tag++
	}
	if full && len(o.pending) < maxPending {
		signal(o.worker.news) // there is room again
	}
	return o.settled
}
