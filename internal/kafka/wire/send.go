package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka/writing"
)

// brokerQueue is the lanes of a worker whose partitions one broker leads and whose batches wait to be sent. While there is room for
// another request in flight, a batch goes at once. After that, all that have gathered go in one request.
type brokerQueue struct {
	broker int32
	lanes  []*lane
	flying []int // requests in flight, by connection
}

// connections is the largest number of connections of a producer to a broker. A broker handles one request of a connection at a
// time, and reads the next one only then. Over one connection it takes turns with kt. Three, with the send buffers of the
// system, took 1.4 times the records of 100 bytes in requests of 1 MB.
const connections = 3

// mostConnections bounds those of all producers to a broker, as long as each has one: many producers need no second.
const mostConnections = 192

// free returns the connection with the fewest requests in flight, and whether all of them leave room for one more.
func (o *brokerQueue) free(limit int) (connection int, ok bool) {
	all := 0
	for i, n := range o.flying {
		all += n
		if n < o.flying[connection] {
			connection = i
		}
	}
	return connection, all < limit
}

// offer sends the next batch of a lane that is not busy. At a linger of 0 that may be the open one. The caller holds mu.
func (w *worker) offer(l *lane) {
	if len(l.queue) == 0 && w.opened == l && w.linger == 0 {
		l.queue = append(l.queue, w.open)
		w.open, w.opened = nil, nil
	}
	if len(l.queue) > 0 {
		l.batch, l.busy = l.queue[0], true
		w.busy++
		l.queue = append(l.queue[:0], l.queue[1:]...)
		w.route(l)
	}
}

// route gives a busy lane to the broker that leads its partition. The caller holds mu.
func (w *worker) route(l *lane) {
	to := w.leaders.leader(l.partition).broker
	if to < 0 {
		l.began = time.Now() // what was asked before does not help
		go l.settle(answer{code: kerr.LeaderNotAvailable.Message, again: true, ask: true})
		return
	}
	o := w.brokers[to]
	if o == nil {
		o = &brokerQueue{broker: to, flying: make([]int, len(w.clients))}
		w.brokers[to] = o
	}
	o.lanes = append(o.lanes, l)
	if connection, ok := o.free(w.driver.Settings.MaxInFlight()); ok {
		o.flying[connection]++
		go w.drive(o, connection)
	}
}

func (w *worker) drive(o *brokerQueue, connection int) {
	for {
		w.mu.Lock()
		lanes := w.take(o)
		if len(lanes) == 0 {
			o.flying[connection]--
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		now := w.shard.Now()
		lanes = slices.DeleteFunc(lanes, func(l *lane) bool {
			late := now >= l.batch.opened+w.delivery // it has waited for delivery.timeout.ms, as with Kafka's client
			if late {
				l.settle(answer{code: deliveryTimeout})
			}
			return late
		})
		if len(lanes) == 0 {
			continue
		}
		for _, l := range lanes {
			l.prepare()
		}
		got, err := w.clients[connection].Broker(int(o.broker)).Request(w.ctx, w.request(lanes))
		if err != nil {
			for _, l := range lanes {
				l.settle(l.unanswered(err))
			}
			continue
		}
		w.answered(lanes, got.(*kmsg.ProduceResponse), o.broker)
	}
}

// take takes lanes for one request: one for each partition, and as many as it has room for. The caller holds mu.
func (w *worker) take(o *brokerQueue) (lanes []*lane) {
	room := w.driver.Settings.Int("max.request.size")
	w.round++
	stay := o.lanes[:0]
	for _, l := range o.lanes {
		size := w.sizeOf(l.batch)
		if w.rounds[l.partition] == w.round || size > room && len(lanes) > 0 {
			stay = append(stay, l)
			continue
		}
		w.rounds[l.partition] = w.round
		room -= size
		lanes = append(lanes, l)
	}
	o.lanes = stay
	return lanes
}

func (w *worker) request(lanes []*lane) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.TimeoutMillis = int32(min(w.driver.Settings.Duration("request.timeout.ms").Milliseconds(), 1<<31-1)) // franz-go sets the acks
	at := make(map[*writing.Target]int, min(len(lanes), len(w.topics)))
	for _, l := range lanes {
		i, ok := at[l.topic]
		if !ok {
			topic := kmsg.NewProduceRequestTopic()
			topic.Topic, topic.TopicID = l.topic.Name, w.leaders.topicID(l.topic.Name)
			i, at[l.topic], req.Topics = len(req.Topics), len(req.Topics), append(req.Topics, topic)
		}
		partition := kmsg.NewProduceRequestTopicPartition()
		partition.Partition = l.partition - l.topic.First
		partition.Records = binary.BigEndian.AppendUint32(append(make([]byte, 0, referenceSize), w.refs.prefix[:]...), uint32(l.number))
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, partition)
	}
	return req
}

func (w *worker) answered(lanes []*lane, resp *kmsg.ProduceResponse, from int32) {
	parts := make(map[int32]*kmsg.ProduceResponseTopicPartition, len(lanes))
	for i := range resp.Topics {
		t := &resp.Topics[i]
		first := w.driver.Layout.Number(cmp.Or(t.Topic, w.leaders.topicName(t.TopicID)), 0)
		for j := range t.Partitions {
			parts[first+t.Partitions[j].Partition] = &t.Partitions[j]
		}
	}
	for _, l := range lanes {
		switch p := parts[l.partition]; {
		case p != nil:
			l.settle(l.read(p, resp.Version, from))
		case w.driver.Blind():
			l.settle(answer{broker: from, offset: -1})
		default:
			l.settle(answer{code: "client:OTHER", lost: true}) // an answer without this partition
		}
	}
}

// franz-go copies a request into a buffer before it writes it, once more than the batches need. So a request holds a reference
// where its batch belongs, and conn puts the batch there with one vectored write.

// A reference is a random prefix, which no other request holds by chance, and the number of a lane.
const (
	prefixSize    = 12
	referenceSize = prefixSize + 4
)

type references struct {
	prefix [prefixSize]byte
	lanes  []*lane
}

type conn struct {
	net.Conn
	refs    *references
	head    []byte // memory for the bytes between the records
	cuts    []cut
	buffers net.Buffers
}

type cut struct {
	at   int
	lane *lane
}

// Where the fields of a request lie.
const (
	atKey     = 4
	atVersion = 6
	leastSize = 8

	// flexibleProduce is the first version of produce requests with lengths of variable size: of a reference, one byte.
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

// splice copies a request to head, with the heads of batches for their references. It reports whether there are any.
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
		length := format.HeadSize + len(l.now.records)
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
