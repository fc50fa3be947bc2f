package wire

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

type worker struct {
	driver  *Producer
	shard   *engine.Shard
	hooks   *writing.Hooks
	pool    *pool
	clients []*kgo.Client // with a connection to each broker; the first one asks for leaders and producer ids too
	leaders *leaders
	refs    *references
	ctx     context.Context // until Close
	cancel  context.CancelFunc

	linger, delivery time.Duration
	retries          int64
	backoff          func(fails int) time.Duration

	// Of records that are encoded one by one.
	generator *payload.Generator
	memory    payload.Memory
	headers   []byte // encoded
	headerSum uint32

	outcomes   *writing.Account
	accounts   []*ledger.Producer // by number of the producer id; none: nobody accounts for the records
	identities []identity         // the same: as its lanes begin

	mu       sync.Mutex // guards the rest, and the queues of the lanes
	idle     sync.Cond  // a lane has nothing to do
	topics   []topic
	turns    *plan.Turns // among the topics
	lanes    []*lane     // by producer id and partition, see lane; nil before its first batch
	busy     int         // lanes
	open     *batch      // it takes records; nil: there is none
	opened   *lane       // that of open
	timer    *time.Timer
	spare    []*batch
	template int
	brokers  map[int32]*brokerQueue // by broker
	round    int64                  // number of the newest request
	rounds   []int64                // by partition: the newest request that holds a batch of it
}

// OpRecords returns the number of records of a full batch. At a rate it is a fraction of it, that of opSpan or less.
func (w *worker) OpRecords() int {
	full := w.pool.full
	p := &w.driver.Plan
	if p.Load.Rate.IsUnlimited() {
		return full
	}
	n := max(1, int(p.RecordsPerSecond()/float64(p.Producers)*opSpan.Seconds()))
	return max(1, full/((full+n-1)/n))
}

// opSpan is the time in which records of an op fall due: how much too high a latency may be.
const opSpan = 500 * time.Microsecond

// Place returns the partition of an op.
func (w *worker) Place(op *engine.Op) int32 { return op.State.(*lane).partition }

// Do puts an op into the open batch, and into a new one if it has no room. The batch goes when it is full or has waited for
// linger.ms.
func (w *worker) Do(op *engine.Op) (waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != nil && w.open.records+op.Records > w.pool.full {
		w.seal()
	}
	if w.open == nil {
		w.begin(op)
	}
	b := w.open
	op.State = w.opened
	first := int64(0)
	if account := w.opened.account; account != nil {
		first = account.Next(w.opened.partition, int64(op.Records))
	}
	if b.records == 0 {
		b.first = first
	}
	if w.driver.each {
		w.append(b, op, first)
	} else {
		t := &w.pool.templates[b.template]
		op.Bytes, op.Busiest = sumOf(t.bytes, b.records, op.Records), sumOf(t.busiest, b.records, op.Records)
	}
	b.ops = append(b.ops, op)
	b.records += op.Records
	if b.records == w.pool.full || w.linger == 0 && !w.opened.busy {
		w.seal()
	}
	return false
}

func (w *worker) begin(op *engine.Op) {
	b := &batch{}
	if n := len(w.spare); n > 0 {
		b, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	wall := op.Wall.UnixMilli()
	*b = batch{ops: b.ops[:0], encoded: b.encoded[:0], opened: op.Sent, times: times{wall, wall}, template: w.template}
	w.open, w.opened = b, w.next()
	w.template++
	if w.template >= len(w.pool.templates) {
		w.template = 0
	}
	if w.linger > 0 && op.Records < w.pool.full {
		if w.timer == nil {
			w.timer = time.AfterFunc(w.linger, w.lingered)
		} else {
			w.timer.Reset(w.linger)
		}
	}
}

// topic is a topic that a worker writes to.
type topic struct {
	*writing.Target
	turn int // the lane that has its turn
}

// next returns the lane of the next batch. The topics take turns, and in each its lanes. One whose broker is slow loses its turn.
func (w *worker) next() *lane {
	t := &w.topics[w.turns.Next()]
	t.turn++
	for range len(t.Own) * len(w.identities) {
		if l := w.lane(t); len(l.queue) < passOver {
			return l
		}
		t.turn++
	}
	return w.lane(t)
}

// lane returns the lane that has its turn. All partitions have it with one producer id, and then with the next.
func (w *worker) lane(t *topic) *lane {
	id := t.turn / len(t.Own) % len(w.identities)
	partition := t.First + t.Own[t.turn%len(t.Own)]
	number := id*len(w.rounds) + int(partition)
	l := w.lanes[number]
	if l == nil {
		l = &lane{w: w, number: number, topic: t.Target, partition: partition, identity: w.identities[id]}
		if len(w.accounts) > 0 {
			l.account = w.accounts[id]
		}
		w.lanes[number] = l
	}
	return l
}

// passOver is the number of waiting batches at which a lane loses its turn.
const passOver = 2

// append encodes the records of an op behind those of a batch. The first one has that number in the lane.
func (w *worker) append(b *batch, op *engine.Op, first int64) {
	op.Bytes, op.Busiest = 0, 0
	for i := range op.Records {
		key, value := w.generator.Fill(&w.memory, op.Index+int64(i))
		millis := b.times.first
		if w.driver.Plan.Payload.Stamp {
			stamp := ledger.Stamp{
				Run: w.driver.Run, Seq: first + int64(i), Due: w.shard.Started().UnixNano() + int64(op.Due),
				Producer: w.opened.account.Number(), Partition: w.opened.partition, Warmup: op.Warmup(),
			}
			stamp.Put(value, ledger.Around{Key: key, Headers: w.headerSum})
			millis = stamp.Time().UnixMilli()
			if b.records+i == 0 {
				b.times = times{millis, millis}
			}
			b.times.last = max(b.times.last, millis)
		}
		b.encoded = format.AppendRecord(b.encoded, b.records+i, millis-b.times.first, key, value, w.headers)
		op.Bytes += len(key) + len(value)
		op.Busiest += w.generator.Busiest(key)
	}
}

func (w *worker) lingered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		return
	}
	if left := w.open.opened + w.linger - w.shard.Now(); left > 0 {
		w.timer.Reset(left) // it was opened since
		return
	}
	w.seal()
}

// seal gives the open batch to its lane. The caller holds mu.
func (w *worker) seal() {
	l := w.opened
	l.queue = append(l.queue, w.open)
	w.open, w.opened = nil, nil
	if !l.busy {
		w.offer(l)
	}
}

func (w *worker) encode(b *batch) encoded {
	b.size = w.sizeOf(b) - format.HeadSize
	switch {
	case !w.driver.each:
		return w.pool.batch(b.template, b.records)
	case w.pool.compressor != nil:
		return w.pool.compress(b.encoded)
	}
	return encode(b.encoded, 0)
}

func (w *worker) sizeOf(b *batch) int {
	if w.driver.each {
		return format.HeadSize + len(b.encoded)
	}
	return format.HeadSize + int(w.pool.templates[b.template].ends[b.records-1])
}

// Flush sends the open batch, and waits until every batch has its outcome.
func (w *worker) Flush(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.idle.Broadcast()
	})()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open != nil {
		w.seal()
	}
	for w.busy > 0 && ctx.Err() == nil {
		w.idle.Wait()
	}
	return ctx.Err()
}

// Close ends the requests on their way and closes the connections. Records without an outcome have none.
func (w *worker) Close() error {
	w.cancel()
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.open = nil
	for w.busy > 0 {
		w.idle.Wait()
	}
	w.mu.Unlock()
	w.disconnect()
	return nil
}
