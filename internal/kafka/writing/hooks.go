package writing

import (
	"encoding/binary"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// produceKey is the API key of produce requests.
const produceKey = 0

// Hooks count one client's connections and produce requests; NewHooks makes them.
type Hooks struct {
	shard    *engine.Shard
	settings javaconf.Producer
	limit    int  // requests in flight to one broker
	blind    bool // acks=0: no broker answers

	// Answered is the arrival of the newest produce response, since the start of the run. The client reads a response before it
	// finishes the response's records. So for each record the value lies between the arrival of its own response and now, and
	// an acknowledgement costs no look at the clock.
	Answered atomic.Int64

	mu      sync.Mutex // guards brokers
	brokers map[int32]*flight
}

// flight follows the requests in flight to one broker.
type flight struct {
	requests int
	seen     time.Duration // the time up to here is counted
}

var (
	_ kgo.HookBrokerConnect       = (*Hooks)(nil)
	_ kgo.HookBrokerWrite         = (*Hooks)(nil)
	_ kgo.HookBrokerE2E           = (*Hooks)(nil)
	_ kgo.HookBrokerDisconnect    = (*Hooks)(nil)
	_ kgo.HookBrokerThrottle      = (*Hooks)(nil)
	_ kgo.HookProduceBatchWritten = (*Hooks)(nil)
)

// NewHooks returns the hooks of a shard's client with some settings.
func NewHooks(s *engine.Shard, settings javaconf.Producer) *Hooks {
	return &Hooks{shard: s, settings: settings, limit: settings.MaxInFlight(), blind: settings.Acks() == "0", brokers: make(map[int32]*flight)}
}

// OnBrokerConnect counts an attempt to connect that failed.
func (h *Hooks) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		h.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).FailedConnects++ })
	}
}

// OnBrokerWrite counts a produce request as in flight.
func (h *Hooks) OnBrokerWrite(b kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key != produceKey || err != nil {
		return
	}
	if h.blind {
		h.Answered.Store(int64(h.shard.Now())) // no answer will come
		return
	}
	h.account(b.NodeID, 0, func(f *flight) { f.requests++ })
}

// OnBrokerE2E counts an answered produce request and how long it took.
func (h *Hooks) OnBrokerE2E(b kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if key != produceKey {
		return
	}
	if !h.blind && e.WriteErr == nil {
		h.Answered.Store(int64(h.shard.Now()))
		h.account(b.NodeID, e.DurationE2E(), func(f *flight) { f.requests = max(0, f.requests-1) })
	}
	h.shard.Record(func(rec *stats.Recorder, phase int) {
		rec.Broker(phase, b.NodeID).Request(e.DurationE2E(), e.Err() != nil)
	})
}

// OnBrokerDisconnect forgets requests that will not be answered.
func (h *Hooks) OnBrokerDisconnect(b kgo.BrokerMetadata, _ net.Conn) {
	h.mu.Lock()
	_, known := h.brokers[b.NodeID]
	h.mu.Unlock()
	if known {
		h.account(b.NodeID, 0, func(f *flight) { f.requests = 0 })
	}
}

// OnBrokerThrottle counts the time for which a broker throttles the client.
func (h *Hooks) OnBrokerThrottle(b kgo.BrokerMetadata, d time.Duration, _ bool) {
	d = h.shard.Throttled(b.NodeID, d)
	h.shard.Record(func(rec *stats.Recorder, phase int) { rec.Broker(phase, b.NodeID).Throttle += d })
}

// OnProduceBatchWritten counts a record batch.
func (h *Hooks) OnProduceBatchWritten(b kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	h.Batch(b.NodeID, m.NumRecords, m.UncompressedBytes, m.CompressedBytes)
}

// Batch counts a record batch: its records, and its bytes before and after compression.
func (h *Hooks) Batch(broker int32, records, bytes, wireBytes int) {
	fill := math.Round(100 * float64(wireBytes) / float64(max(1, h.settings.BatchSize()))) // in whole percent: few values are few bytes in run files
	h.shard.Record(func(rec *stats.Recorder, phase int) {
		rec.Broker(phase, broker).Batch(records, bytes, wireBytes)
		rec.Window(phase).BatchFill.Record(time.Duration(fill) * time.Second / 100)
	})
}

// account adds the time since the last change to the broker's total, and that of a request to the time in use.
func (h *Hooks) account(broker int32, took time.Duration, change func(*flight)) {
	now := h.shard.Now()
	h.mu.Lock()
	f := h.brokers[broker]
	if f == nil {
		f = &flight{seen: now}
		h.brokers[broker] = f
	}
	total := max(0, now-f.seen)
	f.seen = max(f.seen, now)
	before := f.requests
	change(f)
	changed := f.requests - before
	h.mu.Unlock()
	h.shard.Requests(changed)
	use := took / time.Duration(h.limit)
	h.shard.Record(func(rec *stats.Recorder, phase int) {
		w := rec.Window(phase)
		w.InFlightUse += use
		w.ConnTime += total
	})
}

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
