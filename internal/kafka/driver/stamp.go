package driver

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
)

// stamper gives the records of one producer in one topic their partitions and their stamps. The partition must be known before the
// client gets the record, so it is chosen as the client would.
type stamper struct {
	run        uint64
	account    *ledger.Producer
	number     uint16
	shard      *engine.Shard
	headers    uint32 // checksum of the headers that every record has
	outcomes   *writing.Account
	byKey      kgo.TopicPartitioner // as the client does
	keyed      kgo.Record           // for byKey
	ignoreKeys bool                 // partitioner.ignore.keys
	adaptive   bool                 // partitioner.adaptive.partitioning.enable
	first      int32                // number of the topic's first partition in the Layout
	partitions []int32              // those that this process writes to, by their ids
	batch      int                  // bytes for one partition before the next has its turn
	most       int                  // outstanding batches above which a partition is passed over

	at     int // index of the partition that has its turn
	filled int // bytes of it
}

// passOver is how many batches above those in flight cost a partition its turn, as with Java's client (KIP-794).
const passOver = 2

func newStamper(p *Producer, s *engine.Shard) *stamper {
	t := &stamper{
		run: p.Run, account: ledger.NewProducer(uint16(s.Index)), number: uint16(s.Index), shard: s,
		byKey:      kgo.StickyKeyPartitioner(nil).ForTopic(""), // of no topic: for keys it keeps nothing, and it takes 5 KiB
		headers:    reading.HeaderSum(writing.RecordHeaders(p.Plan.Payload.Headers)),
		ignoreKeys: p.Settings.Bool("partitioner.ignore.keys"),
		adaptive:   p.Settings.Bool("partitioner.adaptive.partitioning.enable"),
		batch:      p.Settings.BatchSize(),
		most:       p.Settings.MaxInFlight() + passOver,
	}
	if p.Plan.Load.Transaction > 0 {
		t.account.Transactional()
	}
	t.outcomes = p.State.Open(t.account)
	if p.Settings.RoundRobin() {
		t.ignoreKeys, t.adaptive, t.batch = true, false, 0 // each record has the next partition
	}
	return t.of(s, &p.Targets()[0])
}

// of returns a stamper of the same producer for another topic.
func (t *stamper) of(s *engine.Shard, to *writing.Target) *stamper {
	of := *t
	of.first, of.partitions = to.First, to.Own
	of.at, of.filled = s.Index%len(to.Own), 0
	return &of
}

func (t *stamper) choose(key []byte, bytes int) int32 {
	if key != nil && !t.ignoreKeys {
		t.keyed.Key = key
		return t.partitions[t.byKey.Partition(&t.keyed, len(t.partitions))]
	}
	return t.turn(bytes)
}

// put writes a stamp into the value of a record. It returns the record's number in the partition, and its timestamp.
func (t *stamper) put(value, key []byte, partition int32, op *engine.Op) (seq int64, at time.Time) {
	partition += t.first
	stamp := ledger.Stamp{
		Run: t.run, Seq: t.account.Next(partition, 1), Due: t.shard.Started().UnixNano() + int64(op.Due), Producer: t.number,
		Partition: partition, Warmup: op.Warmup(),
	}
	stamp.Put(value, ledger.Around{Key: key, Headers: t.headers})
	return stamp.Seq, stamp.Time()
}

func (t *stamper) turn(bytes int) int32 {
	if t.filled > 0 && t.filled+bytes > t.batch {
		t.filled = 0
		most := int64(t.most) * int64(math.Ceil(float64(t.batch)/float64(max(1, bytes))))
		t.at = (t.at + 1) % len(t.partitions)
		for range t.partitions {
			if !t.adaptive || t.account.Outstanding(t.first+t.partitions[t.at]) <= most {
				break
			}
			t.at = (t.at + 1) % len(t.partitions)
		}
	}
	t.filled += bytes
	return t.partitions[t.at]
}
