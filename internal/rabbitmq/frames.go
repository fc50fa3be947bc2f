package rabbitmq

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// heartbeat is how often each side lets the other hear something. Three times as long without is the end.
const heartbeat = 10 * time.Second

const readBuffer = 64 << 10

// frameConn is a connection as the client sees it. What carries messages passes the client by: kt takes deliveries, returns and
// confirms out of what the server sends. The client keeps any number of deliveries, gives confirms on in the order of their tags,
// and takes a negative one for a positive one before one of several messages. What is written by one call goes out in one piece,
// so that frames of kt may go between those of the client.
type frameConn struct {
	conn     net.Conn // with its deadlines out of the client's sight
	in       *bufio.Reader
	patience atomic.Int64 // how long the server may be silent, a time.Duration
	answers  atomic.Int64 // frames for the client, without heartbeats
	closing  sync.Once
	closed   chan struct{} // closed: this process has closed the connection

	taker    atomic.Pointer[taker] // nil: the client gets everything
	coming   content
	tooLarge atomic.Pointer[tooLarge] // why it does not read on; nil: it does

	frame []byte // the newest one
	rest  []byte // of it, which the client has not got
}

// taker gets what passes the client by, from the goroutine that reads. It may hold that up.
type taker struct {
	confirm func(tag uint64, multiple, taken bool) // nil: nothing is published
	block   func(on bool, reason string)           // the same
	cancel  func(queue int32)                      // nil: nothing is read
	message func(m *content)
	largest uint64 // most bytes of a message; 0: mostMessage
}

// content is a message that the server delivers or returns.
type content struct {
	queue       int32 // by the tag of the consumer
	redelivered bool
	key, id     []byte
	body        []byte
	missing     uint64 // bytes of the body
}

func newFrameConn(conn net.Conn) *frameConn {
	p := &frameConn{conn: conn, in: bufio.NewReaderSize(conn, readBuffer), frame: make([]byte, frameHeader), closed: make(chan struct{})}
	p.patience.Store(int64(dialTimeout))
	return p
}

// Write sends frames.
func (p *frameConn) Write(b []byte) (int, error) { return p.conn.Write(b) }

// Read gives the client what the server sent for it.
func (p *frameConn) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *frameConn) next() error {
	if p.in.Buffered() == 0 {
		if err := p.conn.SetReadDeadline(time.Now().Add(time.Duration(p.patience.Load()))); err != nil {
			return err
		}
	}
	p.frame = p.frame[:frameHeader]
	if _, err := io.ReadFull(p.in, p.frame); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(p.frame[3:]))
	if size > frameMax {
		return fmt.Errorf("a frame has %d bytes, and %d at most were agreed", size, frameMax)
	}
	p.frame = slices.Grow(p.frame, size+1)[:frameHeader+size+1]
	if _, err := io.ReadFull(p.in, p.frame[frameHeader:]); err != nil {
		return err
	}
	if t := p.taker.Load(); t != nil {
		if own, err := p.take(t, p.frame[0], p.frame[frameHeader:frameHeader+size]); own || err != nil {
			return err
		}
	}
	if p.frame[0] != heartbeatFrame {
		p.answers.Add(1)
	}
	p.rest = p.frame
	return nil
}

const (
	mostMessage = 128 << 20 // RabbitMQ takes no larger ones before 4.0, and 16 MiB since
	mostAtOnce  = 1 << 20   // bytes that a message gets before they have come
)

type tooLarge struct {
	queue      int32
	size, most uint64
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("a message of %d bytes is larger than --max-message-bytes %d", e.size, e.most)
}

// Frames are a type (1 byte), a channel (2), the length of the payload (4), the payload and an end (1). The payload of a method
// begins with its class and number (2 bytes each); a delivery tag (8) and bits (1) follow in a confirm, and behind the tag of the
// consumer in a delivery. That of a header begins with the class (2), a weight (2), the length of the body (8) and flags (2).
const (
	frameHeader         = 7
	methodFrame         = 1
	headerFrame         = 2
	bodyFrame           = 3
	heartbeatFrame      = 8
	frameEnd            = 0xCE
	frameMax            = 128 << 10 // as agreed with the server
	connectionBlocked   = 10<<16 | 60
	connectionUnblocked = 10<<16 | 61
	basicCancel         = 60<<16 | 30
	basicPublish        = 60<<16 | 40
	basicReturn         = 60<<16 | 50
	basicDeliver        = 60<<16 | 60
	basicAck            = 60<<16 | 80
	basicNack           = 60<<16 | 120
)

var errMalformed = errors.New("the server sent a frame that is not as AMQP has it")

// take looks at a frame, and reports whether it is for kt. Messages come on one channel, one after the other.
func (p *frameConn) take(t *taker, kind byte, payload []byte) (own bool, err error) {
	m := &p.coming
	switch kind {
	case methodFrame:
		return p.takeMethod(t, payload)
	case headerFrame:
		if len(payload) < 14 {
			return true, errMalformed
		}
		m.missing = binary.BigEndian.Uint64(payload[4:])
		if most := cmp.Or(t.largest, mostMessage); m.missing > most {
			p.tooLarge.Store(&tooLarge{m.queue, m.missing, most})
			return true, p.tooLarge.Load()
		}
		m.body = make([]byte, 0, min(m.missing, mostAtOnce))
		if !m.takeProperties(binary.BigEndian.Uint16(payload[12:]), payload[14:]) {
			return true, errMalformed
		}
	case bodyFrame:
		if uint64(len(payload)) > m.missing {
			return true, errMalformed
		}
		m.missing -= uint64(len(payload))
		m.body = append(m.body, payload...)
	default:
		return false, nil
	}
	if m.missing == 0 {
		t.message(m)
	}
	return true, nil
}

func (p *frameConn) takeMethod(t *taker, payload []byte) (own bool, err error) {
	if len(payload) < 4 {
		return false, nil
	}
	method, args := binary.BigEndian.Uint32(payload), payload[4:]
	text, rest, _ := cut(args, 1) // many begin with one
	number, noNumber := strconv.ParseInt(string(text), 10, 32)
	switch {
	case t.confirm != nil && (method == basicAck || method == basicNack):
		if len(args) < 9 {
			return true, errMalformed
		}
		t.confirm(binary.BigEndian.Uint64(args), args[8]&1 != 0, method == basicAck)
	case t.confirm != nil && (method == connectionBlocked || method == connectionUnblocked):
		t.block(method == connectionBlocked, string(text))
	case method == basicReturn:
		p.coming = content{queue: -1}
	case method == basicDeliver:
		if noNumber != nil || len(rest) < 9 {
			return true, errMalformed
		}
		p.coming = content{queue: int32(number), redelivered: rest[8]&1 != 0}
	case t.cancel != nil && method == basicCancel && noNumber == nil:
		t.cancel(int32(number))
	default:
		return false, nil
	}
	return true, nil
}

// cut returns what is behind a length of so many bytes, and the rest.
func cut(b []byte, bytes int) (value, rest []byte, ok bool) {
	n := 0
	for i := range min(bytes, len(b)) {
		n = n<<8 | int(b[i])
	}
	if len(b) < bytes+n {
		return nil, nil, false
	}
	return b[bytes : bytes+n], b[bytes+n:], true
}

// takeProperties notes the key and the id of a message, of the properties that its flags name. It reports whether they are well formed.
func (m *content) takeProperties(flags uint16, rest []byte) bool {
	for flag := uint16(1 << 15); flag >= hasMessageID; flag >>= 1 {
		if flags&flag == 0 {
			continue
		}
		length := 1 // most are texts
		switch flag {
		case hasHeaders:
			length = 4
		case hasDeliveryMode, hasPriority: // of one byte
			length = 0
			rest = rest[min(1, len(rest)):]
		}
		value, left, ok := cut(rest, length)
		if !ok {
			return false
		}
		switch flag {
		case hasCorrelationID:
			m.key = slices.Clone(value)
		case hasMessageID:
			m.id = slices.Clone(value)
		}
		rest = left
	}
	return true
}

// The flags of properties, in the order in which the properties follow.
const (
	hasHeaders       = 1 << 13
	hasDeliveryMode  = 1 << 12
	hasPriority      = 1 << 11
	hasCorrelationID = 1 << 10
	hasMessageID     = 1 << 7
)

// publication is a message that is to be published. Its texts have 255 bytes at most.
type publication struct {
	exchange          string
	key               int
	mandatory         bool
	mode              uint8
	correlationID, id []byte // nil: it has none
	body              []byte
}

// append appends the message's frames, of so many bytes at most, with fewer system calls and allocations than the client.
func (m *publication) append(b []byte, channel uint16, most int) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(beginFrame(b, methodFrame, channel), basicPublish)
	b = append(append(b, 0, 0, byte(len(m.exchange))), m.exchange...)
	key := len(b)
	b = strconv.AppendInt(append(b, 0), int64(m.key), 10)
	b[key] = byte(len(b) - key - 1)
	var bits byte
	if m.mandatory {
		bits = 1
	}
	b = endFrame(append(b, bits), at)
	at = len(b)
	b = append(beginFrame(b, headerFrame, channel), 0, 60, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(len(m.body)))
	flags := len(b)
	b = append(b, hasDeliveryMode>>8, 0, m.mode)
	if m.correlationID != nil {
		b[flags] |= hasCorrelationID >> 8
		b = append(append(b, byte(len(m.correlationID))), m.correlationID...)
	}
	if m.id != nil {
		b[flags+1] |= hasMessageID
		b = append(append(b, byte(len(m.id))), m.id...)
	}
	b = endFrame(b, at)
	for body := range slices.Chunk(m.body, most-frameHeader-1) {
		at = len(b)
		b = endFrame(append(beginFrame(b, bodyFrame, channel), body...), at)
	}
	return b
}

// appendAck appends the acknowledgement of the messages of a channel up to a delivery tag.
func appendAck(b []byte, channel uint16, tag uint64) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(beginFrame(b, methodFrame, channel), basicAck)
	return endFrame(append(binary.BigEndian.AppendUint64(b, tag), 1), at)
}

func beginFrame(b []byte, kind byte, channel uint16) []byte {
	return append(b, kind, byte(channel>>8), byte(channel), 0, 0, 0, 0)
}

func endFrame(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at+3:], uint32(len(b)-at-frameHeader))
	return append(b, frameEnd)
}

// isClosed reports whether this process has closed the connection. The client notices that a little later.
func (p *frameConn) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// Close ends the connection, without a word to the server.
func (p *frameConn) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return p.conn.Close()
}
