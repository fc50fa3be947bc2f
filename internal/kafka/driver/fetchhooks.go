package driver

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/stats"
)

// joinGroupKey is the API key of requests to join a group.
const joinGroupKey = 11

// fetchHooks counts one client's fetches.
type fetchHooks struct {
	reading.Hooks
	joining func() // called when the client asks to join its group; nil: it has none
}

var (
	_ kgo.HookBrokerWrite    = (*fetchHooks)(nil)
	_ kgo.HookFetchBatchRead = (*fetchHooks)(nil)
)

// OnBrokerWrite notes that the client joins its group.
func (h *fetchHooks) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == joinGroupKey && err == nil && h.joining != nil {
		h.joining()
	}
}

// OnFetchBatchRead counts a record batch.
func (h *fetchHooks) OnFetchBatchRead(b kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	h.Shard.Record(func(rec *stats.Recorder, phase int) {
		rec.FetchBatch(phase, b.NodeID, m.NumRecords, m.UncompressedBytes, m.CompressedBytes)
	})
}
