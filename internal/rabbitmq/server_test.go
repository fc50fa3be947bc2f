package rabbitmq

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
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

// server speaks as much of AMQP as these tests need. It sends the messages of a queue as soon as somebody reads it, and
// answers then.
type server struct {
	messages  int    // of each queue
	deaf      bool   // it reads nothing more of a connection with an open channel
	mute      bool   // it does not answer a consumer
	announces uint64 // bytes of each message; 0: 1
	broken    uint16 // the channel that it ends when somebody reads; 0: none
}

// listen returns the address of the server.
func (s *server) listen(t *testing.T) (address string) {
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
			go s.serve(conn)
		}
	}()
	return l.Addr().String()
}

func (s *server) serve(conn net.Conn) {
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
			if s.deaf {
				return
			}
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
			if channel == s.broken {
				say(channel, channelClose, 1, 0x94, 0, 0, 60, 0, 20) // 404
				continue
			}
			tag := body[7+body[6]:]
			bits := tag[1+tag[0]]
			tag = tag[:1+tag[0]]
			for i := range s.messages {
				args := binary.BigEndian.AppendUint64(append([]byte(nil), tag...), uint64(i+1))
				say(channel, basicDeliver, append(args, 0, 1, 't', 1, '0')...)
				header := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, max(1, s.announces))
				_, _ = conn.Write(append(frame(headerFrame, channel, append(header, 0, 0)), frame(bodyFrame, channel, []byte("x"))...))
			}
			if noWait := bits&8 != 0; !noWait && !s.mute {
				say(channel, basicConsumeOk, tag...)
			}
		}
	}
}
