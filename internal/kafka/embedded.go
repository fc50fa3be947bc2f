package kafka

import (
	"fmt"
	"io"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

// EmbeddedBrokers is the number of brokers of the embedded cluster: enough for a replication factor of 3. All of them are one
// goroutine.
const EmbeddedBrokers = 3

// Embedded is a Kafka cluster inside the process, franz-go's kfake, on loopback ports.
type Embedded struct {
	cluster *kfake.Cluster

	mu   sync.Mutex
	read map[place]map[any]int64 // guarded by mu; below which offset each reader has read
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// StartEmbedded starts an embedded cluster. For a load that does not read, it checks batches and drops them, so its memory does
// not grow. For one that reads, it keeps records until DeleteRecords.
func StartEmbedded(read bool) (*Embedded, error) {
	opts := []kfake.Opt{kfake.NumBrokers(EmbeddedBrokers), kfake.BrokerConfigs(map[string]string{"log.segment.bytes": embeddedSegment})}
	if !read {
		opts = append(opts, kfake.BlackholeProduce())
	}
	return start("the embedded broker", opts...)
}

func start(what string, opts ...kfake.Opt) (*Embedded, error) {
	c, err := kfake.NewCluster(append(opts, kfake.WithLogger(kfake.BasicLogger(io.Discard, kfake.LogLevelNone)))...)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	return &Embedded{cluster: c, read: make(map[place]map[any]int64)}, nil
}

// embeddedSegment is the size of segments, in bytes: of records that are deleted, only whole segments can be.
const embeddedSegment = "1048576"

// Addrs returns the addresses to start from.
func (e *Embedded) Addrs() []string { return e.cluster.ListenAddrs() }

// Close stops the cluster.
func (e *Embedded) Close() { e.cluster.Close() }

// DeleteRead deletes the records of a partition that all readers have read. One of them has read those below an offset; it has
// to say so once before anything is written, so that others do not delete what it still needs.
func (e *Embedded) DeleteRead(reader any, topic string, partition int32, below int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := place{topic, partition}
	if e.read[at] == nil {
		e.read[at] = make(map[any]int64)
	}
	e.read[at][reader] = below
	for _, other := range e.read[at] {
		below = min(below, other)
	}
	_ = e.cluster.DeleteRecords(topic, partition, below) // the topic may be gone at the end of the run
}

// DeleteUnread deletes all records of a partition that nobody reads.
func (e *Embedded) DeleteUnread(topic string, partition int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if info := e.cluster.PartitionInfo(topic, partition); info != nil && e.read[place{topic, partition}] == nil {
		_ = e.cluster.DeleteRecords(topic, partition, info.HighWatermark)
	}
}

// Sink is a cluster that keeps nothing: what it holds for readers is the same batch again and again.
type Sink struct {
	Topic       string `json:"topic"`
	Partitions  int32  `json:"partitions"`
	RecordBytes int    `json:"record_bytes"` // of the records for readers
}

// StartSink starts a sink of one broker.
func StartSink(s Sink) (*Embedded, error) {
	return start("a sink", kfake.NumBrokers(1), kfake.SeedTopics(s.Partitions, s.Topic), kfake.BlackholeProduce(),
		kfake.SyntheticFetch(kfake.SyntheticBatch{RecordBytes: s.RecordBytes}))
}
