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
// does it keeps them until a Trimmer takes them away.
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

// EmbeddedSegment is the segment.bytes of a topic that a Trimmer works on: it can
// only take whole segments away.
const EmbeddedSegment = 1 << 20

// Addrs are the addresses to bootstrap from.
func (e *Embedded) Addrs() []string { return e.cluster.ListenAddrs() }

// Close stops it.
func (e *Embedded) Close() { e.cluster.Close() }

// Trimmer takes away what all readers have read, so that the embedded cluster's
// memory holds the consumer lag and little more.
type Trimmer struct {
	embedded *Embedded
	consumer *Consumer
	trimming sync.WaitGroup
}

var _ engine.Source = (*Trimmer)(nil)

// Trimmer is the one for the topics that the consumer reads.
func (e *Embedded) Trimmer(c *Consumer) *Trimmer { return &Trimmer{embedded: e, consumer: c} }

// trimEvery is how often that is done: at 50,000 records of 512 bytes a second, 6 MiB
// come in between.
const trimEvery = 250 * time.Millisecond

// Start begins to take away.
func (t *Trimmer) Start(ctx context.Context, _ func() time.Duration) {
	t.trimming.Go(func() { every(ctx, trimEvery, t.trim) })
}

// Wait returns when nothing is taken away any more.
func (t *Trimmer) Wait() { t.trimming.Wait() }

func (t *Trimmer) trim() {
	at := t.consumer.at
	t.consumer.layout.each(func(topic string, partition, number int32) {
		read := at.groups[0].next[number].Load()
		for g := range at.groups {
			read = min(read, at.groups[g].next[number].Load())
		}
		_ = t.embedded.cluster.DeleteRecords(topic, partition, read) // the topic may be gone at the end of the run
	})
}

// Take has nothing to tell.
func (t *Trimmer) Take() stats.Window { return stats.Window{} }
