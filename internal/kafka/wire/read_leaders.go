package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kt-bench/kt/internal/kafka/reading"
)

// followLeaders looks up leaders whenever they may have changed, until ctx ends.
func (r *reader) followLeaders(ctx context.Context) {
	for unknown := 0; ; pause(ctx, r.backoff) { // times in a row that a topic was not known
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

// followAgain asks for the leaders to be looked up.
func (r *reader) followAgain() {
	select {
	case r.stale <- struct{}{}:
	default: // it was asked for already
	}
}

// lookUp asks any broker for the leaders, and reports whether all partitions have one. What a broker says of a leader
// before the newest that is known is old.
func (r *reader) lookUp(ctx context.Context) (all bool, err error) {
	topics, err := kadm.NewClient(r.client).ListTopics(ctx, r.Layout.Names()...)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all = true
	for _, p := range r.partitions {
		t := topics[p.topic]
		if reading.Fatal(t.Err) {
			return false, fmt.Errorf("topic %s: %w", p.topic, t.Err)
		}
		l, ok := t.Partitions[p.id]
		if !ok || l.Leader < 0 || l.LeaderEpoch >= 0 && l.LeaderEpoch < p.leaderEpoch {
			all = all && p.leader >= 0
			continue
		}
		p.leader, p.leaderEpoch = l.Leader, l.LeaderEpoch
		if p.topicID == (kadm.TopicID{}) {
			p.topicID = t.ID // once: a topic that was created again is another one
		}
		if !r.fetchers[p.leader] {
			r.fetchers[p.leader] = true
			r.all.Go(func() { r.fetch(ctx, l.Leader) })
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
