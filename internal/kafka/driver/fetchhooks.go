package driver

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/stats"
)

// joinGroupKey is the API key of requests to join a group.
const joinGroupKey = 11

// fetchHooks counts one client's fetches.
type fetchHooks struct {
	reading.Hooks
	joining func()                // called when the client asks to join its group; nil: it has none
	from    map[kafka.Place]int32 // by topic and ID: the broker of the newest batch; the shard's lock guards it
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

// OnFetchBatchRead counts a record batch. Its records count when they are polled: it may be the marker of a transaction.
func (h *fetchHooks) OnFetchBatchRead(b kgo.BrokerMetadata, topic string, partition int32, m kgo.FetchBatchMetrics) {
	h.Shard.Record(func(rec *stats.Recorder, phase int) {
		h.from[kafka.Place{Topic: topic, ID: partition}] = b.NodeID
		rec.Broker(phase, b.NodeID).Fetch.Batch(0, m.UncompressedBytes, m.CompressedBytes)
	})
}
