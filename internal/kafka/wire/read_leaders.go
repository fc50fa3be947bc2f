package wire

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
)

// followLeaders looks up leaders whenever they may have changed, until ctx ends.
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

// followAgain asks for the leaders to be looked up.
func (r *reader) followAgain() {
	select {
	case r.stale <- struct{}{}:
	default: // it was asked for already
	}
}

// lookUp asks any broker for the leaders, and reports whether all partitions have one.
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
