package reading

import (
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/stats"
)

// fetchKey is the API key of fetches.
const fetchKey = 1

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
	if key != fetchKey {
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
