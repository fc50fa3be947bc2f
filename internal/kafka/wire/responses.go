package wire

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// responses holds the answers to fetches of one client. franz-go makes a buffer for each answer, which Go clears first. For fetches,
// fresh memory is half of all work. So answers are read into buffers that are used again, and franz-go gets each without its
// records. The session id in it, which is free because kt's fetches have no session, names the whole answer.
type responses struct {
	answers sync.Map // by session id
	last    atomic.Int32
	spare   sync.Pool // of memory for answers
}

type caught struct {
	*kmsg.FetchResponse
	bytes []byte // that it lies in; nil: they are franz-go's
}

func (i *responses) over(c net.Conn) net.Conn { return &responseConn{Conn: c, responses: i} }

// take returns the answer whose rest franz-go has returned. franz-go's own is whole if it was not caught.
func (i *responses) take(rest *kmsg.FetchResponse) *caught {
	if a, ok := i.answers.LoadAndDelete(rest.SessionID); ok {
		return a.(*caught)
	}
	return &caught{FetchResponse: rest}
}

func (i *responses) free(b []byte) {
	if b != nil {
		i.spare.Put(&b)
	}
}

// responseConn is a connection. One goroutine writes, another one reads.
type responseConn struct {
	net.Conn
	responses *responses

	mu    sync.Mutex
	asked []asked // without an answer yet, in the order of the answers

	ready []byte // bytes for the reader, before any others
	left  int    // bytes of the answer behind them

	kept atomic.Int32 // the newest answer that is kept
}

type asked struct {
	key, version int16
	id           [4]byte // the same in its answer
}

const (
	fetchKey      = 1
	sessionFetch  = 7  // the first version with session ids
	flexibleFetch = 12 // the first version with tags
	maxCaught     = 64 << 20
)

// Write notes a request. franz-go never writes a part of one.
func (c *responseConn) Write(p []byte) (int, error) {
	if len(p) >= 12 {
		be := binary.BigEndian
		c.mu.Lock()
		c.asked = append(c.asked, asked{int16(be.Uint16(p[atKey:])), int16(be.Uint16(p[atVersion:])), [4]byte(p[leastSize:])})
		c.mu.Unlock()
	}
	return c.Conn.Write(p)
}

// Read gives franz-go the bytes of answers.
func (c *responseConn) Read(p []byte) (int, error) {
	if len(c.ready) == 0 && c.left == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// Close drops the answer that nobody will take, because its request was cancelled or the connection failed.
func (c *responseConn) Close() error {
	err := c.Conn.Close()
	c.responses.answers.Delete(c.kept.Load())
	return err
}

func (c *responseConn) next() error {
	var head [4]byte
	if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
		return err
	}
	var to asked
	c.mu.Lock()
	if len(c.asked) > 0 {
		to, c.asked = c.asked[0], c.asked[1:]
	}
	c.mu.Unlock()
	size := int(int32(binary.BigEndian.Uint32(head[:])))
	if to.key != fetchKey || to.version < sessionFetch || size < len(to.id) || size > maxCaught {
		c.ready, c.left = head[:], max(size, 0)
		return nil
	}
	b, _ := c.responses.spare.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	*b = slices.Grow((*b)[:0], size)[:size]
	if _, err := io.ReadFull(c.Conn, *b); err != nil {
		return err
	}
	if c.ready = c.strip(*b, to); c.ready == nil { // not an answer to this: franz-go will say so
		c.ready = slices.Concat(head[:], *b)
	}
	return nil
}

func (c *responseConn) strip(b []byte, to asked) []byte {
	body := b[len(to.id):]
	if [4]byte(b) != to.id {
		return nil
	}
	if to.version >= flexibleFetch {
		if len(body) == 0 || body[0] != 0 {
			return nil // tags that are not known
		}
		body = body[1:]
	}
	whole := kmsg.NewPtrFetchResponse()
	whole.Version = to.version
	if whole.ReadFrom(body) != nil {
		return nil
	}
	rest := *whole
	rest.Topics, rest.SessionID = nil, max(1, c.responses.last.Add(1)&math.MaxInt32) // 0: no session
	c.responses.answers.Store(rest.SessionID, &caught{whole, b})
	c.kept.Store(rest.SessionID)
	out := append(make([]byte, 4, 64), b[:len(b)-len(body)]...)
	out = rest.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}
