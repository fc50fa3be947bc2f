package rabbitmq

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// Methods of AMQP.
const (
	connectionStart   = 10<<16 | 10
	connectionStartOk = 10<<16 | 11
	connectionTune    = 10<<16 | 30
	connectionOpen    = 10<<16 | 40
	connectionOpenOk  = 10<<16 | 41
	channelOpen       = 20<<16 | 10
	channelOpenOk     = 20<<16 | 11
	connectionClose   = 10<<16 | 50
	connectionCloseOk = 10<<16 | 51
	channelClose      = 20<<16 | 40
	channelCloseOk    = 20<<16 | 41
	exchangeDeclare   = 40<<16 | 10
	exchangeDeclareOk = 40<<16 | 11
	exchangeDelete    = 40<<16 | 20
	exchangeDeleteOk  = 40<<16 | 21
	queueDeclare      = 50<<16 | 10
	queueDeclareOk    = 50<<16 | 11
	queueBind         = 50<<16 | 20
	queueDelete       = 50<<16 | 40
	basicQos          = 60<<16 | 10
	basicQosOk        = 60<<16 | 11
	basicConsume      = 60<<16 | 20
	basicConsumeOk    = 60<<16 | 21
	confirmSelect     = 85<<16 | 10
	confirmSelectOk   = 85<<16 | 11
)

// server speaks as much of AMQP as these tests need. It sends the messages of a queue as soon as somebody reads it, and
// answers then.
type server struct {
	messages  int           // of each queue
	deaf      bool          // it reads nothing more of a connection that publishes
	mute      bool          // it does not answer a consumer
	announces uint64        // bytes of each message; 0: as many as it has
	pause     time.Duration // before each answer about a queue
	silent    bool          // it answers nothing more, once a connection is open
	broken    bool          // it ends a channel when somebody reads
	deletions chan string   // the names that it was asked to delete; queues are refused
	missing   chan struct{} // a value for each question about a queue that it answers as if there was none; nil: no such

	// The bodies of a queue's messages, by connection. A connection but the last one ends when all its messages were
	// acknowledged. The messages of all but the first one are marked as delivered before.
	bodies [][][]byte
}

// listen returns the address of the server.
func (s *server) listen(t *testing.T) (address string) {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for number := 0; ; number++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go s.serve(conn, number)
		}
	}()
	return l.Addr().String()
}

// beat sends heartbeats until the connection ends, and reads what comes.
func beat(conn net.Conn) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, conn)
	}()
	for {
		if _, err := conn.Write(frame(heartbeatFrame, 0, nil)); err != nil {
			return
		}
		select {
		case <-time.After(time.Second):
		case <-over:
			return
		}
	}
}

func (s *server) serve(conn net.Conn, number int) {
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
			if s.silent {
				beat(conn)
				return
			}
		case channelOpen:
			say(channel, channelOpenOk, 0, 0, 0, 0)
		case confirmSelect:
			if say(channel, confirmSelectOk); s.deaf {
				return
			}
		case basicQos:
			say(channel, basicQosOk)
		case exchangeDeclare:
			say(channel, exchangeDeclareOk)
		case queueDeclare:
			if s.pause > 0 {
				<-time.After(s.pause)
			}
			select {
			case <-s.missing: // 404
				say(channel, channelClose, append([]byte{1, 0x94, 8}, "no queue\x00\x32\x00\x0a"...)...)
				continue
			default:
			}
			say(channel, queueDeclareOk, append([]byte{1, 'q'}, make([]byte, 8)...)...)
		case queueBind: // it is refused: 403
			say(channel, channelClose, 1, 0x93, 0, 0, 50, 0, 20)
		case queueDelete: // 403
			s.deletions <- string(body[7 : 7+body[6]])
			say(channel, channelClose, 1, 0x93, 0, 0, 50, 0, 40)
		case exchangeDelete:
			s.deletions <- string(body[7 : 7+body[6]])
			say(channel, exchangeDeleteOk)
		case channelClose:
			say(channel, channelCloseOk)
		case connectionClose:
			say(0, connectionCloseOk)
		case basicAck:
			if number+1 < len(s.bodies) && binary.BigEndian.Uint64(body[4:]) == uint64(len(s.bodies[number])) {
				_ = conn.Close()
				return
			}
		case basicConsume:
			if s.broken {
				say(channel, channelClose, 1, 0x94, 0, 0, 60, 0, 20) // 404
				continue
			}
			tag := body[7+body[6]:]
			bits := tag[1+tag[0]]
			tag = tag[:1+tag[0]]
			if s.bodies != nil { // they may be more than fit into the client at once
				say(channel, basicConsumeOk, tag...)
			}
			bodies, marked := slices.Repeat([][]byte{[]byte("x")}, s.messages), byte(0)
			if number < len(s.bodies) {
				bodies, marked = s.bodies[number], byte(min(number, 1))
			}
			for i, body := range bodies {
				args := binary.BigEndian.AppendUint64(append([]byte(nil), tag...), uint64(i+1))
				say(channel, basicDeliver, append(args, marked, 1, 't', 1, '0')...)
				header := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, max(uint64(len(body)), s.announces))
				_, _ = conn.Write(append(frame(headerFrame, channel, append(header, 0, 0)), frame(bodyFrame, channel, body)...))
			}
			if noWait := bits&8 != 0; !noWait && !s.mute && s.bodies == nil {
				say(channel, basicConsumeOk, tag...)
			}
		}
	}
}
