package rabbitmq

import (
	"bufio"
	"cmp"
	"encoding/binary"
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

// frameConn is a connection as the client sees it. It reads on only while few enough messages wait in the process, because the
// client keeps any number of them. It counts deliveries and hears confirms as they come. What is written by one call goes out
// in one piece, so that frames of kt may go between those of the client.
type frameConn struct {
	conn     net.Conn // with its deadlines out of the client's sight
	in       *bufio.Reader
	patience atomic.Int64 // how long the server may be silent, a time.Duration

	reading  sync.Mutex // guards the rest
	room     *sync.Cond // a message was taken, or the connection was closed
	most     int        // unread messages above which it does not read on; 0: any number
	unread   int        // messages that came and were not taken
	closed   bool
	largest  uint64    // most bytes of a message
	waiting  uint64    // bytes of unread messages
	missing  uint64    // bytes of messages of which a part came
	whole    int       // unread messages of which nothing is missing
	tooLarge *tooLarge // why it does not read on; nil: it does
	channels map[uint16]*arrivals

	frame []byte // the newest one
	rest  []byte // of it, which the client has not got

	// Called for what a publisher is told, from the goroutine that reads; nil: nobody publishes.
	confirm  func(tag uint64, multiple, taken bool)
	returned func(tag uint64)
}

// arrivals are the messages that came on a channel.
type arrivals struct {
	delivered, taken uint64   // the newest delivery tags
	sizes            []uint64 // of each unread message, the oldest first
	missing          uint64   // bytes of a message
}

func newFrameConn(conn net.Conn) *frameConn {
	p := &frameConn{conn: conn, in: bufio.NewReaderSize(conn, readBuffer), frame: make([]byte, frameHeader), channels: make(map[uint16]*arrivals), largest: mostMessage}
	p.room = sync.NewCond(&p.reading)
	p.patience.Store(int64(dialTimeout))
	return p
}

func (p *frameConn) on(channel uint16) *arrivals {
	if p.channels[channel] == nil {
		p.channels[channel] = new(arrivals)
	}
	return p.channels[channel]
}

// Write sends frames.
func (p *frameConn) Write(b []byte) (int, error) { return p.conn.Write(b) }

// Read gives the client what the server sent.
func (p *frameConn) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// next reads a frame. One message more than most has to fit: it counts when it begins, and the rest of it comes next.
func (p *frameConn) next() error {
	p.reading.Lock()
	for p.most > 0 && (p.unread > p.most || p.waiting > mostWaiting && p.whole > 0) && !p.closed {
		p.room.Wait()
	}
	p.reading.Unlock()
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
	p.rest = p.frame
	p.reading.Lock()
	defer p.reading.Unlock()
	kind, channel, payload := p.frame[0], binary.BigEndian.Uint16(p.frame[1:]), p.frame[frameHeader:frameHeader+size]
	p.look(kind, channel, payload)
	return p.measure(kind, channel, payload)
}

const (
	mostMessage = 128 << 20 // RabbitMQ takes no larger ones before 4.0, and 16 MiB since
	mostWaiting = 64 << 20  // bytes of unread messages with which it does not read on
)

type tooLarge struct {
	channel    uint16
	size, most uint64
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("a message of %d bytes is larger than --max-message-bytes %d", e.size, e.most)
}

// measure counts the bytes of messages. It returns an error for one that is too large, and for several that are so together.
func (p *frameConn) measure(kind byte, channel uint16, payload []byte) error {
	switch c := p.on(channel); {
	case kind == headerFrame && len(payload) >= 12:
		size := binary.BigEndian.Uint64(payload[4:])
		together := size + p.missing - c.missing
		if max(size, together) > p.largest {
			p.tooLarge = &tooLarge{channel, size, p.largest}
			return p.tooLarge
		}
		p.missing = together
		if c.missing = size; size == 0 {
			p.whole++
		}
		if p.most > 0 {
			p.waiting += size
			c.sizes = append(c.sizes, size)
		}
	case kind == bodyFrame && c.missing > 0:
		part := min(c.missing, uint64(len(payload)))
		p.missing -= part
		if c.missing -= part; c.missing == 0 {
			p.whole++
		}
	}
	return nil
}

func (p *frameConn) refused() *tooLarge {
	p.reading.Lock()
	defer p.reading.Unlock()
	return p.tooLarge
}

// Frames are a type (1 byte), a channel (2), the length of the payload (4), the payload and an end (1). The payload of a method
// begins with its class and number (2 bytes each); a delivery tag (8) and bits (1) follow in a confirm. That of a header begins
// with the class (2), a weight (2), the length of the body (8) and flags (2).
const (
	frameHeader   = 7
	methodFrame   = 1
	headerFrame   = 2
	bodyFrame     = 3
	frameEnd      = 0xCE
	frameMax      = 128 << 10 // as agreed with the server
	basicPublish  = 60<<16 | 40
	basicDeliver  = 60<<16 | 60
	basicAck      = 60<<16 | 80
	basicNack     = 60<<16 | 120
	confirmSelect = 85<<16 | 10
)

// look counts what a frame begins, so that confirms count when they come, each by itself: the client gives them on in the order
// of their tags, and takes a negative one for a positive one before one of several messages.
func (p *frameConn) look(kind byte, channel uint16, payload []byte) {
	if kind == headerFrame && p.returned != nil {
		p.returned(messageTag(payload))
	}
	if kind != methodFrame || len(payload) < 4 {
		return
	}
	switch method := binary.BigEndian.Uint32(payload); {
	case method == basicDeliver:
		p.unread++
		p.on(channel).delivered++
	case p.confirm != nil && len(payload) > 12 && (method == basicAck || method == basicNack):
		p.confirm(binary.BigEndian.Uint64(payload[4:]), payload[12]&1 != 0, method == basicAck)
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

// append appends the message's frames, of so many bytes at most, with fewer system calls and allocations than the client.
func (m *publication) append(b []byte, channel uint16, most int) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(beginFrame(b, methodFrame, channel), basicPublish)
	b = append(append(b, 0, 0, byte(len(m.exchange))), m.exchange...)
	b = append(append(b, byte(len(m.key))), m.key...)
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
	for body := m.body; len(body) > 0; {
		n := min(len(body), most-frameHeader-1)
		at = len(b)
		b = endFrame(append(beginFrame(b, bodyFrame, channel), body[:n]...), at)
		body = body[n:]
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

// messageTag returns the delivery tag in the header of a message that kt has published, 0 if there is none: the last property.
func messageTag(header []byte) uint64 {
	at := len(header)
	for at > 0 && '0' <= header[at-1] && header[at-1] <= '9' {
		at--
	}
	tag, _ := strconv.ParseUint(string(header[at:]), 10, 64) // 0 with an error
	return tag
}

func (p *frameConn) confirms(channel uint16, confirm func(tag uint64, multiple, taken bool), returned func(tag uint64)) error {
	p.reading.Lock()
	p.confirm, p.returned = confirm, returned
	p.reading.Unlock()
	b := binary.BigEndian.AppendUint32(beginFrame(nil, methodFrame, channel), confirmSelect)
	_, err := p.Write(endFrame(append(b, 1), 0)) // 1: without an answer
	return err
}

func (p *frameConn) limit(n int, largest uint64) {
	p.reading.Lock()
	p.most, p.largest = n, cmp.Or(largest, mostMessage)
	p.reading.Unlock()
}

func (p *frameConn) take(channel uint16, tag uint64) {
	p.reading.Lock()
	c := p.on(channel)
	taken := int(tag - c.taken)
	p.unread -= taken
	c.taken = tag
	taken = max(0, min(taken, len(c.sizes)))
	p.whole -= taken
	for _, size := range c.sizes[:taken] {
		p.waiting -= size
	}
	c.sizes = c.sizes[taken:]
	p.reading.Unlock()
	p.room.Signal()
}

func (p *frameConn) arrived(channel uint16) int64 {
	p.reading.Lock()
	defer p.reading.Unlock()
	return int64(p.on(channel).delivered - p.on(channel).taken)
}

// isClosed reports whether this process has closed the connection. The client notices that a little later.
func (p *frameConn) isClosed() bool {
	p.reading.Lock()
	defer p.reading.Unlock()
	return p.closed
}

// Close ends the connection, without a word to the server.
func (p *frameConn) Close() error {
	p.reading.Lock()
	p.closed = true
	p.reading.Unlock()
	p.room.Broadcast()
	return p.conn.Close()
}
