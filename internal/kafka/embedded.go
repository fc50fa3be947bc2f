package kafka

import (
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kfake"
)

// embeddedBrokers is how many brokers the embedded cluster plays: enough for a
// replication factor of 3. They are one goroutine.
const embeddedBrokers = 3

// Embedded is a Kafka cluster inside the process, franz-go's kfake, on loopback
// ports.
type Embedded struct{ cluster *kfake.Cluster }

// StartEmbedded starts it. Where nobody reads it checks the batches it gets and
// forgets them, so it needs the same memory however long it runs. Where somebody
// does it keeps them until DeleteRecords.
func StartEmbedded(read bool) (*Embedded, error) {
	opts := []kfake.Opt{
		kfake.NumBrokers(embeddedBrokers),
		kfake.WithLogger(kfake.BasicLogger(io.Discard, kfake.LogLevelNone)),
	}
	if !read {
		opts = append(opts, kfake.BlackholeProduce())
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	return &Embedded{cluster: c}, nil
}

// EmbeddedSegment is the segment.bytes of a topic whose records are deleted: only whole
// segments can be.
const EmbeddedSegment = 1 << 20

// Addrs are the addresses to bootstrap from.
func (e *Embedded) Addrs() []string { return e.cluster.ListenAddrs() }

// Close stops it.
func (e *Embedded) Close() { e.cluster.Close() }

// DeleteRecords deletes the records of a partition below an offset.
func (e *Embedded) DeleteRecords(topic string, partition int32, below int64) {
	_ = e.cluster.DeleteRecords(topic, partition, below) // the topic may be gone at the end of the run
}
