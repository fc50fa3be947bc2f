package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// commit commits what was read, where the plan wants that after each poll, or where
// other processes wait to hear that a partition was read to its end.
func (r *fetcher) commit(ctx context.Context) {
	defer func() { r.done = false }()
	ctx, forget := r.outlive(ctx)
	from := r.shard.Now()
	switch r.driver.Plan.Read.Commit {
	case plan.CommitAuto:
		if r.done && !r.driver.at.groups[r.group].ownsAll() {
			_ = r.client.CommitUncommittedOffsets(ctx) // the client does it again in a while
		}
	case plan.CommitSync:
		err := r.client.CommitUncommittedOffsets(ctx)
		r.committed(r.shard.Now()-from, err)
	case plan.CommitAsync:
		r.commits.Add(1)
		r.client.CommitOffsets(ctx, r.client.UncommittedOffsets(), func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			defer r.commits.Done()
			defer forget()
			r.committed(r.shard.Now()-from, errors.Join(err, refusedOffset(answer)))
		})
		return
	}
	forget()
}

// outlive is what a commit runs with: reading may be over while it is on its way, as
// when another consumer has read the last record. A broker then has closeTimeout to
// answer.
func (r *fetcher) outlive(reading context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.living)
	stop := context.AfterFunc(reading, func() { time.AfterFunc(closeTimeout, cancel) })
	return ctx, func() { stop(); cancel() }
}

// Flush waits for the commits that are on their way. One that is not answered counts as
// an error: it may have been made or not.
func (r *fetcher) Flush() { r.commits.Wait() }

// refusedOffset is why a partition's offset was not committed, nil where all were.
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
			rec.FetchFailed(phase, "commit:"+errorCode(err))
			return
		}
		rec.OffsetsCommitted(phase, took)
	})
}

// Close leaves the group. It does not wait long for brokers that are away.
func (r *fetcher) Close() error {
	if r.client == nil {
		return nil
	}
	defer r.end()
	late := time.AfterFunc(closeTimeout, r.end)
	defer late.Stop()
	if r.driver.Plan.Read.Commit == plan.CommitAuto {
		_ = r.client.CommitUncommittedOffsets(r.living) // or the next reader of the group reads them again
	}
	r.client.Close()
	return nil
}

// closeTimeout is how long the commits of the last polls may take when reading is over,
// and how long the client's own last one and leaving the group may take together.
const closeTimeout = 2 * time.Second
