package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/stats"
)

// Who the controller is, the metadata of a KRaft cluster does not tell: its brokers
// name one of those that are alive, drawn by lot for each answer (Kafka 4.3.1: six
// answers within a second named all three brokers). The truth is the leader of the
// metadata quorum: a broker that is asked for it passes the question on to the
// controller. So a controller that ends is found to be replaced within a second or
// two; one that only hangs, not before the broker gives up on it, which takes up to
// 30 s (controller.socket.timeout.ms). Where there is no quorum, with ZooKeeper or
// in other implementations, the metadata is right.

const (
	// quorumInterval is between two questions about the quorum, of all brokers
	// together: a broker passes them on to the controller.
	quorumInterval = time.Second

	// quorumTimeout is longer than watchTimeout: while there is no controller, the
	// broker keeps the question until there is.
	quorumTimeout = 3 * time.Second

	// quorumKey is the API key of the question.
	quorumKey = 55
)

var errNoQuorum = errors.New("the brokers do not know of a quorum")

// controller is the one that is known; id is -1 before.
type controller struct{ id, epoch int32 }

// is takes note of the controller and returns the event that it is another one.
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

// lookForController takes the controller that the metadata names. The brokers hear
// of a new one at different moments: it counts when all that answer agree.
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
		w.emit(e)
	}
}

// followQuorum asks for the leader of the metadata quorum. It has a connection of
// its own, for a broker answers the questions of one connection in turn.
func (w *Brokers) followQuorum(ctx context.Context, now func() time.Duration) {
	known := controller{id: -1}
	q := quorum{make: w.client}
	defer q.close()
	round := time.NewTicker(quorumInterval)
	defer round.Stop()
	for failures := 0; ; {
		w.mu.Lock()
		answering := w.answering
		w.mu.Unlock()
		if len(answering) > 0 {
			leader, epoch, err := q.leader(ctx, answering[failures%len(answering)])
			switch {
			case errors.Is(err, errNoQuorum):
				w.noQuorum.Store(true)
				return
			case errors.Is(err, kerr.ClusterAuthorizationFailed):
				return // nobody may tell us, so we cannot tell either
			case err != nil:
				failures++ // another broker, then
			default:
				if e, moved := known.is(leader, epoch, now()); moved {
					w.emit(e)
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

// quorum asks one broker after the other.
type quorum struct {
	make    func(addr string) (*kgo.Client, error)
	addr    string
	client  *kgo.Client // nil at first
	offered bool        // the broker knows the question
}

// leader asks the broker at addr.
func (q *quorum) leader(ctx context.Context, addr string) (id, epoch int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	if q.client == nil || q.addr != addr {
		q.close()
		if q.client, err = q.make(addr); err != nil {
			return 0, 0, err
		}
		q.addr, q.offered = addr, false
	}
	broker := q.client.SeedBrokers()[0]
	if !q.offered {
		if err := offersQuorum(ctx, broker); err != nil {
			return 0, 0, err
		}
		q.offered = true
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	answer, err := req.RequestWith(ctx, broker)
	if err != nil {
		return 0, 0, err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return 0, 0, err
	}
	if len(answer.Topics) == 0 || len(answer.Topics[0].Partitions) == 0 {
		return 0, 0, kerr.UnknownTopicOrPartition
	}
	p := answer.Topics[0].Partitions[0]
	return p.LeaderID, p.LeaderEpoch, kerr.ErrorForCode(p.ErrorCode)
}

// offersQuorum returns errNoQuorum when a broker does not know of a
// quorum.
func offersQuorum(ctx context.Context, broker *kgo.Broker) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kt", "1" // a broker refuses empty ones
	answer, err := req.RequestWith(ctx, broker)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(answer.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == quorumKey }) {
		return errNoQuorum
	}
	return nil
}

func (q *quorum) close() {
	if q.client != nil {
		q.client.Close()
	}
}
