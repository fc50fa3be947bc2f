package wire

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaders knows who leads the partitions of a topic, as one client has heard.
type leaders struct {
	client *kgo.Client
	topic  string

	mu    sync.Mutex // guards the rest
	id    [16]byte   // of the topic
	of    []int32    // by partition; -1: nobody
	asked time.Time  // when the brokers were asked last
}

// leader returns the leader of a partition, -1 if there is none.
func (l *leaders) leader(partition int32) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int(partition) >= len(l.of) {
		return -1
	}
	return l.of[partition]
}

// topicID returns the id of the topic.
func (l *leaders) topicID() [16]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id
}

// moved notes what a broker has said: another one leads the partition.
func (l *leaders) moved(partition, to int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int(partition) < len(l.of) {
		l.of[partition] = to
	}
}

// ask asks the brokers again, unless another lane has done so since.
func (l *leaders) ask(ctx context.Context, since time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked.After(since) {
		return nil
	}
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(l.topic)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return err
	}
	l.asked = time.Now()
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return err
		}
		l.id = t.TopicID
		for _, p := range t.Partitions {
			for int(p.Partition) >= len(l.of) {
				l.of = append(l.of, -1)
			}
			l.of[p.Partition] = p.Leader
		}
	}
	return nil
}
