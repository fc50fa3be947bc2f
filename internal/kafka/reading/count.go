package reading

import (
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

// EndToEnd counts the time since a record was due, if that was in this run. started is the start of the run in nanoseconds
// since 1970, and now the time since then.
func (d *State) EndToEnd(rec *stats.Recorder, phase int, s *ledger.Stamp, started int64, now time.Duration) {
	switch {
	case s.Due < started || d.Run != 0 && s.Run != d.Run:
		return
	case d.Run != 0:
		phase = stats.PhaseOf(s.Warmup)
	}
	rec.EndToEnd(phase, time.Duration(started-s.Due)+now)
}

// HeaderSum returns the checksum of headers that a stamp covers.
func HeaderSum(headers []kgo.RecordHeader) (sum uint32) {
	for i := range headers {
		sum = ledger.AddHeader(sum, headers[i].Key, headers[i].Value)
	}
	return sum
}

// Account adds a record to the ledger that was polled at a time in nanoseconds since 1970. known is where the log ended at the poll before.
func Account(log *ledger.Log, r *kgo.Record, s *ledger.Stamp, known, polled int64) ledger.StampStatus {
	read := Record(r)
	if log.Mirror() {
		if read.Arrived == 0 && r.Offset >= known {
			read.Arrived = polled
		}
		read.EachHeader = func(yield func(key, value []byte) bool) {
			for i := 0; i < len(r.Headers) && yield([]byte(r.Headers[i].Key), r.Headers[i].Value); i++ {
			}
		}
	}
	return log.Add(&read, s)
}

// Record returns a record as the ledger takes it.
func Record(r *kgo.Record) ledger.Record {
	const byProducer = 0 // message.timestamp.type is CreateTime
	read := ledger.Record{
		Offset: r.Offset, Epoch: r.LeaderEpoch, Value: r.Value, Millis: -1,
		Around: ledger.Around{Key: r.Key, Headers: HeaderSum(r.Headers)},
	}
	if r.Attrs.TimestampType() == byProducer {
		read.Millis = r.Timestamp.UnixMilli()
	} else {
		read.Arrived = r.Timestamp.UnixNano()
	}
	return read
}

const fetchKey = 1

// ShareFetchKey is the key of the requests of a share group's members.
const ShareFetchKey = 78

// Hooks count one client's connections and fetches.
type Hooks struct{ Shard *engine.Shard }

var (
	_ kgo.HookBrokerConnect  = Hooks{}
	_ kgo.HookBrokerE2E      = Hooks{}
	_ kgo.HookBrokerThrottle = Hooks{}
)

// OnBrokerConnect counts an attempt to connect that failed.
func (h Hooks) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		h.Shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).FailedConnects++ })
	}
}

// OnBrokerE2E counts a fetch and its duration, including the wait for records.
func (h Hooks) OnBrokerE2E(b kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if key != fetchKey && key != ShareFetchKey {
		return
	}
	h.Shard.Record(func(rec *stats.Recorder, phase int) {
		rec.Broker(phase, b.NodeID).Fetch.Request(e.DurationE2E(), e.Err() != nil)
	})
}

// OnBrokerThrottle counts the time for which a broker throttles the client.
func (h Hooks) OnBrokerThrottle(b kgo.BrokerMetadata, d time.Duration, _ bool) {
	d = h.Shard.Throttled(b.NodeID, d)
	h.Shard.Record(func(rec *stats.Recorder, phase int) { rec.Broker(phase, b.NodeID).Fetch.Throttle += d })
}

// RecordPool returns the memory of counted records to the client. Without it a reader uses 40 % more CPU a record
// (scripts/bench consume).
var RecordPool = &records{}

type records struct{ pool sync.Pool }

var _ kgo.PoolRecords = (*records)(nil)

// GetRecords returns a slice with room for n records.
func (r *records) GetRecords(n int) []kgo.Record {
	if s, ok := r.pool.Get().(*[]kgo.Record); ok && cap(*s) >= n {
		return (*s)[:0]
	}
	return make([]kgo.Record, 0, n)
}

// PutRecords takes a slice back.
func (r *records) PutRecords(s []kgo.Record) { r.pool.Put(&s) }
