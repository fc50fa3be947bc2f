package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
)

// leaders knows who leads the partitions of some topics. Brokers disagree for a while after a change: the highest epoch wins.
type leaders struct {
	client *kgo.Client
	layout *kafka.Layout

	asking sync.Mutex // held while the brokers are asked, which takes long in an outage
	asked  time.Time  // when the newest question was sent; guarded by asking

	mu    sync.Mutex // guards the rest; never held during a request
	ids   map[string][16]byte
	names map[[16]byte]string // also by the ids of before
	of    map[int32]leader    // by partition number
}

type leader struct {
	broker int32 // -1: nobody, or not known
	epoch  int32 // -1: not known
}

func newLeaders(c *kgo.Client, layout *kafka.Layout) *leaders {
	return &leaders{client: c, layout: layout, ids: make(map[string][16]byte), names: make(map[[16]byte]string), of: make(map[int32]leader)}
}

func (l *leaders) leader(number int32) leader {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at(number)
}

func (l *leaders) at(number int32) leader {
	if of, known := l.of[number]; known {
		return of
	}
	return leader{-1, -1}
}

func (l *leaders) topicID(topic string) [16]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[topic]
}

func (l *leaders) topicName(id [16]byte) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names[id]
}

// hear notes what a broker says of the leader of a partition. It reports false for an epoch that is too low.
func (l *leaders) hear(number int32, of leader) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.epoch >= 0 && of.epoch < l.at(number).epoch {
		return false
	}
	l.of[number] = of
	return true
}

// forget takes the leader from a partition until a broker names one of the same epoch or a later one.
func (l *leaders) forget(number int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[number] = leader{-1, l.at(number).epoch}
}

// ask asks any broker, unless a question was sent after since. Its error is that of the request, or of the first such topic.
func (l *leaders) ask(ctx context.Context, since time.Time) error {
	l.asking.Lock()
	defer l.asking.Unlock()
	if l.asked.After(since) {
		return nil
	}
	l.asked = time.Now()
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range l.layout.Names() {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, topic)
	}
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return err
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || l.layout.Number(*t.Topic, 0) < 0 {
			continue
		}
		if refused := kerr.ErrorForCode(t.ErrorCode); refused == nil {
			l.learn(*t.Topic, t)
		} else if err == nil {
			err = fmt.Errorf("topic %s: %w", *t.Topic, refused)
		}
	}
	return err
}

// learn notes what an answer says of a topic. Epochs of a topic that was made anew begin again.
func (l *leaders) learn(topic string, said *kmsg.MetadataResponseTopic) {
	l.mu.Lock()
	anew := said.TopicID != l.ids[topic] && said.TopicID != [16]byte{} // none: of a broker before Kafka 2.8
	if anew {
		l.ids[topic], l.names[said.TopicID] = said.TopicID, topic
	}
	l.mu.Unlock()
	for _, p := range said.Partitions {
		number := l.layout.Number(topic, p.Partition) // the topic may have grown
		if !l.hear(number, leader{p.Leader, p.LeaderEpoch}) && anew {
			l.mu.Lock()
			l.of[number] = leader{p.Leader, p.LeaderEpoch}
			l.mu.Unlock()
		}
	}
}

func (r *reader) followLeaders(ctx context.Context) {
	for unknown := 0; ; kafka.Pause(ctx, r.backoff) { // times in a row that a topic was not known
		select {
		case <-ctx.Done():
			return
		case <-r.stale:
		}
		all, err := r.lookUp(ctx)
		if unknown++; !errors.Is(err, kerr.UnknownTopicOrPartition) {
			unknown = 0
		}
		if err != nil && r.refused(err) != nil && (unknown == 0 || unknown == maxUnknown) {
			select {
			case r.answers <- &fetched{err: err}:
			case <-ctx.Done():
			}
			return
		}
		if !all {
			r.followAgain()
		}
	}
}

func (r *reader) followAgain() {
	select {
	case r.stale <- struct{}{}:
	default: // it was asked for already
	}
}

func (r *reader) lookUp(ctx context.Context) (all bool, err error) {
	err = r.leaders.ask(ctx, time.Now())
	var refused *kerr.Error
	if err != nil && (!errors.As(err, &refused) || reading.Fatal(err)) {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all = true
	for _, p := range r.partitions {
		if p.topicID == [16]byte{} {
			p.topicID = r.leaders.topicID(p.topic) // once: a topic that was created again is another one
		}
		leader := r.leaders.leader(p.number).broker
		if leader < 0 {
			all = false
			continue
		}
		if !r.fetchers[leader] {
			r.fetchers[leader] = true
			r.all.Go(func() { r.fetch(ctx, leader) })
		}
	}
	r.wake()
	return all, nil
}

// wake lets the fetchers without partitions look for some. The caller holds mu.
func (r *reader) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}
