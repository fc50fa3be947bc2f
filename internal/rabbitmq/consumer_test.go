package rabbitmq

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// opened opens a reader of two queues at a server, with a prefetch of 10 messages.
func opened(ctx context.Context, t *testing.T, s server, autoAck bool) error {
	t.Helper()
	c := consumerOf(testPlan(nil), s.listen(t))
	c.settings = settings{prefetch: 10, autoAck: autoAck}
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
	p := plan.Plan{
		Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"},
		Load: plan.Load{Records: 100, Rate: plan.Unlimited}, Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, Timeout: plan.Duration(time.Second)},
	}
	c := consumerOf(&p, (&server{broken: 2}).listen(t))
	c.settings = settings{prefetch: 10, autoAck: true}
	var total adding
	must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
	if total.FetchErrors["NOT_FOUND"] == 0 {
		t.Errorf("errors %v, want NOT_FOUND", total.FetchErrors)
	}
}

// It is not there when the reader connects, and at the next look.
func TestAQueueThatIsMadeAgainIsReadAgain(t *testing.T) {
	for _, autoAck := range []bool{false, true} {
		p := plan.Plan{
			Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"},
			Load: plan.Load{Records: 10, Rate: plan.Unlimited}, Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, Timeout: plan.Duration(20 * time.Second)},
		}
		s := server{messages: 5, missing: make(chan struct{}, 2)}
		s.missing <- struct{}{}
		s.missing <- struct{}{}
		c := consumerOf(&p, s.listen(t))
		c.settings = settings{prefetch: 10, autoAck: autoAck}
		c.turn("t-1", true)
		var total adding
		must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: c}, engine.Options{}, &total))(t)
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
	if err := s.declare(t.Context(), l, "t-0", nil); err == nil || !s.topic.Created || s.made != 1 {
		t.Errorf("%v; the exchange: %v, %d queues", err, s.topic.Created, s.made)
	}
}

func TestAMessageThatIsTooLargeIsNamedWithItsQueue(t *testing.T) {
	p := plan.Plan{
		Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"},
		Load: plan.Load{Records: 100, Rate: plan.Unlimited}, Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, Timeout: plan.Duration(time.Second)},
	}
	c := consumerOf(&p, (&server{messages: 1, announces: 1 << 62}).listen(t))
	c.settings = settings{prefetch: 10}
	end := must.Have(engine.Run(t.Context(), p, engine.Drivers{Read: c}, engine.Options{}, &adding{}))(t)
	if end.ReadEnd != engine.ReadFailed || end.ReadErr == nil || !strings.Contains(end.ReadErr.Error(), "queue "+c.queues[0]) || !strings.Contains(end.ReadErr.Error(), "4611686018427387904") {
		t.Errorf("end %q (%v), want the queue and the size", end.ReadEnd, end.ReadErr)
	}
}
