package driver

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/stats"
)

// API keys of requests that the hooks count.
const (
	fetchKey     = 1
	joinGroupKey = 11
)

// fetchHooks counts one client's fetches.
type fetchHooks struct {
	clientHooks
	joining func() // called when the client asks to join its group; nil: it has none
}

var (
	_ kgo.HookBrokerWrite    = (*fetchHooks)(nil)
	_ kgo.HookBrokerE2E      = (*fetchHooks)(nil)
	_ kgo.HookBrokerThrottle = (*fetchHooks)(nil)
	_ kgo.HookFetchBatchRead = (*fetchHooks)(nil)
)

// OnBrokerWrite notes that the client joins its group.
func (h *fetchHooks) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == joinGroupKey && err == nil && h.joining != nil {
		h.joining()
	}
}

// OnBrokerE2E counts a fetch and its duration, including the wait for records.
func (h *fetchHooks) OnBrokerE2E(b kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if key != fetchKey {
		return
	}
	h.shard.Record(func(rec *stats.Recorder, phase int) { rec.Fetch(phase, b.NodeID, e.DurationE2E(), e.Err() != nil) })
}

// OnBrokerThrottle counts the time for which a broker throttles the client.
func (h *fetchHooks) OnBrokerThrottle(b kgo.BrokerMetadata, d time.Duration, _ bool) {
	h.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchThrottle(phase, b.NodeID, d) })
}

// OnFetchBatchRead counts a record batch.
func (h *fetchHooks) OnFetchBatchRead(b kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	h.shard.Record(func(rec *stats.Recorder, phase int) {
		rec.FetchBatch(phase, b.NodeID, m.NumRecords, m.UncompressedBytes, m.CompressedBytes)
	})
}
