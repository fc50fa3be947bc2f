package rabbitmq

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// heartbeat is how often each side lets the other hear something. A connection that is silent three
// times as long is lost.
const heartbeat = 10 * time.Second

const (
	readBuffer = 64 << 10
	flushAt    = 64 << 10 // bytes that are written at once while the pipe is held
)

// pipe is a connection as the client sees it. It gathers what the client writes for each message, so
// that many messages take one system call and one TLS record. It reads on only while
// few enough messages wait in the process, because the client keeps any number of them.
type pipe struct {
	conn     net.Conn
	in       *bufio.Reader
	patience atomic.Int64 // how long the server may be silent, a time.Duration

	mu   sync.Mutex // guards out and held, and the writing
	out  []byte
	held bool

	reading   sync.Mutex // guards the rest
	room      *sync.Cond // a message was taken, or the pipe was closed
	most      int        // unread messages above which it does not read on; 0: any number
	unread    int        // messages that came and were not taken
	closed    bool
	delivered map[uint16]int64

	frame     []byte // the beginning of the frame that comes
	want      int    // bytes of it
	skip      int    // bytes of it after those
	returning bool   // the properties of a returned message come next

	// Called for what a publisher is told, from the goroutine that reads; nil: nobody publishes.
	confirm  func(tag uint64, multiple, taken bool)
	returned func(messageID string)
}

func newPipe(conn net.Conn) *pipe {
	p := &pipe{conn: conn, in: bufio.NewReaderSize(conn, readBuffer), delivered: make(map[uint16]int64), want: frameHeader}
	p.room = sync.NewCond(&p.reading)
	p.patience.Store(int64(dialTimeout))
	return p
}

// hold keeps what is written until flush.
func (p *pipe) hold() {
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
}

// flush writes what was kept, and keeps no more.
func (p *pipe) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	return p.send()
}

func (p *pipe) send() error {
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.conn.Write(p.out)
	p.out = p.out[:0]
	return err
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, b...)
	if p.held && len(p.out) < flushAt {
		return len(b), nil
	}
	return len(b), p.send()
}

// Read gives the client what the server sent. It counts the messages in it. A message counts when it begins, so
// one more than most has to fit: the rest of it may be what comes next.
func (p *pipe) Read(b []byte) (int, error) {
	p.reading.Lock()
	for p.most > 0 && p.unread > p.most && !p.closed {
		p.room.Wait()
	}
	p.reading.Unlock()
	if p.in.Buffered() == 0 {
		if err := p.conn.SetReadDeadline(time.Now().Add(time.Duration(p.patience.Load()))); err != nil {
			return 0, err
		}
	}
	n, err := p.in.Read(b)
	p.reading.Lock()
	p.count(b[:n])
	p.reading.Unlock()
	return n, err
}

// Frames are a type (1 byte), a channel (2), the length of the payload (4), the payload and an end (1). The
// payload of a method begins with its class and number (2 bytes each); a delivery tag (8) and bits (1) follow in a confirm.
// That of a header begins with the class (2), a weight (2), the length of the body (8) and flags (2).
const (
	frameHeader   = 7
	methodFrame   = 1
	headerFrame   = 2
	bodyFrame     = 3
	frameEnd      = 0xCE
	methodBegin   = 13
	headerBegin   = 600 // more than the properties of kt's messages take
	basicPublish  = 60<<16 | 40
	basicReturn   = 60<<16 | 50
	basicDeliver  = 60<<16 | 60
	basicAck      = 60<<16 | 80
	basicNack     = 60<<16 | 120
	confirmSelect = 85<<16 | 10
)

// count looks at the beginnings of frames. So confirms count when they come, and each by itself. The client gives
// them on in the order of their tags. It takes a negative one for a positive one if a confirm of several messages
// comes behind it.
func (p *pipe) count(b []byte) {
	for len(b) > 0 {
		if p.skip > 0 {
			n := min(p.skip, len(b))
			p.skip -= n
			b = b[n:]
			continue
		}
		n := min(p.want-len(p.frame), len(b))
		p.frame = append(p.frame, b[:n]...)
		b = b[n:]
		if len(p.frame) < p.want {
			return
		}
		size := int(binary.BigEndian.Uint32(p.frame[3:]))
		if p.want == frameHeader {
			switch {
			case p.frame[0] == methodFrame:
				p.want += min(size, methodBegin)
			case p.frame[0] == headerFrame && p.returning:
				p.want += min(size, headerBegin)
			}
			if p.want > frameHeader {
				continue
			}
		}
		p.look(p.frame[0], binary.BigEndian.Uint16(p.frame[1:]), p.frame[frameHeader:])
		p.skip = size + 1 - (p.want - frameHeader)
		p.frame, p.want = p.frame[:0], frameHeader
	}
}

// look counts what a frame begins.
func (p *pipe) look(kind byte, channel uint16, payload []byte) {
	switch {
	case kind == headerFrame && p.returning:
		p.returning = false
		p.returned(messageID(payload))
	case kind != methodFrame || len(payload) < 4:
	default:
		switch method := binary.BigEndian.Uint32(payload); {
		case method == basicDeliver:
			p.unread++
			p.delivered[channel]++
		case p.confirm == nil || len(payload) < methodBegin:
		case method == basicReturn:
			p.returning = true
		case method == basicAck, method == basicNack:
			p.confirm(binary.BigEndian.Uint64(payload[4:]), payload[12]&1 != 0, method == basicAck)
		}
	}
}

// The flags of properties that kt's messages have, in the order in which the properties follow.
const (
	hasDeliveryMode  = 1 << 12
	hasCorrelationID = 1 << 10
	hasMessageID     = 1 << 7
)

// publication is a message that is to be published. Its texts have 255 bytes at most.
type publication struct {
	exchange, key     string
	mandatory         bool
	mode              uint8
	correlationID, id []byte // nil: it has none
	body              []byte
}

// append appends the message's frames, of frameMax bytes at most. The client would make a
// system call, several allocations and the waking of a goroutine of each message.
func (m *publication) append(b []byte, channel uint16, frameMax int) []byte {
	at := len(b)
	b = beginFrame(b, methodFrame, channel)
	b = binary.BigEndian.AppendUint32(b, basicPublish)
	b = append(b, 0, 0, byte(len(m.exchange)))
	b = append(b, m.exchange...)
	b = append(append(b, byte(len(m.key))), m.key...)
	if m.mandatory {
		b = endFrame(append(b, 1), at)
	} else {
		b = endFrame(append(b, 0), at)
	}
	at = len(b)
	b = append(beginFrame(b, headerFrame, channel), 0, 60, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(len(m.body)))
	flags := uint16(hasDeliveryMode)
	if m.correlationID != nil {
		flags |= hasCorrelationID
	}
	if m.id != nil {
		flags |= hasMessageID
	}
	b = append(binary.BigEndian.AppendUint16(b, flags), m.mode)
	for _, text := range [][]byte{m.correlationID, m.id} {
		if text != nil {
			b = append(append(b, byte(len(text))), text...)
		}
	}
	b = endFrame(b, at)
	for body := m.body; len(body) > 0; {
		n := min(len(body), frameMax-frameHeader-1)
		at = len(b)
		b = endFrame(append(beginFrame(b, bodyFrame, channel), body[:n]...), at)
		body = body[n:]
	}
	return b
}

func beginFrame(b []byte, kind byte, channel uint16) []byte {
	return append(b, kind, byte(channel>>8), byte(channel), 0, 0, 0, 0)
}

// endFrame completes the frame that begins at a place.
func endFrame(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at+3:], uint32(len(b)-at-frameHeader))
	return append(b, frameEnd)
}

// messageID returns the message id in the header of a message that kt has published.
func messageID(header []byte) string {
	const flags = 12
	if len(header) < flags+2 {
		return ""
	}
	has, rest := binary.BigEndian.Uint16(header[flags:]), header[flags+2:]
	if has&hasDeliveryMode != 0 && len(rest) > 0 {
		rest = rest[1:]
	}
	short := func() (text string) { // its length is in its first byte
		if len(rest) > 0 && len(rest) > int(rest[0]) {
			text, rest = string(rest[1:1+rest[0]]), rest[1+rest[0]:]
		}
		return text
	}
	if has&hasCorrelationID != 0 {
		short()
	}
	if has&hasMessageID == 0 {
		return ""
	}
	return short()
}

// confirms asks the server to confirm what is published on a channel. The client does not know of it, and so
// keeps nothing for each message.
func (p *pipe) confirms(channel uint16, confirm func(tag uint64, multiple, taken bool), returned func(messageID string)) error {
	p.reading.Lock()
	p.confirm, p.returned = confirm, returned
	p.reading.Unlock()
	b := binary.BigEndian.AppendUint32(beginFrame(nil, methodFrame, channel), confirmSelect)
	_, err := p.Write(endFrame(append(b, 1), 0)) // 1: without an answer
	return err
}

// take notes that messages were taken.
func (p *pipe) take(n int) {
	p.reading.Lock()
	p.unread -= n
	p.reading.Unlock()
	p.room.Signal()
}

// arrived returns how many messages came on a channel.
func (p *pipe) arrived(channel uint16) int64 {
	p.reading.Lock()
	defer p.reading.Unlock()
	return p.delivered[channel]
}

// Close ends the connection, without a word to the server.
func (p *pipe) Close() error {
	p.reading.Lock()
	p.closed = true
	p.reading.Unlock()
	p.room.Broadcast()
	return p.conn.Close()
}

// limit sets how many messages may wait in the process.
func (p *pipe) limit(n int) {
	p.reading.Lock()
	p.most = n
	p.reading.Unlock()
}
