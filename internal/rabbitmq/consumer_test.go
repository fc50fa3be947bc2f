package rabbitmq

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
)

// Methods of AMQP that consumers and topics need.
const (
	connectionClose   = 10<<16 | 50
	connectionCloseOk = 10<<16 | 51
	channelClose      = 20<<16 | 40
	exchangeDeclare   = 40<<16 | 10
	exchangeDeclareOk = 40<<16 | 11
	queueDeclare      = 50<<16 | 10
	queueDeclareOk    = 50<<16 | 11
	queueBind         = 50<<16 | 20
	basicQos          = 60<<16 | 10
	basicQosOk        = 60<<16 | 11
	basicConsume      = 60<<16 | 20
	basicConsumeOk    = 60<<16 | 21
)

// floods is a server that sends the messages of a queue as soon as somebody reads it, and answers then.
type floods struct {
	messages int    // of each queue
	mute     bool   // it does not answer a consumer
	broken   uint16 // the channel that it ends when somebody reads; 0: none
}

// listen returns the address of the server.
func (f *floods) listen(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go f.serve(conn)
		}
	}()
	return l.Addr().String()
}

func (f *floods) serve(conn net.Conn) {
	say := func(channel uint16, method uint32, args ...byte) {
		_, _ = conn.Write(frame(methodFrame, channel, append(binary.BigEndian.AppendUint32(nil, method), args...)))
	}
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
		return
	}
	say(0, connectionStart, append([]byte{0, 9, 0, 0, 0, 0, 0, 0, 0, 5}, "PLAIN\x00\x00\x00\x05en_US"...)...)
	for head := make([]byte, frameHeader); ; {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		channel, body := binary.BigEndian.Uint16(head[1:]), make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		if head[0] != methodFrame {
			continue
		}
		switch binary.BigEndian.Uint32(body) {
		case connectionStartOk:
			say(0, connectionTune, 0, 0, 0, 2, 0, 0, 0, 0) // frames of 128 KiB
		case connectionOpen:
			say(0, connectionOpenOk, 0)
		case channelOpen:
			say(channel, channelOpenOk, 0, 0, 0, 0)
		case basicQos:
			say(channel, basicQosOk)
		case exchangeDeclare:
			say(channel, exchangeDeclareOk)
		case queueDeclare:
			say(channel, queueDeclareOk, append([]byte{1, 'q'}, make([]byte, 8)...)...)
		case queueBind: // it is refused: 403
			say(channel, channelClose, 1, 0x93, 0, 0, 50, 0, 20)
		case connectionClose:
			say(0, connectionCloseOk)
		case basicConsume:
			if channel == f.broken {
				say(channel, channelClose, 1, 0x94, 0, 0, 60, 0, 20) // 404
				continue
			}
			tag := body[7+body[6]:]
			bits := tag[1+tag[0]]
			tag = tag[:1+tag[0]]
			for i := range f.messages {
				args := binary.BigEndian.AppendUint64(append([]byte(nil), tag...), uint64(i+1))
				say(channel, basicDeliver, append(args, 0, 1, 't', 1, '0')...)
				header := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, 1)
				_, _ = conn.Write(append(frame(headerFrame, channel, append(header, 0, 0)), frame(bodyFrame, channel, []byte("x"))...))
			}
			if noWait := bits&8 != 0; !noWait && !f.mute {
				say(channel, basicConsumeOk, tag...)
			}
		}
	}
}

// opened opens a reader of two queues at a server, with a prefetch of 10 messages.
func opened(ctx context.Context, t *testing.T, f floods, autoAck bool) error {
	t.Helper()
	c := consumerOf(testPlan(nil), f.listen(t))
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
		if err := opened(t.Context(), t, floods{messages: tc.messages}, tc.autoAck); err != nil {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func TestOpeningAReaderEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := opened(ctx, t, floods{mute: true}, false); err == nil {
		t.Error("it is opened at a server that does not answer")
	}
}

// Nobody waits for an answer that would say it.
func TestTheReasonWhyAQueueIsNotReadIsTold(t *testing.T) {
	p := plan.Plan{
		Command: plan.Consume, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"},
		Load: plan.Load{Records: 100, Rate: plan.Unlimited}, Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, Timeout: plan.Duration(time.Second)},
	}
	c := consumerOf(&p, (&floods{broken: 2}).listen(t))
	c.settings = settings{prefetch: 10, autoAck: true}
	var total adding
	if _, err := engine.Run(t.Context(), p, engine.Drivers{Read: c}, engine.Options{}, &total); err != nil {
		t.Fatal(err)
	}
	if total.FetchErrors["NOT_FOUND"] == 0 {
		t.Errorf("errors %v, want NOT_FOUND", total.FetchErrors)
	}
}

// So it is deleted.
func TestAQueueThatIsNotBoundWasMadeToo(t *testing.T) {
	s := consumerOf(testPlan(nil), (&floods{}).listen(t)).session
	l, err := s.connect(t.Context(), s.hosts[0], "kt")
	if err != nil {
		t.Fatal(err)
	}
	defer l.end()
	if err := s.declare(l, "t-0", nil); err == nil || !s.topic.Created || s.made != 1 {
		t.Errorf("%v; the exchange: %v, %d queues", err, s.topic.Created, s.made)
	}
}
