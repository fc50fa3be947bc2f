package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"net"
)

// franz-go copies a request into a buffer before it writes it. For large batches that copy is half of all work. So a
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

// reference returns what stands for the batch of a lane.
func (r *references) reference(lane int) []byte {
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, referenceSize), r.prefix[:]...), uint32(lane))
}

// conn is a connection that writes batches for their references.
type conn struct {
	net.Conn
	refs *references
	head []byte // memory for the bytes before the records
}

// Where the fields of a request lie.
const (
	atKey     = 4
	atVersion = 6

	// flexibleProduce is the first version of produce requests with lengths of variable size, and with three bytes
	// of tags behind the batch.
	flexibleProduce = 9
	tagBytes        = 3
)

// Write writes one request. franz-go never writes a part of one.
func (c *conn) Write(p []byte) (int, error) {
	tail := 0
	if len(p) < atVersion+2 || binary.BigEndian.Uint16(p[atKey:]) != 0 {
		return c.Conn.Write(p)
	}
	flexible := binary.BigEndian.Uint16(p[atVersion:]) >= flexibleProduce
	if flexible {
		tail = tagBytes
	}
	at := len(p) - tail - referenceSize
	if at < atVersion+2 || !bytes.Equal(p[at:at+prefixSize], c.refs.prefix[:]) {
		return c.Conn.Write(p)
	}
	l := c.refs.lanes[binary.BigEndian.Uint32(p[at+prefixSize:])]
	length := headSize + len(l.now.records)
	if flexible {
		c.head = binary.AppendUvarint(append(c.head[:0], p[:at-1]...), uint64(length)+1) // of the reference: one byte
	} else {
		c.head = binary.BigEndian.AppendUint32(append(c.head[:0], p[:at-4]...), uint32(length))
	}
	c.head = append(c.head, l.head[:]...)
	binary.BigEndian.PutUint32(c.head, uint32(len(c.head)+len(l.now.records)+tail-4))
	buffers := net.Buffers{c.head, l.now.records, p[len(p)-tail:]}
	n, err := buffers.WriteTo(c.Conn)
	if err != nil {
		return int(min(n, int64(len(p)-1))), err
	}
	return len(p), nil
}
