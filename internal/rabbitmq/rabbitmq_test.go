package rabbitmq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
)

func testPlan(change func(*plan.Plan)) *plan.Plan {
	p := &plan.Plan{
		Command: plan.Roundtrip, Engine: plan.Client, URL: "amqp://kt@localhost/", Topic: plan.Topic{Name: "t"}, Producers: 1,
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
		Read:    plan.Read{Consumers: 1, Commit: plan.CommitNone, From: plan.From{Latest: true}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestTheURLSaysWhereAndWhoAndWhichVirtualHost(t *testing.T) {
	for url, want := range map[string]string{
		"amqp://localhost":                     "guest / localhost:5672 false",
		"amqp://kt@localhost/":                 "kt / localhost:5672 false",
		"amqps://a%40b@rabbit:25003/some%2Fvh": "a@b some/vh rabbit:25003 true",
	} {
		s, _, err := New(testPlan(func(p *plan.Plan) { p.URL = url }), nil, nil, queue.Access{})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := fmt.Sprintln(s.user, s.vhost, s.hosts[0], s.tls); got != want+"\n" {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestWhatRabbitMQDoesNotHaveIsRefusedByName(t *testing.T) {
	for _, tc := range []struct {
		name               string
		change             func(*plan.Plan)
		producer, consumer string
		want               []string
	}{
		{name: "nothing is wrong"},
		{name: "acks of one replica", producer: "acks=1", want: []string{"acks=1 (from test)", "write all or 0"}},
		{name: "batches", producer: "linger.ms=5", want: []string{"linger.ms (from test)", "each message goes by itself"}},
		{name: "transient messages", producer: "delivery.mode=transient"},
		{name: "another mode", producer: "delivery.mode=2", want: []string{"delivery.mode=2 (from test)", "persistent or transient"}},
		{name: "no timeout", producer: "delivery.timeout.ms=0", want: []string{"delivery.timeout.ms=0"}},
		{name: "the longest timeout", producer: "delivery.timeout.ms=2147483647"},
		{name: "a longer timeout", producer: "delivery.timeout.ms=2147483648", want: []string{"delivery.timeout.ms=2147483648", "1 to 2147483647"}},
		{name: "a group", consumer: "group.id=g", want: []string{"group.id (from test)", "share its messages"}},
		{name: "automatic acknowledgement", consumer: "auto.ack=true"},
		{name: "too large a prefetch", consumer: "prefetch.count=65536", want: []string{"prefetch.count=65536", "1 to 65535"}},
		{name: "an offset", change: func(p *plan.Plan) { p.Read.From = plan.From{HasOffset: true, Offset: 7} }, want: []string{"--from offset:7"}},
		{name: "a setting of Kafka's topics", change: func(p *plan.Plan) { p.Topic.Configs = map[string]string{"retention.ms": "5"} }, want: []string{`--topic-config "retention.ms"`, "x-message-ttl"}},
		{name: "members of a classic queue", change: func(p *plan.Plan) {
			p.Topic = plan.Topic{ReplicationFactor: 3, Configs: map[string]string{"x-queue-type": "classic"}}
		}, want: []string{"--replication-factor 3", "x-queue-type=classic"}},
		{name: "members of a quorum queue", change: func(p *plan.Plan) {
			p.Topic = plan.Topic{ReplicationFactor: 3, Configs: map[string]string{"x-queue-type": "quorum"}}
		}},
		{name: "a stream", change: func(p *plan.Plan) { p.Topic.Configs = map[string]string{"x-queue-type": "stream"} }, want: []string{"x-queue-type=stream", "classic and quorum"}},
		{name: "an argument of queues", change: func(p *plan.Plan) { p.Topic.Configs = map[string]string{"x-max-length": "5"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := New(testPlan(tc.change), given(tc.producer), given(tc.consumer), queue.Access{})
			must.Hold(t, (err != nil) == (len(tc.want) > 0), "%v, want %q", err, tc.want)
			for _, want := range tc.want {
				must.True(t, strings.Contains(err.Error(), want), "%v, want %q in it", err, want)
			}
		})
	}
}

func given(property string) map[string]plan.Given {
	name, value, ok := strings.Cut(property, "=")
	if !ok {
		return nil
	}
	return map[string]plan.Given{name: {Value: value, Source: "test"}}
}

func TestAnErrorHasTheNameOfItsReplyCode(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&amqp.Error{Code: amqp.ConnectionForced, Server: true}, "CONNECTION_FORCED"},
		{fmt.Errorf("publish: %w", &amqp.Error{Code: amqp.NotFound, Server: true}), "NOT_FOUND"},
		{&amqp.Error{Code: 599, Server: true}, "AMQP_599"},
		{&amqp.Error{Code: amqp.FrameError}, lost}, // the client's own
		{reason(nil), lost},
		{errors.New("reset by peer"), lost},
	} {
		must.Match(t, tc.want, code(tc.err), "code(%v)", tc.err)
	}
}

func TestMoreMembersThanOneMakeAQuorumQueue(t *testing.T) {
	for _, tc := range []struct {
		replicas int16
		configs  map[string]string
		want     amqp.Table
	}{
		{0, nil, amqp.Table{}},
		{1, nil, amqp.Table{}},
		{3, nil, amqp.Table{"x-queue-type": "quorum", "x-quorum-initial-group-size": int64(3)}},
		{1, map[string]string{"x-queue-type": "quorum"}, amqp.Table{"x-queue-type": "quorum", "x-quorum-initial-group-size": int64(1)}},
		{0, map[string]string{"x-max-length": "10", "x-single-active-consumer": "true"}, amqp.Table{"x-max-length": int64(10), "x-single-active-consumer": true}},
	} {
		got := arguments(&plan.Topic{ReplicationFactor: tc.replicas, Configs: tc.configs})
		must.True(t, fmt.Sprint(got) == fmt.Sprint(tc.want), "arguments(%d, %v) = %v, want %v", tc.replicas, tc.configs, got, tc.want)
	}
}

func TestQueuesAreDealtOutToConsumers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		queues int
		read   int
		share  plan.Share
		want   [][]int
		shared int // 1 is the first queue, 0 none
	}{
		{"one reads all", 3, 1, plan.Share{}, [][]int{{0, 1, 2}}, 0},
		{"two share them", 3, 2, plan.Share{}, [][]int{{0, 2}, {1}}, 0},
		{"more than queues", 2, 3, plan.Share{}, [][]int{{0}, {1}, {0}}, 1},
		{"the second of two processes", 4, 1, plan.Share{Consumer: 1, Consumers: 2}, [][]int{{1, 3}}, 0},
		{"the second of two processes, and one queue", 1, 1, plan.Share{Consumer: 1, Consumers: 2}, [][]int{{0}}, 1},
		{"queues of its own", 4, 1, plan.Share{Slot: 1, Slots: 2, Consumer: 1, Consumers: 2}, [][]int{{1, 3}}, 0},
	} {
		c := &consumer{session: &session{topic: result.Topic{Partitions: tc.queues}, plan: testPlan(func(p *plan.Plan) { p.Read.Consumers, p.Share = tc.read, tc.share })}}
		for i, want := range tc.want {
			must.Match(t, want, c.share(i), "%s: consumer %d of %d has queues", tc.name, i, tc.read)
			for _, q := range want {
				if many := tc.shared == q+1; c.shared(int32(q)) != many {
					t.Errorf("%s: several consumers share queue %d: %v, want %v", tc.name, q, !many, many)
				}
			}
		}
	}
}

// frame returns one frame of AMQP.
func frame(kind byte, channel uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(append(b, payload...), 0xCE)
}

// pieces is a connection from which bytes come in pieces.
type pieces struct {
	net.Conn
	left [][]byte
}

func (p *pieces) SetReadDeadline(time.Time) error { return nil }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

// passes passes a stream that comes in pieces of a size on to a client, which has to get all of it.
func passes(t *testing.T, stream []byte, size int, prepare func(*frameConn)) *frameConn {
	t.Helper()
	p := newFrameConn(&pieces{left: slices.Collect(slices.Chunk(stream, size))})
	if prepare != nil {
		prepare(p)
	}
	if got, err := io.ReadAll(p); err != nil || !bytes.Equal(got, stream) {
		t.Fatalf("in pieces of %d bytes: the client got %d bytes of %d, %v", size, len(got), len(stream), err)
	}
	return p
}

func TestMessagesAreCountedHoweverTheirFramesComeInPieces(t *testing.T) {
	deliver := append(binary.BigEndian.AppendUint32(nil, basicDeliver), "consumer tag and more"...)
	ack := append(binary.BigEndian.AppendUint32(nil, basicAck), make([]byte, 9)...)
	var stream []byte
	for range 3 {
		stream = append(stream, frame(8, 0, nil)...) // a heartbeat
		stream = append(stream, frame(methodFrame, 1, deliver)...)
		stream = append(stream, frame(2, 1, make([]byte, 20))...)
		stream = append(stream, frame(3, 1, bytes.Repeat([]byte{1}, 100))...)
		stream = append(stream, frame(methodFrame, 2, ack)...)
	}
	stream = append(stream, frame(methodFrame, 2, deliver)...)
	for size := 1; size <= len(stream); size++ {
		p := passes(t, stream, size, nil)
		if p.unread != 4 || p.arrived(1) != 3 || p.arrived(2) != 1 {
			t.Fatalf("in pieces of %d bytes: %d messages, %d and %d by channel; want 4, 3 and 1", size, p.unread, p.arrived(1), p.arrived(2))
		}
	}
}

func TestAMessageIsEncodedInFramesOfItsConnection(t *testing.T) {
	for _, size := range []int{0, 1, 100, 4096 - 8, 4096, 10_000} {
		m := publication{exchange: "t", key: "7", mandatory: true, mode: 2, correlationID: []byte("key"), id: []byte("42"), body: bytes.Repeat([]byte("x"), size)}
		b := m.append(nil, 1, 4096)
		kinds, body := "", 0
		for len(b) > 0 {
			n := int(binary.BigEndian.Uint32(b[3:]))
			must.Hold(t, n+8 <= 4096 && b[7+n] == frameEnd, "%d bytes: a frame of %d bytes ends with %x", size, n, b[7+n])
			switch payload := b[7 : 7+n]; b[0] {
			case headerFrame:
				must.Match(t, 42, messageTag(payload), "%d bytes: message id", size)
			case bodyFrame:
				body += n
			}
			kinds += fmt.Sprint(b[0])
			b = b[8+n:]
		}
		if body != size || !strings.HasPrefix(kinds, "12") || strings.Trim(kinds[2:], "3") != "" {
			t.Errorf("%d bytes: frames %s with %d bytes", size, kinds, body)
		}
	}
}

// confirmed is a server's word on messages that a pipe passed on.
func confirmed(method uint32, tag uint64, bits byte) []byte {
	payload := binary.BigEndian.AppendUint32(nil, method)
	return frame(methodFrame, 1, append(binary.BigEndian.AppendUint64(payload, tag), bits))
}

// With confirms of several messages behind a negative one, the negative one keeps counting.
func TestConfirmsAndReturnsArePassedOnAsTheyCome(t *testing.T) {
	properties := append(make([]byte, 12), 0x14, 0x80, 2, 3, 'k', 'e', 'y', 1, '4') // delivery mode, correlation id, message id
	const basicReturn = 60<<16 | 50
	returned := append(binary.BigEndian.AppendUint32(nil, basicReturn), make([]byte, 20)...)
	var stream []byte
	stream = append(stream, confirmed(basicNack, 3, 0)...)
	stream = append(stream, frame(methodFrame, 1, returned)...)
	stream = append(stream, frame(headerFrame, 1, properties)...)
	stream = append(stream, frame(3, 1, []byte("body"))...)
	stream = append(stream, confirmed(basicAck, 5, 1)...)
	want := "3 false false; returned 4; 5 true true; "
	for size := 1; size <= len(stream); size++ {
		got := ""
		passes(t, stream, size, func(p *frameConn) {
			p.confirm = func(tag uint64, multiple, taken bool) { got += fmt.Sprintf("%d %v %v; ", tag, multiple, taken) }
			p.returned = func(tag uint64) { got += fmt.Sprintf("returned %d; ", tag) }
		})
		must.Hold(t, got == want, "in pieces of %d bytes: %q, want %q", size, got, want)
	}
}
