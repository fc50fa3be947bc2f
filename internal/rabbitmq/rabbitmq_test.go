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
		want   [][]int32
		shared int // 1 is the first queue, 0 none
	}{
		{"one reads all", 3, 1, plan.Share{}, [][]int32{{0, 1, 2}}, 0},
		{"two share them", 3, 2, plan.Share{}, [][]int32{{0, 2}, {1}}, 0},
		{"more than queues", 2, 3, plan.Share{}, [][]int32{{0}, {1}, {0}}, 1},
		{"the second of two processes", 4, 1, plan.Share{Consumer: 1, Consumers: 2}, [][]int32{{1, 3}}, 0},
		{"the second of two processes, and one queue", 1, 1, plan.Share{Consumer: 1, Consumers: 2}, [][]int32{{0}}, 1},
		{"queues of its own", 4, 1, plan.Share{Slot: 1, Slots: 2, Consumer: 1, Consumers: 2}, [][]int32{{1, 3}}, 0},
	} {
		c := &consumer{session: &session{topics: queue.NewLayout(result.Topic{Partitions: tc.queues}), plan: testPlan(func(p *plan.Plan) { p.Read.Consumers, p.Share = tc.read, tc.share })}}
		for i, want := range tc.want {
			must.Match(t, want, c.share(i), "%s: consumer %d of %d has queues", tc.name, i, tc.read)
			for _, q := range want {
				if many := tc.shared == int(q)+1; c.shared(q) != many {
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

// passes passes a stream that comes in pieces of a size on to a client. It returns what the client gets, and what kt takes.
func passes(t *testing.T, stream []byte, size int) (passed []byte, taken string) {
	t.Helper()
	p := newFrameConn(&pieces{left: slices.Collect(slices.Chunk(stream, size))})
	p.taker.Store(&taker{
		confirm: func(tag uint64, multiple, taken2 bool) { taken += fmt.Sprintf("%d %v %v; ", tag, multiple, taken2) },
		block:   func(on bool, reason string) { taken += fmt.Sprintf("%v %s; ", on, reason) },
		cancel:  func(queue int32) { taken += fmt.Sprintf("%d is over; ", queue) },
		message: func(m *content) {
			taken += fmt.Sprintf("%d %v %q %q %d; ", m.queue, m.redelivered, m.key, m.id, len(m.body))
		},
	})
	passed = must.Have(io.ReadAll(p))(t)
	must.Match(t, 1, p.answers.Load(), "answers are heard")
	return passed, taken
}

// With confirms of several messages behind a negative one, the negative one keeps counting.
func TestWhatCarriesMessagesPassesTheClientByHoweverItComesInPieces(t *testing.T) {
	method := func(method uint32, args string) []byte {
		return frame(methodFrame, 1, append(binary.BigEndian.AppendUint32(nil, method), args...))
	}
	header := func(size byte, flags string, properties string) []byte {
		return frame(headerFrame, 1, append([]byte{0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, size}, flags+properties...))
	}
	own := slices.Concat(
		method(basicNack, "\x00\x00\x00\x00\x00\x00\x00\x03\x00"),
		method(connectionBlocked, "\x03low"), method(connectionUnblocked, ""),
		method(basicReturn, "code, exchange and key"),
		header(4, "\x14\x80", "\x02\x03key\x0242"), // delivery mode, correlation id, message id
		frame(bodyFrame, 1, []byte("body")),
		method(basicAck, "\x00\x00\x00\x00\x00\x00\x00\x05\x01"),
		method(basicDeliver, "\x017\x00\x00\x00\x00\x00\x00\x00\x01\x01and more"),
		header(250, "\xfc\x00", "\x01t\x01e\x00\x00\x00\x05table\x02\x09\x03key"), // with a type, an encoding, headers and a priority
		frame(bodyFrame, 1, make([]byte, 200)), frame(bodyFrame, 1, make([]byte, 50)),
		method(basicDeliver, "\x018\x00\x00\x00\x00\x00\x00\x00\x02\x00"), header(0, "\x00\x00", ""),
		method(basicCancel, "\x018\x01"),
	)
	foreign := slices.Concat(frame(heartbeatFrame, 0, nil), method(50<<16|11, "an answer"))
	want := `3 false false; true low; false ; -1 false "key" "42" 4; 5 true true; 7 true "key" "" 250; 8 false "" "" 0; 8 is over; `
	stream := slices.Concat(own, foreign)
	for size := 1; size <= len(stream); size++ {
		passed, taken := passes(t, stream, size)
		must.Hold(t, bytes.Equal(passed, foreign) && taken == want, "in pieces of %d bytes: the client gets %q, kt %s", size, passed, taken)
	}
}

func TestAFrameThatIsCutOffEndsTheConnection(t *testing.T) {
	deliver := frame(methodFrame, 1, append(binary.BigEndian.AppendUint32(nil, basicDeliver), "\x017\x00\x00\x00\x00\x00\x00\x00\x01\x01"...))
	header := func(rest string) []byte { return frame(headerFrame, 1, append(make([]byte, 12), rest...)) }
	for _, stream := range [][]byte{
		frame(methodFrame, 1, append(binary.BigEndian.AppendUint32(nil, basicAck), 1)),
		frame(methodFrame, 1, append(binary.BigEndian.AppendUint32(nil, basicDeliver), 1)),
		frame(methodFrame, 1, append(binary.BigEndian.AppendUint32(nil, basicDeliver), "\x01x123456789"...)),
		frame(headerFrame, 1, nil), header("\x04\x00\x09key"), header("\x20\x00\x00\x01"),
		slices.Concat(deliver, header("\x00\x00"), frame(bodyFrame, 1, []byte("more than it has"))),
	} {
		p := newFrameConn(&pieces{left: slices.Collect(slices.Chunk(stream, 7))})
		p.taker.Store(&taker{confirm: func(uint64, bool, bool) {}, message: func(*content) {}})
		if _, err := io.ReadAll(p); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

func TestAMessageIsEncodedInFramesOfItsConnection(t *testing.T) {
	for _, size := range []int{0, 1, 100, 4096 - 8, 4096, 10_000} {
		m := publication{exchange: "t", key: 7, mandatory: true, mode: 2, correlationID: []byte("key"), id: []byte("42"), body: bytes.Repeat([]byte("x"), size)}
		b := m.append(nil, 1, 4096)
		kinds, body := "", 0
		for len(b) > 0 {
			n := int(binary.BigEndian.Uint32(b[3:]))
			must.Hold(t, n+8 <= 4096 && b[7+n] == frameEnd, "%d bytes: a frame of %d bytes ends with %x", size, n, b[7+n])
			switch payload := b[7 : 7+n]; b[0] {
			case headerFrame:
				var m content
				must.True(t, m.takeProperties(binary.BigEndian.Uint16(payload[12:]), payload[14:]) && string(m.id) == "42" && string(m.key) == "key", "%d bytes: %+v", size, m)
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
