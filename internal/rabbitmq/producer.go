package rabbitmq

import (
	"context"
	"fmt"
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
		session: p.session, shard: s, Lanes: p.Add(s, p.values), news: make(chan struct{}, 1),
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

// Place returns the partition that was chosen in Do.
func (w *worker) Place(op *engine.Op) int32 { return op.State.(*message).Queue }

// Do leaves an op to the goroutine that publishes.
func (w *worker) Do(op *engine.Op) (waited bool) {
	m, ok := op.State.(*message)
	if !ok {
		m = &message{}
		op.State = m
	}
	m.returned = false
	w.Fill(op, &m.Outgoing, w.Choose)
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

// settle reports the outcome of an op; "" is that it was taken.
func (w *worker) settle(op *engine.Op, code string, at time.Duration) {
	w.Settle(op, &op.State.(*message).Outgoing, code, at)
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
	for until := w.shard.Now() - age; ; {
		op := w.oldest(until)
		if op == nil {
			return
		}
		w.settle(op, code, 0)
	}
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
	if code := code(o.why); code != lost {
		w.shard.Said(code, explain(o.why).Error())
	}
	for _, op := range left {
		if op != nil {
			w.settle(op, code(o.why), 0)
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
