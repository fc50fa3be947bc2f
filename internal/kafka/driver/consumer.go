package driver

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Consumer is the driver that reads. NewConsumer makes it.
type Consumer struct {
	*reading.State

	waiting atomic.Int64 // clients without partitions yet
	ready   chan struct{}
}

var _ engine.ReadDriver = (*Consumer)(nil)

// NewConsumer returns the driver that reads from a state on.
func NewConsumer(s *reading.State) *Consumer {
	d := &Consumer{State: s, ready: make(chan struct{})}
	d.waiting.Store(int64(s.Plan.Read.Clients()))
	return d
}

// OpenReader makes a reader. Its client connects with the first Read, so that joining a group is part of the run. In a run that
// also sends, the last reader waits until all have their partitions, before the first record is sent.
func (d *Consumer) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	perGroup := d.Plan.Read.Consumers
	r := &fetcher{driver: d, shard: s, group: s.Index / perGroup, member: s.Index % perGroup, running: ctx}
	r.hooks = &fetchHooks{Hooks: reading.Hooks{Shard: s}, from: make(map[kafka.Place]int32)}
	if !d.Plan.Writes() {
		return r, nil
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if s.Index < s.Count-1 || d.Plan.Read.Group == "" {
		return r, nil
	}
	return awaitAll(ctx, r, d.ready, "group "+d.Plan.Read.Group+": no partitions yet")
}

// awaitAll returns the last reader when all are ready. One that waits too long is closed.
func awaitAll(ctx context.Context, last engine.Reader, ready <-chan struct{}, late string) (engine.Reader, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	select {
	case <-ready:
		return last, nil
	case <-ctx.Done():
		_ = last.Close()
		return nil, fmt.Errorf("%s: %w", late, context.Cause(ctx))
	}
}

// commit commits the positions if the plan or other processes want that.
func (r *fetcher) commit(ctx context.Context) {
	defer func() { r.done = false }()
	switch r.driver.Plan.Read.Commit {
	case plan.CommitAuto:
		if r.done && r.driver.At.Groups[r.group].Owned() < r.driver.Layout.Count() {
			_ = r.client.CommitUncommittedOffsets(r.outlive(ctx)) // the client commits again after its interval
		}
	case plan.CommitSync:
		from := r.shard.Now()
		err := r.client.CommitUncommittedOffsets(r.outlive(ctx))
		r.committed(r.shard.Now()-from, err)
	case plan.CommitAsync:
		from := r.shard.Now()
		r.commits.Add(1)
		r.client.CommitOffsets(r.outlive(ctx), r.client.UncommittedOffsets(), func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			defer r.commits.Done()
			r.committed(r.shard.Now()-from, errors.Join(err, refusedOffset(answer)))
		})
	}
}

// outlive returns the context of all commits. When reading is over, the broker has commitTimeout to answer.
func (r *fetcher) outlive(reading context.Context) context.Context {
	if r.committing == nil {
		ctx, giveUp := context.WithCancel(r.running)
		context.AfterFunc(reading, func() { time.AfterFunc(commitTimeout, giveUp) })
		r.committing = ctx
	}
	return r.committing
}

// Flush waits for commits on their way. They end with the ctx of the run. A commit without an answer counts as an error,
// although it may have been made.
func (r *fetcher) Flush(context.Context) { r.commits.Wait() }

// refusedOffset returns the error of the first partition whose offset was not committed.
func refusedOffset(answer *kmsg.OffsetCommitResponse) error {
	if answer == nil {
		return nil
	}
	for _, topic := range answer.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *fetcher) committed(took time.Duration, err error) {
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		if err != nil {
			rec.FetchFailed(phase, "commit:"+kafka.ErrorCode(err))
			return
		}
		w := rec.Window(phase)
		w.Commits++
		w.CommitTime += took
	})
}

// Close leaves the group. It waits at most closeTimeout for brokers that are away.
func (r *fetcher) Close() error {
	if r.client == nil {
		return nil
	}
	defer r.end()
	late := time.AfterFunc(closeTimeout, r.end)
	defer late.Stop()
	if r.driver.Plan.Read.Commit == plan.CommitAuto {
		_ = r.client.CommitUncommittedOffsets(r.living) // else the next reader of the group reads them again
	}
	r.client.Close()
	return nil
}

const (
	// commitTimeout bounds the last commits when reading is over. The run lasts until they end.
	commitTimeout = time.Second
	// closeTimeout bounds the client's own last commit and leaving the group after that.
	closeTimeout = 2 * time.Second
)

const joinGroupKey = 11

type fetchHooks struct {
	reading.Hooks
	joining func()                // called when the client asks to join its group; nil: it has none
	from    map[kafka.Place]int32 // by topic and ID: the broker of the newest batch; the shard's lock guards it
}

var (
	_ kgo.HookBrokerWrite    = (*fetchHooks)(nil)
	_ kgo.HookFetchBatchRead = (*fetchHooks)(nil)
)

// OnBrokerWrite notes that the client joins its group.
func (h *fetchHooks) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == joinGroupKey && err == nil && h.joining != nil {
		h.joining()
	}
}

// OnFetchBatchRead counts a record batch. Its records count when they are polled: it may be the marker of a transaction.
func (h *fetchHooks) OnFetchBatchRead(b kgo.BrokerMetadata, topic string, partition int32, m kgo.FetchBatchMetrics) {
	h.Shard.Record(func(rec *stats.Recorder, phase int) {
		h.from[kafka.Place{Topic: topic, ID: partition}] = b.NodeID
		rec.Broker(phase, b.NodeID).Fetch.Batch(0, m.UncompressedBytes, m.CompressedBytes)
	})
}
