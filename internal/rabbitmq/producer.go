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

	at     atomic.Pointer[publisher] // nil: it is not connected
	nacked atomic.Bool               // since the last look

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
	w.Fill(op, func(key []byte) int32 { return w.Choose(w.Topic(), key) })
	w.mu.Lock()
	w.waiting = append(w.waiting, op)
	w.mu.Unlock()
	signal(w.news)
	return false
}

// takeOldest takes the op that has waited longest to be published, if it was sent up to a time; nil: there is none.
func (w *worker) takeOldest(until time.Duration) *engine.Op {
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
	for op := w.takeOldest(until); op != nil; op = w.takeOldest(until) {
		w.Settle(op, code, 0)
	}
}

// lookAround fails messages that have waited too long, and notes whether the server throttles the worker.
func (w *worker) lookAround() {
	w.refuse(w.Settings.deliveryTimeout)
	nacked, at, why := w.nacked.Swap(false), "", ""
	limit, _ := w.limit.Load().(string)
	flow, _ := w.flow.Load().(map[string]bool)
	if o := w.at.Load(); o != nil {
		at = o.host
		reason := o.blocked.Load()
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
			// A server that takes nothing more holds up what is being written.
			unhook := context.AfterFunc(ctx, func() { time.AfterFunc(endTimeout, func() { _ = o.frames.Close() }) })
			w.publish(ctx, o)
			o.end()
			unhook()
			<-o.over
			w.lose(ctx, o)
		}
		w.later()
		if !w.wait(ctx) {
			return
		}
		var err error
		if o, err = w.open(ctx); err == nil {
			w.tell(w.shard, o.host, nil)
		}
	}
}

// lose fails what was published and not confirmed when the connection ended.
func (w *worker) lose(ctx context.Context, o *publisher) {
	w.at.Store(nil)
	code := code(o.why)
	if code != lost {
		w.shard.Said(code, explain(o.why).Error())
	}
	o.mu.Lock()
	if o.oldest > 1 {
		w.pause = 0 // the connection has worked
	}
	o.mu.Unlock()
	for _, op := range o.confirmed(nil, o.newest, true) {
		w.Settle(op, code, 0)
	}
	if ctx.Err() == nil {
		w.tell(w.shard, o.host, o.why)
	}
}

func (w *worker) publish(ctx context.Context, o *publisher) {
	signal(w.news) // some may have waited for the connection
	for {
		select {
		case <-w.news:
		case <-o.over:
			return
		case <-ctx.Done():
			return
		}
		if o.blocked.Load() == nil && w.publishSome(o) != nil {
			return
		}
	}
}

// publisher is a connection of a worker. It settles messages as their confirms come.
type publisher struct {
	*link
	worker  *worker
	blocked atomic.Pointer[string] // why the server takes no messages, because of an alarm; nil: it does

	batch, id []byte // of the goroutine that publishes

	mu             sync.Mutex            // guards the rest
	pending        map[uint64]*engine.Op // published, by delivery tag
	oldest, newest uint64                // tags: all before the oldest were confirmed
	settled        []*engine.Op          // the goroutine that reads reuses it
}

// firstChannel is the number that the client gives to the first channel of a connection.
const firstChannel = 1

func (w *worker) open(ctx context.Context) (*publisher, error) {
	l, err := w.reach(ctx, w.System)
	if err != nil {
		return nil, err
	}
	o := &publisher{link: l, worker: w, pending: make(map[uint64]*engine.Op), oldest: 1}
	l.frames.taker.Store(&taker{confirm: o.confirm, block: o.block, message: o.returned})
	err = l.within(ctx, answerTimeout, func() error {
		channel, err := l.open()
		if err == nil && w.Settings.confirms {
			err = channel.Confirm(false)
		}
		return err
	})
	if err != nil {
		l.end()
		return nil, fmt.Errorf("connect to %s: %w", l.host, explain(err))
	}
	return o, nil
}

// writeAt is the bytes that are written at once while more messages wait, by one system call.
const writeAt = 64 << 10

func (w *worker) publishSome(o *publisher) error {
	newest := uint64(0)
	for o.batch = o.batch[:0]; len(o.batch) < writeAt; {
		op := w.takeOldest(math.MaxInt64)
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
	o.newest++
	tag := o.newest
	o.pending[tag] = op
	o.mu.Unlock()
	w, m := o.worker, op.State.(*message)
	topic, key := w.topics.Place(m.Queue)
	p := publication{exchange: w.topics.All[topic].Name, key: key, mode: w.Settings.deliveryMode, correlationID: m.Key, body: m.Value}
	if w.Settings.mandatory && w.Settings.confirms {
		o.id = strconv.AppendUint(o.id[:0], tag, 10) // a returned message is known by it
		p.mandatory, p.id = true, o.id
	}
	o.batch = p.append(o.batch, firstChannel, o.Config.FrameSize)
	return tag
}

func (o *publisher) block(on bool, reason string) {
	o.blocked.Store(map[bool]*string{true: &reason}[on])
	signal(o.worker.news)
}

func (o *publisher) returned(m *content) {
	tag, _ := strconv.ParseUint(string(m.id), 10, 64) // 0 with an error
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.pending[tag]; op != nil {
		op.State.(*message).returned = true
	}
}

// confirm settles the message with a tag, or all up to it.
func (o *publisher) confirm(tag uint64, multiple, taken bool) {
	now := o.worker.shard.Now()
	o.settled = o.confirmed(o.settled[:0], tag, multiple)
	for _, op := range o.settled {
		code := ""
		switch {
		case !taken:
			code = nack
			o.worker.nacked.Store(true)
		case op.State.(*message).returned:
			code = noRoute
		}
		o.worker.Settle(op, code, now)
	}
}

// confirmed moves the message with a tag to a list, or all up to it, but for those that were confirmed before.
func (o *publisher) confirmed(list []*engine.Op, tag uint64, multiple bool) []*engine.Op {
	o.mu.Lock()
	defer o.mu.Unlock()
	if tag > o.newest {
		return list
	}
	from := tag
	if multiple {
		from = o.oldest
	}
	for at := from; at <= tag; at++ {
		if op := o.pending[at]; op != nil {
			list = append(list, op)
			delete(o.pending, at)
		}
	}
	for o.oldest <= o.newest && o.pending[o.oldest] == nil {
		o.oldest++
	}
	return list
}
