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
// ports. It checks the batches it gets and forgets them, so it needs the same
// memory however long it runs.
type Embedded struct{ cluster *kfake.Cluster }

// StartEmbedded starts it.
func StartEmbedded() (*Embedded, error) {
	c, err := kfake.NewCluster(
		kfake.NumBrokers(embeddedBrokers),
		kfake.BlackholeProduce(),
		kfake.WithLogger(kfake.BasicLogger(io.Discard, kfake.LogLevelNone)),
	)
	if err != nil {
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	return &Embedded{cluster: c}, nil
}

// Addrs are the addresses to bootstrap from.
func (e *Embedded) Addrs() []string { return e.cluster.ListenAddrs() }

// Close stops it.
func (e *Embedded) Close() { e.cluster.Close() }
