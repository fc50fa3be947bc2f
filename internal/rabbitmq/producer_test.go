package rabbitmq

import (
	"context"
	"maps"
	"net"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// firsts notes the second in which a code came first.
type firsts map[string]time.Duration

func (f firsts) Observe(windows []stats.Window) {
	for _, w := range windows {
		for code := range w.Errors {
			if _, seen := f[code]; !seen {
				f[code] = w.End
			}
		}
	}
}

// The goroutine that writes is held up by the connection, whose buffers are full.
func TestMessagesFailInTimeThoughTheServerReadsNothing(t *testing.T) {
	p := plan.Plan{
		Command: plan.Produce, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"}, Producers: 1,
		Load:    plan.Load{Rate: plan.Unlimited, Records: 40, Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(1 << 20), Keys: plan.NoKeys},
	}
	values := must.Have(payload.MakeValues(&p))(t)
	sys := &System{hosts: []string{(&server{deaf: true}).listen(t)}, values: values, settings: settings{confirms: true, deliveryTimeout: time.Second}}
	s := &session{System: sys, plan: &p, queues: []string{"t-0"}, topic: result.Topic{Name: "t", Partitions: 1}, gone: make(map[string]bool)}
	d := &producer{session: s, Accounts: queue.NewAccounts(&p, 0, 1)}
	var total adding
	seen := make(firsts)
	o := engine.Options{BufferBytes: 1 << 30, DrainTimeout: 5 * time.Second}
	must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: d}, o, &total, seen))(t)
	if total.Errors[blockedCode] < 10 || seen[blockedCode] > 3*time.Second {
		t.Errorf("errors %v, of which the first came in the second that ends at %v", total.Errors, seen)
	}
	must.Match(t, 40, total.Failed+total.Unknown, "messages are accounted for")
}

func TestMessagesThatWaitAreWrittenAllAtOnce(t *testing.T) {
	ours, theirs := net.Pipe()
	l := &link{Connection: &amqp.Connection{Config: amqp.Config{FrameSize: 4096}}, pipe: newPipe(ours)}
	defer func() { _ = l.pipe.Close() }()
	s := &session{System: &System{settings: settings{confirms: true}}, queues: []string{"t-0"}, topic: result.Topic{Name: "t"}}
	w := &worker{session: s, news: make(chan struct{}, 1)}
	for range 100 {
		w.waiting = append(w.waiting, &engine.Op{State: &message{value: []byte("value")}})
	}
	o := &outlet{link: l, worker: w, tag: 1}
	go func() { _ = w.publishSome(o) }()
	b := make([]byte, writeAt)
	n, err := theirs.Read(b) // what one call has written
	if err != nil || n != len(o.frames) || len(o.pending) != 100 {
		t.Errorf("%d bytes of %d, %d messages, %v", n, len(o.frames), len(o.pending), err)
	}
}

// The confirms of all later ones have come.
func TestMessagesWaitWhenTooManyAreBehindOneWithoutAConfirm(t *testing.T) {
	l := &link{Connection: &amqp.Connection{Config: amqp.Config{FrameSize: 4096}}, pipe: newPipe(discard{})}
	s := &session{System: &System{settings: settings{confirms: true}}, queues: []string{"t-0"}, topic: result.Topic{Name: "t"}}
	w := &worker{session: s, news: make(chan struct{}, 1)}
	o := &outlet{link: l, worker: w, tag: 1}
	o.pending = make([]*engine.Op, maxPending-1)
	o.pending[0] = &engine.Op{State: &message{}}
	for range 3 {
		w.waiting = append(w.waiting, &engine.Op{State: &message{value: []byte("value")}})
	}
	for range 2 {
		must.Do(t, w.publishSome(o))
	}
	must.Match(t, []int{2, maxPending}, []int{len(w.waiting), len(o.pending)}, "%d messages wait, %d are published", len(w.waiting), len(o.pending))
	<-w.news
	o.confirmed(1, false)
	select {
	case <-w.news:
	default:
		t.Error("nobody hears that there is room")
	}
	if err := w.publishSome(o); err != nil || len(w.waiting) != 0 {
		t.Errorf("%d messages wait, %v", len(w.waiting), err)
	}
}

// settling is a driver whose worker has published five messages, of which a server confirms some.
type settling struct {
	*producer
	confirms func(o *outlet)
	o        *outlet
}

func (d *settling) Open(_ context.Context, s *engine.Shard) (engine.Worker, error) {
	w := &worker{session: d.session, shard: s, lanes: d.Add(s), generator: d.values.Generator(*d.plan, 0, 1), news: make(chan struct{}, 1), idle: make(chan struct{}, 1), stop: func() {}}
	l := &link{Connection: &amqp.Connection{Config: amqp.Config{FrameSize: 4096}}, pipe: newPipe(discard{})}
	d.o = &outlet{link: l, worker: w, tag: 1}
	return &settler{w, d}, nil
}

type settler struct {
	*worker
	d *settling
}

func (w *settler) Do(op *engine.Op) bool {
	w.worker.Do(op)
	if err := w.publishSome(w.d.o); err != nil {
		panic(err)
	}
	if len(w.d.o.pending) == 5 {
		w.d.confirms(w.d.o)
		w.d.o.why = errLost
		w.lose(context.Background(), w.d.o)
	}
	return false
}

// discard is a connection whose server takes everything.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestEachMessageIsSettledByItsOwnConfirm(t *testing.T) {
	for _, tc := range []struct {
		name     string
		confirms func(o *outlet)
		acked    int64
		errors   map[string]int64
	}{
		{"all at once", func(o *outlet) { o.confirm(5, true, true) }, 5, nil},
		{"out of order", func(o *outlet) { o.confirm(4, false, true); o.confirm(2, false, false); o.confirm(5, true, true) }, 4, map[string]int64{nack: 1}},
		{"twice", func(o *outlet) { o.confirm(1, false, true); o.confirm(1, false, true); o.confirm(2, true, true) }, 2, map[string]int64{lost: 3}},
		{"one that was never published", func(o *outlet) { o.confirm(6, false, true); o.confirm(0, true, true) }, 0, map[string]int64{lost: 5}},
		{"returned", func(o *outlet) { o.returned(3); o.returned(9); o.confirm(5, true, true) }, 4, map[string]int64{noRoute: 1}},
		{"lost behind a hole", func(o *outlet) { o.confirm(2, false, true); o.confirm(5, false, true) }, 2, map[string]int64{lost: 3}},
	} {
		p := plan.Plan{
			Command: plan.Produce, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"}, Producers: 1,
			Load:    plan.Load{Rate: plan.Unlimited, Records: 5, Arrivals: plan.Uniform},
			Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(10), Keys: plan.NoKeys},
		}
		values := must.Have(payload.MakeValues(&p))(t)
		s := &session{System: &System{hosts: []string{"h"}, values: values, settings: settings{confirms: true, mandatory: true}}, plan: &p, queues: []string{"t-0"}, gone: make(map[string]bool)}
		s.topic = result.Topic{Name: "t", Partitions: 1}
		d := &settling{producer: &producer{session: s, Accounts: queue.NewAccounts(&p, 0, 1)}, confirms: tc.confirms}
		var total adding
		must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: d}, engine.Options{}, &total))(t)
		if total.Acknowledged != tc.acked || !maps.Equal(total.Errors, tc.errors) {
			t.Errorf("%s: %d acknowledged, %v; want %d, %v", tc.name, total.Acknowledged, total.Errors, tc.acked, tc.errors)
		}
	}
}
