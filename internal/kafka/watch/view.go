package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// view is the newest known state of the partitions. An answer counts for a partition
//
//   - when its leader epoch is higher than the known one: other brokers do not know the new
//     leader yet;
//   - at the known epoch, when it comes from the leader: replicas fall out of sync and return
//     without a new epoch, and the leader decides that;
//   - at the known epoch, from any broker, while there is no leader or it does not answer.
//
// So the answers of a broker with old metadata change nothing, and the state does not flap
// between two of them.
type view struct {
	partitions map[int32]*partitionView
	missing    int // replicas that are not in sync
}

type partitionView struct {
	topic         string
	id            int32 // in the topic
	leader, epoch int32 // epoch -1: none was known yet, or the brokers are too old to report it
	known         bool
	replicas, isr []int32

	next *kmsg.MetadataResponseTopicPartition // nil: none counts
	by   *answer
}

type change struct {
	kind   stats.EventKind
	broker int32
	to     int32
}

// update takes the answers of a round, sorted by broker, and returns the changes as events.
func (v *view) update(answers []answer, topics *kafka.Layout, answering func(broker int32) bool) []stats.Event {
	for i := range answers {
		a := &answers[i]
		for j := range a.metadata.Topics {
			t := &a.metadata.Topics[j]
			if t.ErrorCode != 0 || t.Topic == nil {
				continue
			}
			for k := range t.Partitions {
				if number := topics.Number(*t.Topic, t.Partitions[k].Partition); number >= 0 {
					v.consider(*t.Topic, number, a, &t.Partitions[k], answering)
				}
			}
		}
	}
	changes := make(map[change]*stats.Event)
	before, last := v.missing, time.Duration(0)
	for number, p := range v.partitions {
		if p.next != nil && !p.is(p.next) {
			v.missing -= p.missing()
			p.adopt(number, changes)
			v.missing += p.missing()
			last = max(last, p.by.at)
		}
		p.next, p.by = nil, nil
	}
	var events []stats.Event
	for c, e := range changes {
		slices.Sort(e.Partitions)
		e.Kind, e.Broker, e.To, e.Count = c.kind, c.broker, c.to, len(e.Partitions)
		e.Partitions = slices.Clone(e.Partitions[:min(e.Count, stats.MaxEventPartitions)])
		e.Text = c.text(e.Count)
		events = append(events, *e)
	}
	if before > 0 && v.missing == 0 {
		// A nanosecond after its cause, because events at one time have no order.
		events = append(events, stats.Event{At: last + 1, Kind: stats.InSync, Broker: -1, To: -1, Text: "all replicas are in sync again"})
	}
	slices.SortFunc(events, func(a, b stats.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.To, b.To))
	})
	return events
}

func (v *view) consider(topic string, number int32, a *answer, said *kmsg.MetadataResponseTopicPartition, answering func(int32) bool) {
	if len(said.Replicas) == 0 {
		return // the answer is only an error
	}
	p := v.partitions[number]
	if p == nil {
		p = &partitionView{topic: topic, id: said.Partition, leader: -1, epoch: -1}
		v.partitions[number] = p
	}
	switch {
	case said.LeaderEpoch < p.epoch:
		return
	case said.LeaderEpoch == p.epoch && p.leader >= 0 && p.leader != a.broker && answering(p.leader):
		return
	}
	if p.next == nil || said.LeaderEpoch > p.next.LeaderEpoch || said.LeaderEpoch == p.next.LeaderEpoch && said.Leader == a.broker {
		p.next, p.by = said, a
	}
}

func (p *partitionView) is(said *kmsg.MetadataResponseTopicPartition) bool {
	return p.known && p.leader == said.Leader && p.epoch == said.LeaderEpoch &&
		slices.Equal(p.isr, said.ISR) && slices.Equal(p.replicas, said.Replicas)
}

func (p *partitionView) adopt(number int32, changes map[change]*stats.Event) {
	note := func(c change) {
		e := changes[c]
		if e == nil {
			e = &stats.Event{At: p.by.at}
			changes[c] = e
		}
		e.At = min(e.At, p.by.at)
		e.Partitions = append(e.Partitions, number)
	}
	if p.known {
		switch {
		case p.next.Leader == p.leader:
		case p.next.Leader < 0:
			note(change{stats.LeaderLost, p.leader, -1})
		default:
			note(change{stats.LeaderMoved, p.leader, p.next.Leader})
		}
		for _, r := range p.isr {
			if !slices.Contains(p.next.ISR, r) && slices.Contains(p.next.Replicas, r) {
				note(change{stats.ISRShrank, r, -1})
			}
		}
		for _, r := range p.next.ISR {
			if !slices.Contains(p.isr, r) {
				note(change{stats.ISRGrew, r, -1})
			}
		}
	}
	p.known, p.leader, p.epoch, p.replicas, p.isr = true, p.next.Leader, p.next.LeaderEpoch, p.next.Replicas, p.next.ISR
}

func (p *partitionView) missing() int {
	n := 0
	for _, r := range p.replicas {
		if !slices.Contains(p.isr, r) {
			n++
		}
	}
	return n
}

func (c change) text(n int) string {
	partitions := theme.Plural(n, "partition", "partitions")
	switch c.kind {
	case stats.LeaderLost:
		return fmt.Sprintf("no leader for %s that broker %d led", partitions, c.broker)
	case stats.LeaderMoved:
		if c.broker < 0 {
			return fmt.Sprintf("broker %d leads %s that had no leader", c.to, partitions)
		}
		return fmt.Sprintf("leader of %s moved from broker %d to %d", partitions, c.broker, c.to)
	case stats.ISRShrank:
		return fmt.Sprintf("broker %d out of sync in %s", c.broker, partitions)
	default:
		return fmt.Sprintf("broker %d in sync again in %s", c.broker, partitions)
	}
}

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
	// quorumInterval is the time between two requests to the quorum, which brokers pass on to the controller.
	quorumInterval = time.Second

	// quorumTimeout is longer than watchTimeout: a broker keeps the request while there is no controller.
	quorumTimeout = 3 * time.Second
)

// ErrNoQuorum is the error of a broker that does not know of a quorum, as with ZooKeeper.
var ErrNoQuorum = errors.New("the brokers do not know of a quorum")

type controller struct{ id, epoch int32 }

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

// lookForController takes the controller from the metadata, when all brokers that answer agree.
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

// followQuorum asks for the leader of the metadata quorum, over a connection of its own.
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

// QuorumLeader asks a broker for the controller of a KRaft cluster: the leader of the metadata quorum. It returns ErrNoQuorum
// if the broker does not know the request.
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
