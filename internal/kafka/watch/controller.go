package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/stats"
)

// The metadata of a KRaft cluster does not name the controller: each answer names a random
// live broker (Kafka 4.3.1: six answers within a second named all three brokers). The
// controller is the leader of the metadata quorum, and a broker passes a request for it on to
// the controller.
//
//   - A controller that ends is seen to be replaced within a second or two.
//   - One that hangs is seen only when the broker gives up on it, which takes up to 30 s
//     (controller.socket.timeout.ms).
//   - Without a quorum, with ZooKeeper or in other implementations, the metadata is right.

const (
	// quorumInterval is the time between two requests to the quorum, from all brokers
	// together: a broker passes each on to the controller.
	quorumInterval = time.Second

	// quorumTimeout is longer than watchTimeout, because a broker keeps the request while
	// there is no controller.
	quorumTimeout = 3 * time.Second
)

// ErrNoQuorum is the error of a broker that does not know of a quorum, as with ZooKeeper.
var ErrNoQuorum = errors.New("the brokers do not know of a quorum")

// controller is the known controller; id is -1 while there is none.
type controller struct{ id, epoch int32 }

// is notes the controller, and returns an event if it has moved.
func (c *controller) is(id, epoch int32, at time.Duration) (stats.Event, bool) {
	if id < 0 || epoch < c.epoch {
		return stats.Event{}, false
	}
	before := c.id
	c.id, c.epoch = id, epoch
	return stats.Event{
		At: at, Kind: stats.ControllerMoved, Broker: before, To: id,
		Text: fmt.Sprintf("controller moved from node %d to %d", before, id),
	}, before >= 0 && before != id
}

// lookForController takes the controller from the metadata. Brokers learn of a new one at
// different times, so it counts when all that answer agree.
func (w *Brokers) lookForController() {
	first := w.fresh[0].metadata.ControllerID
	var at time.Duration
	said := make(map[int32]bool)
	for _, a := range w.fresh {
		if a.metadata.ControllerID != first {
			return
		}
		said[a.broker] = true
		at = max(at, a.at)
	}
	for id, b := range w.brokers {
		if b.answers() && !said[id] {
			return
		}
	}
	if e, moved := w.named.is(first, 0, at); moved {
		w.Add(e)
	}
}

// followQuorum asks for the leader of the metadata quorum. It has a connection of its own,
// because a broker answers the requests of one connection in turn.
func (w *Brokers) followQuorum(ctx context.Context, now func() time.Duration) {
	known := controller{id: -1}
	var client *kgo.Client // of the broker at addr
	addr := ""
	defer func() {
		if client != nil {
			client.Close()
		}
	}()
	round := time.NewTicker(quorumInterval)
	defer round.Stop()
	for failures := 0; ; {
		w.mu.Lock()
		answering := w.answering
		w.mu.Unlock()
		if len(answering) > 0 {
			var leader, epoch int32
			var err error
			if next := answering[failures%len(answering)]; next != addr || client == nil {
				if client != nil {
					client.Close()
				}
				addr = next
				client, err = w.client(addr)
			}
			if err == nil {
				leader, epoch, err = QuorumLeader(ctx, client.SeedBrokers()[0])
			}
			switch {
			case errors.Is(err, ErrNoQuorum):
				w.noQuorum.Store(true)
				return
			case errors.Is(err, kerr.ClusterAuthorizationFailed):
				return // kt may not ask, so the controller stays unknown
			case err != nil:
				failures++ // ask another broker
			default:
				if e, moved := known.is(leader, epoch, now()); moved {
					w.Add(e)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-round.C:
		}
	}
}

// QuorumLeader asks a broker for the controller of a KRaft cluster: the leader of the metadata quorum. It returns
// ErrNoQuorum if the broker does not know the request.
func QuorumLeader(ctx context.Context, broker *kgo.Broker) (id, epoch int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	answer, err := req.RequestWith(ctx, broker)
	switch {
	case err != nil && strings.Contains(err.Error(), "broker is too old"): // the client has no type for it
		return 0, 0, ErrNoQuorum
	case err != nil:
		return 0, 0, err
	case answer.ErrorCode != 0:
		return 0, 0, kerr.ErrorForCode(answer.ErrorCode)
	case len(answer.Topics) == 0 || len(answer.Topics[0].Partitions) == 0:
		return 0, 0, kerr.UnknownTopicOrPartition
	}
	p := answer.Topics[0].Partitions[0]
	return p.LeaderID, p.LeaderEpoch, kerr.ErrorForCode(p.ErrorCode)
}
