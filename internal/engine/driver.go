package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

// Driver makes the workers that carry the load.
type Driver interface {
	// Open returns the worker of one shard, ready to take records. Several are opened at once. With Shard.Record the worker counts
	// data other than outcomes, such as requests and batches of each broker.
	Open(ctx context.Context, s *Shard) (Worker, error)
	// Acked returns, by partition, the offset after the newest acknowledged record that
	// carries a stamp. Any goroutine may ask.
	Acked() []int64
	// Lanes returns all stamped records that were written so far, and every outcome that was counted before the call. It is called
	// each second of the load, beside outcomes, and when the load is over.
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
	// OpenReader returns the reader of one shard. Several are opened at once, begun in order. If the run also sends, all
	// readers are ready when the last one is returned. ctx is that of the run: when it ends, the reader must not wait.
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

// Op is some records that are handed to a worker together and have one outcome. Worker.OpRecords bounds their
// number. All have the phase of the first. Ops are reused, and a worker may keep its own data in State.
type Op struct {
	Index   int64         // the first record's number in its shard, from 0
	Records int           // 1 or more
	Due     time.Duration // when the first record should go, from the start of the run
	LastDue time.Duration // the same of the last one
	Sent    time.Duration // when it was handed to the worker; a worker that waits first sets it again
	Wall    time.Time     // Sent on the wall clock, for the records' timestamps
	Bytes   int           // of keys and values, set by the worker
	Busiest int           // records with the busiest key, set by the worker where keys have a Zipf law
	State   any           // the worker's own, kept while the Op is reused

	shard       *Shard
	waits       time.Duration // since when its first record has waited; guarded by the shard's mu
	phase       int8
	outstanding bool
}

// Warmup reports whether the records are part of the warm-up.
func (o *Op) Warmup() bool { return o.phase == stats.Warmup }

// Acknowledge reports that the broker took the records. at is the time of its answer, from the start of the
// run. counted is false if the op already has its outcome.
func (o *Op) Acknowledge(partition int32, at time.Duration) (counted bool) {
	s := o.shard
	s.mu.Lock()
	if counted = o.outstanding; counted {
		at = max(at, o.Sent) // an answer is not before its record
		if at != s.answered {
			s.run.answered(s, o, partition, at)
		}
		s.recovered(partition, at)
		s.rec.Acknowledged(int(o.phase), int64(o.Records), partition, o.Bytes, at-o.Sent, at-o.Due, at)
		s.rec.Window(int(o.phase)).BusiestKey += int64(o.Busiest)
		s.free(o)
	}
	s.mu.Unlock()
	return counted
}

// Fail reports that the records were given up, with the name of a Kafka error code, or "client:…" if the client
// gave up by itself. A negative partition is not known. counted is as for Acknowledge.
func (o *Op) Fail(partition int32, code string) (counted bool) {
	s := o.shard
	at := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.outstanding {
		return false
	}
	s.rec.Failed(int(o.phase), int64(o.Records), code)
	s.run.refused(s, o, partition, code, at)
	s.free(o)
	s.run.backlog.failed.Add(int64(o.Records))
	if s.run.plan.Load.OneAtATime {
		s.run.readers.arrived(o.Records) // no reader will ever get them
	}
	return true
}

// Options are the limits of a run. The zero value of each has the default that
// its comment gives.
type Options struct {
	Stop    <-chan struct{} // closed: stop sending, drain, and finish; nil: never
	Until   <-chan struct{} // closed: a load that only reads ends when it has read what is there then; nil: never
	Rates   <-chan float64  // new target rates of this process, in records a second; nil: it does not change
	Sources []Source

	BufferBytes   int64         // most bytes waiting for acks in each shard: 32 MiB
	BufferRecords int           // most records waiting for acks in each shard: 50,000
	MaxBlock      time.Duration // longest wait for room before a record fails: 60 s
	DrainTimeout  time.Duration // longest wait for outstanding acks at the end: 120 s
	StopTimeout   time.Duration // the same after Stop: 10 s

	// Ready is called when every worker is open. The load begins when it returns nil, and never after
	// an error. nil: the load begins at once.
	Ready func(ctx context.Context) error

	// NewSleeper is called by each sender. It returns what sleeps, for 60 µs to 20 ms at a time, and what frees that. How much too
	// long it sleeps is own send delay. nil: time.Sleep, on Linux up to 1.1 ms too long.
	NewSleeper func() (sleep func(time.Duration), end func() error)

	// Rows returns the key of a partition's row in stats.Window.Partitions, 0 or more. Several partitions may share one. It is called
	// for each outcome, from any goroutine. nil: the number of the partition. Events name partitions by number in any case.
	Rows func(partition int32) int32

	Started func()  // called when the load begins; may be nil
	Status  *Status // updated during the run; may be nil
}

// DefaultBufferRecords keeps kt's memory bounded for tiny records, of which 32 MiB would hold millions.
const DefaultBufferRecords = 50_000

// withDefaults fills in what is zero. Bytes and waits are those of Kafka's Java client (buffer.memory, max.block.ms,
// delivery.timeout.ms).
func (o Options) withDefaults() Options {
	o.BufferBytes = cmp.Or(o.BufferBytes, 32<<20)
	o.BufferRecords = cmp.Or(o.BufferRecords, DefaultBufferRecords)
	o.MaxBlock = cmp.Or(o.MaxBlock, 60*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 120*time.Second)
	o.StopTimeout = cmp.Or(o.StopTimeout, 10*time.Second)
	o.Status = cmp.Or(o.Status, new(Status))
	if o.NewSleeper == nil {
		o.NewSleeper = func() (func(time.Duration), func() error) { return time.Sleep, func() error { return nil } }
	}
	return o
}
