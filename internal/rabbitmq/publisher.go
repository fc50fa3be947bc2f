package rabbitmq

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
)

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
	var channel *amqp.Channel
	err = l.within(ctx, answerTimeout, func(func()) (err error) { channel, err = l.Channel(); return err })
	if err == nil && w.settings.confirms {
		err = l.frames.confirms(firstChannel, o.confirm, o.returned)
	}
	if err != nil {
		l.end()
		return nil, fmt.Errorf("connect to %s: %w", l.host, explain(err))
	}
	o.blocks, o.ends = l.NotifyBlocked(make(chan amqp.Blocking, 1)), channel.NotifyClose(make(chan *amqp.Error, 1))
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
	if err == nil && !w.settings.confirms {
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
	p := publication{exchange: w.topic.Name, key: w.key(m.Queue), mode: w.settings.deliveryMode, correlationID: m.Key, body: m.Value}
	if w.settings.mandatory && w.settings.confirms {
		o.id = strconv.AppendUint(o.id[:0], tag, 10) // a returned message is known by it
		p.mandatory, p.id = true, o.id
	}
	o.batch = p.append(o.batch, firstChannel, o.Config.FrameSize)
	return tag
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
		o.worker.settle(op, code, now)
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
