package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"net"
)

// franz-go copies a request into a buffer before it writes it, once more than the batches need. So a
// request holds a reference where its batch belongs, and conn puts the batch there with one vectored write.

// A reference is a random prefix, which no other request holds by chance, and the number of a lane.
const (
	prefixSize    = 12
	referenceSize = prefixSize + 4
)

// references are the batches that one client has on their way, by lane.
type references struct {
	prefix [prefixSize]byte
	lanes  []*lane
}

func newReferences(lanes []*lane) *references {
	r := &references{lanes: lanes}
	_, _ = rand.Read(r.prefix[:]) // it never fails
	return r
}

// reference returns the placeholder for the batch of a lane.
func (r *references) reference(lane int) []byte {
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, referenceSize), r.prefix[:]...), uint32(lane))
}

// conn is a connection that writes batches for their references.
type conn struct {
	net.Conn
	refs    *references
	head    []byte // memory for the bytes between the records
	cuts    []cut
	buffers net.Buffers
}

// cut is where the records of a lane follow in conn.head.
type cut struct {
	at   int
	lane *lane
}

// Where the fields of a request lie.
const (
	atKey     = 4
	atVersion = 6
	leastSize = 8

	// flexibleProduce is the first version of produce requests with lengths of variable size: that of a reference has
	// one byte then.
	flexibleProduce = 9
)

// Write writes one request. franz-go never writes a part of one.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) < leastSize || binary.BigEndian.Uint16(p[atKey:]) != 0 || !c.splice(p) {
		return c.Conn.Write(p)
	}
	size, at := len(c.head), 0
	c.buffers = c.buffers[:0]
	for _, cut := range c.cuts {
		c.buffers = append(c.buffers, c.head[at:cut.at], cut.lane.now.records)
		at = cut.at
		size += len(cut.lane.now.records)
	}
	c.buffers = append(c.buffers, c.head[at:])
	binary.BigEndian.PutUint32(c.head, uint32(size-4))
	left := c.buffers // WriteTo uses it up
	n, err := left.WriteTo(c.Conn)
	if err != nil {
		return int(min(n, int64(len(p)-1))), err
	}
	return len(p), nil
}

// splice copies a request to head, with the heads of batches in place of their references. It reports whether there are
// any.
func (c *conn) splice(p []byte) bool {
	flexible := binary.BigEndian.Uint16(p[atVersion:]) >= flexibleProduce
	c.head, c.cuts = c.head[:0], c.cuts[:0]
	for {
		at := bytes.Index(p, c.refs.prefix[:])
		if at < 0 {
			c.head = append(c.head, p...)
			return len(c.cuts) > 0
		}
		l := c.refs.lanes[binary.BigEndian.Uint32(p[at+prefixSize:])]
		l.sent = true
		length := headSize + len(l.now.records)
		if flexible {
			c.head = binary.AppendUvarint(append(c.head, p[:at-1]...), uint64(length)+1)
		} else {
			c.head = binary.BigEndian.AppendUint32(append(c.head, p[:at-4]...), uint32(length))
		}
		c.head = append(c.head, l.head[:]...)
		c.cuts = append(c.cuts, cut{len(c.head), l})
		p = p[at+referenceSize:]
	}
}
