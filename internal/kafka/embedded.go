package kafka

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/stats"
)

// embeddedBrokers is how many brokers the embedded cluster plays: enough for a
// replication factor of 3. They are one goroutine.
const embeddedBrokers = 3

// Embedded is a Kafka cluster inside the process, franz-go's kfake, on loopback
// ports.
type Embedded struct{ cluster *kfake.Cluster }

// StartEmbedded starts it. Where nobody reads it checks the batches it gets and
// forgets them, so it needs the same memory however long it runs. Where somebody
// does it keeps them until a RecordDeleter deletes them.
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

// EmbeddedSegment is the segment.bytes of a topic that a RecordDeleter works on: only
// whole segments can be deleted.
const EmbeddedSegment = 1 << 20

// Addrs are the addresses to bootstrap from.
func (e *Embedded) Addrs() []string { return e.cluster.ListenAddrs() }

// Close stops it.
func (e *Embedded) Close() { e.cluster.Close() }

// RecordDeleter deletes the records that all readers have read, so that the embedded
// cluster's memory holds the unread ones and little more.
type RecordDeleter struct {
	embedded *Embedded
	consumer *Consumer
	deleting sync.WaitGroup
}

var _ engine.Source = (*RecordDeleter)(nil)

// RecordDeleter returns the one for the topics that the consumer reads.
func (e *Embedded) RecordDeleter(c *Consumer) *RecordDeleter {
	return &RecordDeleter{embedded: e, consumer: c}
}

// deleteEvery is the time between two deletions: at 50,000 records of 512 bytes a second, 6 MiB
// come in between.
const deleteEvery = 250 * time.Millisecond

// Start begins to delete.
func (d *RecordDeleter) Start(ctx context.Context, _ func() time.Duration) {
	d.deleting.Go(func() { every(ctx, deleteEvery, d.deleteRead) })
}

// Wait returns when nothing is deleted any more.
func (d *RecordDeleter) Wait() { d.deleting.Wait() }

func (d *RecordDeleter) deleteRead() {
	at := d.consumer.at
	d.consumer.layout.each(func(topic string, partition, number int32) {
		read := at.groups[0].next[number].Load()
		for g := range at.groups {
			read = min(read, at.groups[g].next[number].Load())
		}
		_ = d.embedded.cluster.DeleteRecords(topic, partition, read) // the topic may be gone at the end of the run
	})
}

// Take has nothing to tell.
func (d *RecordDeleter) Take() stats.Window { return stats.Window{} }
