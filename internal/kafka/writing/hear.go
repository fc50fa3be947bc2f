package writing

import (
	"encoding/binary"
	"net"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/theme"
)

// mostHeard bounds the message of a broker, in characters.
const mostHeard = 300

// Hear keeps the message of a broker that refused a batch: that on its first bad record if there is one.
func Hear(s *engine.Shard, p *kmsg.ProduceResponseTopicPartition) {
	said := ""
	if p.ErrorMessage != nil {
		said = *p.ErrorMessage
	}
	if len(p.ErrorRecords) > 0 && p.ErrorRecords[0].ErrorMessage != nil {
		said = *p.ErrorRecords[0].ErrorMessage
	}
	if said == "" && p.ErrorCode == kerr.MessageTooLarge.Code { // brokers say no more of it
		said = "the topic takes smaller batches (max.message.bytes), which may have changed in the run: kt splits none; lower --batch-size"
	}
	if text := []rune(theme.Clean(strings.TrimSuffix(said, "."))); p.ErrorCode != 0 && len(text) > 0 {
		s.Said(kafka.ErrorCode(kerr.ErrorForCode(p.ErrorCode)), string(text[:min(mostHeard, len(text))]))
	}
}

// hearing is a connection that hears the messages of brokers in answers to produce requests, which franz-go drops.
type hearing struct {
	net.Conn
	shard  *engine.Shard
	asked  sync.Map // versions of produce requests without an answer, by correlation id
	answer []byte   // its bytes so far
}

// Over returns a connection that hears the messages of brokers. With acks=0 there are no answers.
func (h *Hooks) Over(c net.Conn) net.Conn {
	if h.blind {
		return c
	}
	return &hearing{Conn: c, shard: h.shard}
}

// Write notes a produce request. franz-go never writes a part of a request.
func (c *hearing) Write(p []byte) (int, error) {
	if len(p) >= 12 && binary.BigEndian.Uint16(p[4:]) == produceKey {
		c.asked.Store([4]byte(p[8:]), int16(binary.BigEndian.Uint16(p[6:])))
	}
	return c.Conn.Write(p)
}

// Read looks at each answer before franz-go has its last byte.
func (c *hearing) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.answer = append(c.answer, p[:n]...)
	for len(c.answer) >= 8 {
		size := 4 + int(binary.BigEndian.Uint32(c.answer))
		if size < 8 || len(c.answer) < size {
			break
		}
		if version, ok := c.asked.LoadAndDelete([4]byte(c.answer[4:])); ok {
			c.hear(version.(int16), c.answer[8:size])
		}
		c.answer = append(c.answer[:0], c.answer[size:]...)
	}
	return n, err
}

func (c *hearing) hear(version int16, body []byte) {
	resp := kmsg.NewPtrProduceResponse()
	if resp.SetVersion(version); resp.IsFlexible() && len(body) > 0 {
		body = body[1:] // the header has no tags
	}
	if resp.ReadFrom(body) != nil {
		return // franz-go says so
	}
	for _, t := range resp.Topics {
		for i := range t.Partitions {
			Hear(c.shard, &t.Partitions[i])
		}
	}
}
