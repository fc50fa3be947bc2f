package engine

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

// Driver makes the workers that carry the load.
type Driver interface {
	// Open returns the worker of one shard, ready to take records. With Shard.Record the worker counts
	// data other than outcomes, such as requests and batches of each broker.
	Open(ctx context.Context, s *Shard) (Worker, error)
	// Acked returns, by partition, the offset after the newest acknowledged record that
	// carries a stamp. Any goroutine may ask.
	Acked() []int64
	// Lanes returns all stamped records that were written, and their outcomes. It is called
	// when the load is over.
	Lanes() []ledger.Lane
}

// Worker carries the records of one shard.
type Worker interface {
	// OpRecords returns the most records of one op, 1 or more. It is asked once. Ops have
	// as many as are due when there is room for them.
	OpRecords() int
	// Do takes one op, sets its Bytes and must not wait for its outcome. The worker reports the outcome by
	// calling Acknowledge or Fail on the Op exactly once, from any goroutine. waited reports
	// whether the broker held it up before it took the op, as by a commit of a transaction.
	Do(op *Op) (waited bool)
	// Place returns the partition of an op that was given up, -1 if it is not known. It is called only
	// after an answer to another op.
	Place(op *Op) (partition int32)
	// Flush returns when every op taken has its outcome, or ctx ends.
	Flush(ctx context.Context) error
	// Close gives up open ops and frees the worker.
	Close() error
}

// ReadDriver makes the readers of a run.
type ReadDriver interface {
	// OpenReader returns the reader of one shard. If the run also sends, all readers are ready when the
	// last one is returned. ctx is that of the run: when it ends, the reader must not wait.
	OpenReader(ctx context.Context, s *Shard) (Reader, error)
	// SetEndOffsets looks up the partitions' current end offsets. Reading is over there.
	SetEndOffsets(ctx context.Context) error
	// AtEndOffsets reports whether everything up to the end offsets was read. Any
	// goroutine may ask. It is false before SetEndOffsets.
	AtEndOffsets() bool
	// Progress returns a number that grows while batches are decompressed, and while other processes read
	// partitions of the same groups, as far as is known. Any goroutine may ask.
	Progress() int64
	// Readers returns the stamped records that were read, for each group. It is called when
	// the load is over, of a plan with Verify. The error names the logs that are not known:
	// their records count as unchecked.
	Readers(ctx context.Context) ([]*ledger.Reader, error)
}

// Reader reads the records of one shard. Its methods are called one after the other.
type Reader interface {
	// Read waits for records until ctx ends, or for patience if that is not 0. It reports
	// to the shard when they have arrived (Shard.Working), counts at most limit of them in
	// it, and returns their number. After an error, nothing can be read any more. ctx is
	// the same each time: it ends with that of the run, or when reading is over.
	Read(ctx context.Context, limit int, patience time.Duration) (int, error)
	// Flush waits for commits that are on their way, and counts their outcomes. The ctx of
	// Read has ended. Commits without an outcome soon after, or when ctx ends, are given
	// up. ctx is that of the run.
	Flush(ctx context.Context)
	// Close frees the reader.
	Close() error
}

// Drivers are the drivers of a plan: Send if it writes, Read if it reads.
type Drivers struct {
	Send Driver
	Read ReadDriver
}

// Source finds events and states beside the load, of the cluster for instance. Its
// windows hold no records.
type Source interface {
	// Start begins to look, until ctx ends. now is the time since the start of the
	// run.
	Start(ctx context.Context, now func() time.Duration)
	// Take returns the findings since the last call. It must not wait.
	Take() stats.Window
	// Wait waits until all goroutines of the source have ended. ctx has ended before.
	Wait()
}

// Sink takes the windows of a run. Observe is called once a second, from one
// goroutine, with the windows of that second: one for each phase that had
// something to count, warm-up first. It must not change a window. While it is
// slow, windows are merged, so that none is lost and the run goes on.
type Sink interface {
	Observe(windows []stats.Window)
}
