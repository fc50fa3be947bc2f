package driver

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Producer is the driver that writes.
type Producer struct{ *writing.State }

var _ engine.Driver = (*Producer)(nil)

// Open makes a client that is connected and, with idempotence, has its producer id, so that neither is timed.
func (p *Producer) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	h := writing.NewHooks(s, p.Settings)
	opts := append(p.Settings.Options(), kgo.WithHooks(h))
	number, all := p.Plan.Shard(s.Index)
	id := p.Settings.TransactionalID()
	if id != "" && all > 1 {
		// Two producers with one id would fence each other, whichever process they are in.
		id = fmt.Sprintf("%s-%d", id, number)
		opts = append(opts, kgo.TransactionalID(id))
	}
	var stamps *stamper
	if p.Plan.Payload.Stamp {
		stamps = newStamper(p, s)
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	client, err := p.Cluster.ClientOver(h.Over, opts...)
	if err != nil {
		return nil, err
	}
	w := &worker{
		stamps: stamps, client: client, shard: s, hooks: h, headers: writing.RecordHeaders(p.Plan.Payload.Headers), turns: p.Turns(s.Index),
		generator: p.generator(s.Index), txn: transaction{every: p.Plan.Load.Transaction.Std()}, running: ctx,
	}
	if w.targets = p.Targets(); stamps != nil && w.turns != nil {
		w.stampers = make([]*stamper, len(w.targets))
	}
	if err := w.ready(ctx, p.Settings.Idempotent(), id); err != nil {
		client.Close()
		return nil, err
	}
	return w, nil
}

func (p *Producer) generator(index int) *payload.Generator {
	number, all := p.Plan.Shard(index)
	return p.Values.Generator(p.Plan, number, all)
}

const openTimeout = 30 * time.Second

type worker struct {
	client    *kgo.Client
	shard     *engine.Shard
	hooks     *writing.Hooks
	headers   []kgo.RecordHeader
	generator *payload.Generator
	stamps    *stamper // of the first target; nil: records carry none
	targets   []writing.Target
	turns     *plan.Turns // among the targets; nil: there is one
	stampers  []*stamper  // of several targets; nil before the first record
	txn       transaction
	running   context.Context // ends with the run: a commit in the middle of it must not outlast it
}

func (w *worker) ready(ctx context.Context, idempotent bool, transactional string) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := w.client.Ping(ctx); err != nil {
		return fmt.Errorf("connect: %w", kafka.Closed(err))
	}
	if !idempotent {
		return nil
	}
	switch _, _, err := w.client.ProducerID(ctx); {
	case err != nil && transactional != "":
		return fmt.Errorf("get a producer id for transactional.id %s: %w", transactional, err)
	case err != nil:
		return fmt.Errorf("get a producer id: %w", kafka.Closed(err))
	}
	return nil
}

// record is the worker's state of an Op. It is small, because up to 50,000 of them are in use.
type record struct {
	kgo.Record
	memory payload.Memory
	done   func(*kgo.Record, error)
	seq    int64           // in its stamp
	target *writing.Target // its topic; nil: the only one of the run
}

// OpRecords returns 1: an application hands its records over one by one.
func (w *worker) OpRecords() int { return 1 }

// Place returns the partition that the client has chosen. After the first answer the client knows the topic, and chooses within
// Do.
func (w *worker) Place(op *engine.Op) int32 { return op.State.(*record).number() }

// number returns the number of the record's partition: of one topic, the id of the partition. It is inlined, as Target.Number is not:
// it stands in the way of every outcome.
func (r *record) number() int32 {
	if r.target == nil {
		return r.Partition
	}
	return r.target.Number(r.Partition)
}

// turn gives a record its topic, and returns the stamper of that.
func (w *worker) turn(r *record) *stamper {
	i := w.turns.Next()
	r.target = &w.targets[i]
	r.Topic, r.Partition = r.target.Name, 0
	if w.stamps == nil {
		return nil
	}
	if w.stampers[i] == nil {
		w.stampers[i] = w.stamps.of(w.shard, r.target)
	}
	return w.stampers[i]
}

func (w *worker) newRecord(op *engine.Op) *record {
	r := &record{}
	r.Topic = w.targets[0].Name
	if w.targets[0].First > 0 {
		r.target = &w.targets[0] // the only one of several topics with a partition of this process
	}
	r.Headers = w.headers
	r.done = func(_ *kgo.Record, err error) {
		seq, partition, offset := r.seq, r.number(), r.Offset // the record may be sent again below
		counted := false
		if w.stamps != nil {
			w.stamps.outcomes.Lock()
			defer w.stamps.outcomes.Unlock()
		}
		if err != nil {
			counted = op.Fail(partition, kafka.ErrorCode(err))
		} else {
			counted = op.Acknowledge(partition, time.Duration(w.hooks.Answered.Load()))
		}
		if counted && w.stamps != nil {
			w.stamps.outcomes.Settle(w.stamps.account, partition, seq, 1, offset, err == nil)
		}
	}
	op.State = r
	return r
}

// Do gives one record to the client. The client never blocks here, because the engine bounds the outstanding records.
func (w *worker) Do(op *engine.Op) (waited bool) {
	r, ok := op.State.(*record)
	if !ok {
		r = w.newRecord(op)
	}
	if w.txn.every > 0 {
		if waited = w.turnTransaction(op); waited {
			op.Sent = w.shard.Now()
		}
	}
	r.Key, r.Value = w.generator.Fill(&r.memory, op.Index)
	r.Timestamp = op.Wall
	stamps := w.stamps
	if w.turns != nil {
		stamps = w.turn(r)
	}
	if stamps != nil {
		r.Partition = stamps.choose(r.Key, len(r.Value))
		r.seq, r.Timestamp = stamps.put(r.Value, r.Key, r.Partition, op)
	}
	op.Bytes, op.Busiest = len(r.Key)+len(r.Value), w.generator.Busiest(r.Key)
	w.client.Produce(context.Background(), &r.Record, r.done)
	return waited
}

// Flush waits until the client has an outcome for every record. It commits the open transaction, because readers of committed
// records would wait for its timeout.
func (w *worker) Flush(ctx context.Context) error {
	if w.txn.open {
		w.commit(ctx)
	}
	return w.client.Flush(ctx)
}

// Close closes the client. Records without an outcome fail.
func (w *worker) Close() error {
	w.client.Close()
	return nil
}

type transaction struct {
	every time.Duration // 0: no transactions
	open  bool
	began time.Duration
}

const abortTimeout = 5 * time.Second

// turnTransaction commits the open transaction at the end of its time and begins the next. It reports whether it waited.
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

// commit commits the open transaction, or aborts it when that fails: readers of committed records never see its records.
func (w *worker) commit(ctx context.Context) {
	err := w.client.Flush(ctx)
	if err == nil {
		err = w.client.EndTransaction(ctx, kgo.TryCommit)
	}
	if w.stamps != nil {
		w.stamps.outcomes.Lock()
		w.stamps.account.EndTransaction(err == nil)
		w.stamps.outcomes.Unlock()
	}
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

// PipelineRecords returns the number of outstanding records that keeps one producer's requests in flight full: for each
// partition two batches in each request, of which one is being filled. More records would only wait longer: 50,000 instead of
// 4,096 cost 40 % more CPU a record, because they do not stay in the processor's cache, and brought no throughput.
func PipelineRecords(s javaconf.Producer, partitions int, meanBytes float64) int {
	const least = 4096 // else a small pipeline runs dry while the sender is not scheduled
	perBatch := max(1, float64(s.BatchTarget())/max(1, meanBytes))
	return int(min(math.MaxInt32, max(least, 2*float64(s.MaxInFlight())*float64(partitions)*perBatch)))
}
