package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka/reading"
)

// followLeaders looks up leaders whenever they may have changed, until ctx ends.
func (r *reader) followLeaders(ctx context.Context) {
	unknown := 0 // times in a row that a topic was not known
	for {
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
		pause(ctx, r.backoff)
	}
}

// followAgain asks for the leaders to be looked up.
func (r *reader) followAgain() {
	select {
	case r.stale <- struct{}{}:
	default: // it was asked for already
	}
}

// lookUp asks any broker for the leaders, and reports whether all partitions have one.
func (r *reader) lookUp(ctx context.Context) (all bool, err error) {
	req := kmsg.NewPtrMetadataRequest()
	topics := make(map[string]*topic)
	for _, p := range r.partitions {
		if topics[p.topic.name] == nil {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(p.topic.name)
			req.Topics = append(req.Topics, t)
		}
		topics[p.topic.name] = p.topic
	}
	res, err := req.RequestWith(ctx, r.client)
	if err != nil {
		return false, err
	}
	leaders := make(map[int32]*kmsg.MetadataResponseTopicPartition)
	for i := range res.Topics {
		t := &res.Topics[i]
		if t.Topic == nil || topics[*t.Topic] == nil {
			continue
		}
		if bad := kerr.ErrorForCode(t.ErrorCode); bad != nil && reading.Fatal(bad) {
			return false, fmt.Errorf("topic %s: %w", *t.Topic, bad)
		}
		if known := topics[*t.Topic]; known.id == [16]byte{} {
			r.mu.Lock()
			known.id = t.TopicID // once: a topic that was created again is another one
			r.mu.Unlock()
		}
		for j := range t.Partitions {
			leaders[r.Layout.Base[*t.Topic]+t.Partitions[j].Partition] = &t.Partitions[j]
		}
	}
	return r.lead(ctx, leaders), nil
}

// lead takes over leaders, and reports whether all partitions have one. A broker that has not
// heard of the newest leader says nothing new.
func (r *reader) lead(ctx context.Context, leaders map[int32]*kmsg.MetadataResponseTopicPartition) (all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = true
	for _, p := range r.partitions {
		l := leaders[p.number]
		if l == nil || l.Leader < 0 || l.LeaderEpoch >= 0 && l.LeaderEpoch < p.leaderEpoch {
			all = all && p.leader >= 0
			continue
		}
		p.leader, p.leaderEpoch = l.Leader, l.LeaderEpoch
		if look := r.fetchers[p.leader]; look == nil {
			look = make(chan struct{}, 1)
			r.fetchers[p.leader] = look
			r.all.Go(func() { r.fetch(ctx, l.Leader, look) })
		}
		r.lookAgain(p.leader)
	}
	return all
}

// lookAgain lets the goroutine of a broker look for partitions. The caller holds mu.
func (r *reader) lookAgain(broker int32) {
	if look := r.fetchers[broker]; look != nil {
		select {
		case look <- struct{}{}:
		default: // it will look anyway
		}
	}
}
