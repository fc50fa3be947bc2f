package kafka

import (
	"math"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
)

// stamper gives the records of one producer their partitions and their stamps. A
// stamp holds the record's number within its partition, so the partition must be
// known before the client gets the record: kt chooses it as the client would, by
// the key, or for as many bytes as fill a batch.
type stamper struct {
	run        uint64
	account    *ledger.Producer
	number     uint16
	shard      *engine.Shard
	byKey      kgo.TopicPartitioner
	partitions int32
	batch      int // bytes after which another partition has its turn
	most       int // outstanding batches above which a partition is passed over

	acked []atomic.Int64 // by partition: the offset after the newest acknowledged record

	partition int32 // that has its turn
	filled    int   // bytes of it
}

// passOver is how many batches of a partition may be outstanding, beside those that
// its requests in flight can hold, before others have its turn: a partition whose
// leader is away must not hold up the rest. Java's client does likewise (KIP-794).
const passOver = 2

func newStamper(p *Producer, s *engine.Shard) *stamper {
	return &stamper{
		run: p.Run, account: ledger.NewProducer(uint16(s.Index)), number: uint16(s.Index), shard: s,
		byKey:      kgo.StickyKeyPartitioner(nil).ForTopic(p.Plan.Topic.Name),
		partitions: int32(p.Partitions), batch: p.Settings.BatchSize(),
		most:      p.Settings.MaxInFlight() + passOver,
		partition: int32(s.Index % p.Partitions),
		acked:     make([]atomic.Int64, p.Partitions),
	}
}

// put chooses the record's partition and writes its stamp.
func (t *stamper) put(r *record, op *engine.Op) {
	if r.Key != nil {
		r.Partition = int32(t.byKey.Partition(&r.Record, int(t.partitions)))
	} else {
		r.Partition = t.turn(len(r.Value))
	}
	r.seq = t.account.Next(r.Partition)
	stamp := ledger.Stamp{
		Run: t.run, Seq: r.seq, Due: t.shard.Started().UnixNano() + int64(op.Due), Producer: t.number,
		Partition: r.Partition, Warmup: op.Warmup(),
	}
	stamp.Put(r.Value)
}

// turn is the partition whose turn it is.
func (t *stamper) turn(bytes int) int32 {
	if t.filled > 0 && t.filled+bytes > t.batch {
		t.filled = 0
		most := int64(t.most) * int64(math.Ceil(float64(t.batch)/float64(max(1, bytes))))
		next := (t.partition + 1) % t.partitions
		for range t.partitions {
			if t.account.Outstanding(next) <= most {
				break
			}
			next = (next + 1) % t.partitions
		}
		t.partition = next
	}
	t.filled += bytes
	return t.partition
}

// settle takes the outcome of a record.
func (t *stamper) settle(r *record, err error) {
	if err != nil {
		t.account.Failed(r.Partition, r.seq)
		return
	}
	t.account.Acknowledged(r.Partition, r.seq, r.Offset)
	if next := r.Offset + 1; next > t.acked[r.Partition].Load() {
		t.acked[r.Partition].Store(next)
	}
}

// endTransaction notes whether the records since the last one can be read.
func (t *stamper) endTransaction(committed bool) {
	if t != nil {
		t.account.EndTransaction(committed)
	}
}
