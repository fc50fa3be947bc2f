package rabbitmq

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
	d := producerOf(t, 40, 1<<20, settings{confirms: true, deliveryTimeout: time.Second}, (&server{deaf: true}).listen(t))
	var total adding
	seen := make(firsts)
	o := engine.Options{BufferBytes: 1 << 30, DrainTimeout: 5 * time.Second}
	must.Have(engine.Run(t.Context(), *d.plan, engine.Drivers{Send: d}, o, &total, seen))(t)
	if total.Errors[blockedCode] < 10 || seen[blockedCode] > 3*time.Second {
		t.Errorf("errors %v, of which the first came in the second that ends at %v", total.Errors, seen)
	}
	must.Match(t, 40, total.Failed+total.Unknown, "messages are accounted for")
}

// producerOf returns the driver of a load of one queue at a host.
func producerOf(t *testing.T, records int64, size int, of settings, host string) *producer {
	t.Helper()
	p := &plan.Plan{
		Command: plan.Produce, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"}, Producers: 1,
		Load:    plan.Load{Rate: plan.Unlimited, Records: records, Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(size), Keys: plan.NoKeys},
	}
	sys := &System{hosts: []string{host}, System: queue.System[settings]{Values: must.Have(payload.MakeValues(p))(t), Settings: of}}
	s := &session{System: sys, plan: p, topics: queue.NewLayout(result.Topic{Name: "t", Partitions: 1}), gone: make(map[string]bool)}
	return &producer{session: s, Accounts: queue.NewAccounts(p, 0, s.topics)}
}

func publisherOf(w *worker, conn net.Conn) *publisher {
	l := &link{Connection: &amqp.Connection{Config: amqp.Config{FrameSize: 4096}}, frames: newFrameConn(conn)}
	return &publisher{link: l, worker: w, pending: make(map[uint64]*engine.Op), oldest: 1}
}

func TestMessagesThatWaitAreWrittenAllAtOnce(t *testing.T) {
	ours, theirs := net.Pipe()
	w := &worker{session: producerOf(t, 0, 1, settings{confirms: true}, "h").session, news: make(chan struct{}, 1)}
	for range 100 {
		w.waiting = append(w.waiting, &engine.Op{State: &message{Outgoing: queue.Outgoing{Value: []byte("value")}}})
	}
	o := publisherOf(w, ours)
	defer func() { _ = o.frames.Close() }()
	go func() { _ = w.publishSome(o) }()
	b := make([]byte, writeAt)
	n, err := theirs.Read(b) // what one call has written
	must.True(t, err == nil && n == len(o.batch) && len(o.pending) == 100, "%d bytes of %d, %d messages, %v", n, len(o.batch), len(o.pending), err)
}

// settling is a driver whose worker has published five messages, of which a server confirms some.
type settling struct {
	*producer
	confirms func(o *publisher)
	o        *publisher
}

func (d *settling) Open(_ context.Context, s *engine.Shard) (engine.Worker, error) {
	w := &worker{session: d.session, shard: s, Lanes: d.Add(s, d.Values), news: make(chan struct{}, 1), stop: func() {}}
	d.o = publisherOf(w, discard{})
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
		confirms func(o *publisher)
		acked    int64
		errors   map[string]int64
	}{
		{"all at once", func(o *publisher) { o.confirm(5, true, true) }, 5, nil},
		{"out of order", func(o *publisher) { o.confirm(4, false, true); o.confirm(2, false, false); o.confirm(5, true, true) }, 4, map[string]int64{nack: 1}},
		{"twice", func(o *publisher) { o.confirm(1, false, true); o.confirm(1, false, true); o.confirm(2, true, true) }, 2, map[string]int64{lost: 3}},
		{"one that was never published", func(o *publisher) { o.confirm(6, false, true); o.confirm(0, true, true) }, 0, map[string]int64{lost: 5}},
		{"returned", func(o *publisher) {
			o.returned(&content{id: []byte("3")})
			o.returned(&content{id: []byte("9")})
			o.confirm(5, true, true)
		}, 4, map[string]int64{noRoute: 1}},
		{"lost behind a hole", func(o *publisher) { o.confirm(2, false, true); o.confirm(5, false, true) }, 2, map[string]int64{lost: 3}},
	} {
		d := &settling{producer: producerOf(t, 5, 10, settings{confirms: true, mandatory: true}, "h"), confirms: tc.confirms}
		var total adding
		must.Have(engine.Run(t.Context(), *d.plan, engine.Drivers{Send: d}, engine.Options{}, &total))(t)
		if total.Acknowledged != tc.acked || !maps.Equal(total.Errors, tc.errors) {
			t.Errorf("%s: %d acknowledged, %v; want %d, %v", tc.name, total.Acknowledged, total.Errors, tc.acked, tc.errors)
		}
	}
}

// Otherwise a confirm of several messages looks for all that were confirmed since.
func TestConfirmsOutOfOrderAreNotLookedForAgain(t *testing.T) {
	o := publisherOf(&worker{}, discard{})
	for o.newest < 5 {
		o.newest++
		o.pending[o.newest] = new(engine.Op)
	}
	for _, tc := range []struct{ tag, oldest uint64 }{{2, 1}, {3, 1}, {1, 4}, {5, 4}, {4, 6}} {
		o.confirmed(nil, tc.tag, false)
		must.Match(t, tc.oldest, o.oldest, "the oldest without a confirm, behind that of %d", tc.tag)
	}
}

func TestAFrameThatIsTooLargeEndsTheConnection(t *testing.T) {
	p := newFrameConn(&pieces{left: [][]byte{{methodFrame, 0, 1, 0, 2, 0, 1}}})
	if _, err := p.Read(make([]byte, 10)); err == nil {
		t.Error("memory is taken for it")
	}
}

// delivered returns the frames of a message of queue 2, with as many bytes as its header announces, or fewer.
func delivered(announced uint64, body int) []byte {
	header := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, announced)
	return slices.Concat(
		frame(methodFrame, 1, append([]byte{0, 60, 0, 60, 1, '2'}, make([]byte, 9)...)),
		frame(headerFrame, 1, append(header, 0, 0)), frame(bodyFrame, 1, make([]byte, body)))
}

func TestAMessageThatIsTooLargeEndsReadingBeforeItsBody(t *testing.T) {
	p := newFrameConn(&pieces{left: [][]byte{delivered(1<<62, 1)}})
	p.taker.Store(&taker{message: func(*content) { t.Error("it is read") }, largest: 1000})
	_, err := io.Copy(io.Discard, p)
	if large := p.tooLarge.Load(); large == nil || large.queue != 2 || !errors.Is(err, large) {
		t.Errorf("%v, want a message of queue 2 that is too large", err)
	}
}

// Otherwise any number waits without a prefetch, and as many large ones as it allows.
func TestFewMessagesWait(t *testing.T) {
	for _, tc := range []struct{ size, want int }{{10, 4}, {mostWaiting/2 + 1, 2}} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			p := newFrameConn(ours)
			in := &subscription{link: &link{frames: p}, most: 3, news: make(chan struct{}, 1), room: make(chan struct{}, 1), held: map[int32]*queue.Held{2: {}}}
			p.taker.Store(&taker{message: in.put})
			done := make(chan struct{}, 2)
			go func() {
				for range 9 {
					_, _ = theirs.Write(delivered(uint64(tc.size), 0))
					for left := tc.size; left > 0; left -= min(left, 100_000) {
						_, _ = theirs.Write(frame(bodyFrame, 1, make([]byte, min(left, 100_000))))
					}
				}
				done <- struct{}{}
			}()
			go func() { _, _ = io.Copy(io.Discard, p); done <- struct{}{} }()
			for range 2 {
				synctest.Wait()
				must.Match(t, map[int32]int64{2: int64(tc.want)}, in.count(make(map[int32]int64)), "messages wait")
				in.mu.Lock()
				in.waiting, in.bytes = nil, 0
				in.mu.Unlock()
				signal(in.room)
			}
			_ = p.Close()
			_ = theirs.Close()
			<-done
			<-done
		})
	}
}

// opened opens a reader of two queues at a server, with a prefetch of 10 messages.
func opened(ctx context.Context, t *testing.T, s server, autoAck bool) error {
	t.Helper()
	c := consumerOf(testPlan(nil), s.listen(t))
	c.Settings = settings{prefetch: 10, autoAck: autoAck}
	done := make(chan error, 1)
	go func() {
		r, err := c.OpenReader(ctx, &engine.Shard{})
		if err == nil {
			err = r.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(8 * time.Second):
		t.Fatal("it is not opened, and does not give up")
		return nil
	}
}

func TestReadersOpenHoweverManyMessagesWait(t *testing.T) {
	for _, tc := range []struct {
		autoAck  bool
		messages int
	}{{true, 0}, {true, 5}, {true, 1000}, {false, 10}} {
		must.Err(t, "", opened(t.Context(), t, server{messages: tc.messages}, tc.autoAck), "%+v", tc)
	}
}

func TestOpeningAReaderEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := opened(ctx, t, server{mute: true}, false); err == nil {
		t.Error("it is opened at a server that does not answer")
	}
}

// Nobody waits for an answer that would say it.
func TestTheReasonWhyAQueueIsNotReadIsTold(t *testing.T) {
	p := readingPlan(100, 1, time.Second)
	c := consumerOf(p, (&server{broken: true}).listen(t))
	c.Settings = settings{prefetch: 10, autoAck: true}
	var total adding
	must.Have(engine.Run(t.Context(), *p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
	must.True(t, total.FetchErrors["NOT_FOUND"] != 0, "errors %v, want NOT_FOUND", total.FetchErrors)
}

// It is not there when the reader connects, and at the next look.
func TestAQueueThatIsMadeAgainIsReadAgain(t *testing.T) {
	for _, autoAck := range []bool{false, true} {
		p := readingPlan(10, 1, 20*time.Second)
		s := server{messages: 5, missing: make(chan struct{}, 2)}
		s.missing <- struct{}{}
		s.missing <- struct{}{}
		c := consumerOf(p, s.listen(t))
		c.Settings = settings{prefetch: 10, autoAck: autoAck}
		c.turn("t-1", true)
		var total adding
		must.Have(engine.Run(t.Context(), *p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
		if n := total.Partitions[1].Consumed; n != 5 || total.Consumed != 10 || len(total.Events) != 1 || total.Events[0].Kind != stats.PartitionsAdded {
			t.Errorf("auto.ack=%v: %d read of it, %d of all, events %+v", autoAck, n, total.Consumed, total.Events)
		}
	}
}

// So it is deleted.
func TestAQueueThatIsNotBoundWasMadeToo(t *testing.T) {
	s := consumerOf(testPlan(nil), (&server{}).listen(t)).session
	l := must.Have(s.connect(t.Context(), s.hosts[0], "kt"))(t)
	defer l.end()
	made := &result.Topic{Name: "t"}
	if err := declare(t.Context(), made, l, nil); err == nil || !made.Created || made.Partitions != 1 {
		t.Errorf("%v; the exchange: %v, %d queues", err, made.Created, made.Partitions)
	}
}

func TestAMessageThatIsTooLargeIsNamedWithItsQueue(t *testing.T) {
	p := readingPlan(100, 1, time.Second)
	c := consumerOf(p, (&server{messages: 1, announces: 1 << 62}).listen(t))
	c.Settings = settings{prefetch: 10}
	end := must.Have(engine.Run(t.Context(), *p, engine.Drivers{Read: c}, engine.Options{}, &adding{}))(t)
	if end.ReadEnd != engine.ReadFailed || end.ReadErr == nil || !strings.Contains(end.ReadErr.Error(), "queue t-0") || !strings.Contains(end.ReadErr.Error(), "4611686018427387904") {
		t.Errorf("end %q (%v), want the queue and the size", end.ReadEnd, end.ReadErr)
	}
}
