package driver

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
	switch r.driver.Plan.Read.Commit {
	case plan.CommitAuto:
		if r.done && !r.driver.at.Groups[r.group].OwnsAll() {
			_ = r.client.CommitUncommittedOffsets(r.outlive(ctx)) // the client does it again in a while
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

// outlive is what all commits run with: reading may be over while one is on its way, as
// when another consumer has read the last record. A broker then has commitTimeout to
// answer, unless the run ends at once.
func (r *fetcher) outlive(reading context.Context) context.Context {
	if r.committing == nil {
		ctx, giveUp := context.WithCancel(r.running)
		context.AfterFunc(reading, func() { time.AfterFunc(commitTimeout, giveUp) })
		r.committing = ctx
	}
	return r.committing
}

// Flush waits for the commits that are on their way. They end with the run's ctx, which
// is the one that it gets. One that is not answered counts as an error: it may have been
// made or not.
func (r *fetcher) Flush(context.Context) { r.commits.Wait() }

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

const (
	// commitTimeout is how long the commits of the last polls may take when reading is
	// over. The run lasts until then: a part of a load that waits for a broker that hangs
	// must not seem to have run so much longer that others were left behind (result).
	commitTimeout = time.Second
	// closeTimeout is how long the client's own last commit and leaving the group may take
	// together, after that.
	closeTimeout = 2 * time.Second
)
