package driver

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/stats"
)

// transaction is the state of a transactional producer.
type transaction struct {
	every time.Duration // 0: no transactions
	open  bool
	began time.Duration
}

// abortTimeout is how long it may take to abort a transaction.
const abortTimeout = 5 * time.Second

// turnTransaction commits the open transaction at the end of its time and begins the next. It
// reports whether it waited for the commit.
func (w *worker) turnTransaction(op *engine.Op) (waited bool) {
	t := &w.txn
	if t.open && op.Sent-t.began >= t.every {
		w.commit(w.running)
		waited = true
	}
	if !t.open {
		// If it fails, every record fails with an error code of its own.
		if err := w.client.BeginTransaction(); err == nil {
			t.open, t.began = true, w.shard.Now()
		}
	}
	return waited
}

// commit commits the open transaction, or aborts it when that fails. Readers of committed
// records never see those of an aborted transaction, although they were acknowledged. So it is
// counted as aborted, and the run as failed.
func (w *worker) commit(ctx context.Context) {
	err := w.client.Flush(ctx)
	if err == nil {
		err = w.client.EndTransaction(ctx, kgo.TryCommit)
	}
	w.stamps.endTransaction(err == nil)
	if err != nil {
		w.abort()
		return
	}
	w.txn.open = false
	w.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Transactions++ })
}

// abort aborts the open transaction. Records in it that the client still holds fail.
func (w *worker) abort() {
	w.txn.open = false
	w.shard.Record(func(rec *stats.Recorder, phase int) { rec.Window(phase).Aborted++ })
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	if err := w.client.AbortBufferedRecords(ctx); err != nil {
		return // the broker aborts it at transaction.timeout.ms
	}
	_ = w.client.EndTransaction(ctx, kgo.TryAbort) // the same
}
