package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

func (c *chunk) counted() bool { return len(c.bytes) == 0 && c.left == 0 }

type counting struct {
	*reader
	*chunk
	rec     *stats.Recorder
	phase   int
	now     time.Duration
	started int64       // of the run, in nanoseconds since 1970
	log     *ledger.Log // nil: nothing is verified
	headers bool        // the log is told of batches, and not of records
	stamp   ledger.Stamp
	n       int
	bytes   int
}

func (r *reader) take(c *chunk, limit int, now time.Duration) (n int, err error) {
	number, at := c.partition.number, r.At.Groups[r.group].At(c.partition.number)
	if !c.cut {
		r.Passed(r.group, number, min(c.start, c.next))
	}
	var log *ledger.Log
	if r.Books != nil {
		log = r.Books[r.group].Log(number)
		if c.cut {
			log.Cut()
			c.cut = false
		}
		log.Lock()
		defer log.Unlock()
	}
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		k := counting{
			reader: r, chunk: c, rec: rec, phase: phase, now: now, log: log, headers: log != nil && r.byHeaders(),
			started: r.shard.Started().UnixNano(),
		}
		if err = k.run(limit); k.n > 0 {
			rec.Consumed(phase, number, k.n, k.bytes, now)
		}
		n = k.n
	})
	at.Read(n, c.next)
	for _, p := range c.passed {
		r.PassOver(r.shard, c.partition.topic, c.partition.id, p.from, p.to)
	}
	c.passed = nil
	if err != nil {
		err = fmt.Errorf("partition %d of topic %s: offset %d: %w", c.partition.id, c.partition.topic, c.next, err)
	}
	return n, err
}

func (k *counting) run(limit int) error {
	for k.n < limit && !k.counted() {
		if k.left == 0 {
			if err := k.begin(); err != nil {
				return err
			}
		}
		if err := k.batch(limit); err != nil {
			return err
		}
	}
	return nil
}

// begin begins the next batch. A batch without records to count has none left then.
func (k *counting) begin() (err error) {
	whole := k.chunk.bytes
	b, rest, _, err := format.Cut(whole)
	if k.chunk.bytes = rest; b == nil {
		return err // the batch was cut off, and the next fetch begins with it
	}
	if k.headers && !b.Intact() {
		next, ok := b.Behind(rest)
		if !ok {
			next = k.reach
		}
		if next > k.next { // it is passed over
			k.rec.FetchFailed(k.phase, "CORRUPT_MESSAGE")
			k.verify(b, max(k.next, b.Base()), next, false)
			k.next = next
		}
		return nil
	}
	if !b.Sane() {
		return format.ErrMalformed
	}
	if b.Next() <= k.next {
		return nil // only its records before the position could be asked for
	}
	if !k.headers && k.Settings.Bool("check.crcs") && !b.Intact() {
		k.rec.FetchFailed(k.phase, "CORRUPT_MESSAGE")
		return fmt.Errorf("the checksum of a record batch does not fit (base offset %d, %d bytes)", b.Base(), len(b))
	}
	k.records = b[format.HeadSize:]
	switch attributes := b.Attributes(); {
	case attributes&format.ControlBit != 0:
		k.aborts.marker(b)
	case attributes&format.TransactionalBit != 0 && k.aborts.has(b):
	default:
		if codec := attributes & format.CodecBits; codec != 0 {
			k.records, err = k.room().Decompress(k.records, kgo.CompressionCodecType(codec))
			switch {
			case errors.Is(err, kgo.ErrMaxDecompress): // it is too large to read
				p := span{max(k.next, b.Base()), b.Next()}
				k.passed = append(k.passed, p)
				if k.log != nil {
					k.log.PassOver(p.from, p.to)
				}
				k.next = p.to
				return nil
			case errors.Is(err, reading.ErrBusy):
				k.chunk.bytes = whole
				return err
			case err != nil:
				return fmt.Errorf("decompress a record batch: %w", err)
			}
		}
		k.begun, k.from, k.left = b, k.next, b.Count()
		k.rec.Broker(k.phase, k.broker).Fetch.Batch(k.left, len(k.records), len(b)-format.HeadSize)
		if k.headers {
			read := ofLedger(b, true)
			k.log.AddValues(&read, k.next, valuesOf(b.Base(), k.records, k.left))
		}
	}
	if k.left == 0 {
		k.next = b.Next()
	}
	return nil
}

type span struct{ from, to int64 }

func (k *counting) batch(limit int) error {
	if k.left == 0 {
		return nil
	}
	if k.from <= k.begun.Base() && k.left <= limit-k.n && !k.looks() {
		bytes, ok := tally(k.records, k.left)
		if !ok {
			return format.ErrMalformed
		}
		k.n, k.bytes, k.left = k.n+k.left, k.bytes+bytes, 0
	}
	if k.headers {
		defer func(b format.Batch, from int64) { k.verify(b, from, k.next, true) }(k.begun, max(k.next, k.begun.Base()))
	}
	var r format.Record
	for k.left > 0 && k.n < limit {
		var ok bool
		if k.records, ok = format.CutRecord(k.records, &r); !ok {
			return format.ErrMalformed
		}
		k.left--
		if r.Offset += k.begun.Base(); r.Offset < k.from {
			continue
		}
		k.next = max(k.next, min(r.Offset+1, k.begun.Next()))
		k.n++
		k.bytes += len(r.Key) + len(r.Value)
		k.look(&r)
	}
	if k.left == 0 {
		k.next = k.begun.Next()
		k.begun, k.records = nil, nil
	}
	return nil
}

// looks reports whether each record of the batch has to be looked at. Of other runs, the first record of a batch decides.
func (k *counting) looks() bool {
	if k.headers {
		return false
	}
	if k.log != nil || k.Run != 0 {
		return true
	}
	var first format.Record
	_, ok := format.CutRecord(k.records, &first)
	return ok && ledger.PeekStamp(first.Value, &k.stamp)
}

func (k *counting) look(r *format.Record) {
	if k.headers {
		return
	}
	if k.log == nil {
		if ledger.PeekStamp(r.Value, &k.stamp) {
			k.EndToEnd(k.rec, k.phase, &k.stamp, k.started, k.now)
		}
		return
	}
	read := ledger.Record{
		Offset: r.Offset, Epoch: k.begun.Epoch(), Value: r.Value, Millis: -1,
		Around: ledger.Around{Key: r.Key, Headers: headerSum(r.Headers)},
	}
	if k.begun.Attributes()&format.AppendTimeBit == 0 {
		read.Millis = k.begun.Timestamp() + r.Timestamp
	} else {
		read.Arrived = k.begun.MaxTime() * int64(time.Millisecond)
	}
	if k.log.Mirror() {
		read.EachHeader = format.Headers(r.Headers)
		if read.Arrived == 0 && r.Offset >= k.known {
			read.Arrived = k.started + int64(k.now)
		}
	}
	if k.log.Add(&read, &k.stamp) == ledger.Stamped {
		k.EndToEnd(k.rec, k.phase, &k.stamp, k.started, k.now)
	}
}

func (k *counting) verify(b format.Batch, from, to int64, intact bool) {
	if from >= to {
		return
	}
	read := ofLedger(b, intact)
	k.log.AddBatch(&read, from, to)
}

func ofLedger(b format.Batch, intact bool) ledger.Batch {
	return ledger.Batch{
		Offset: b.Base(), Records: int64(b.Count()), Whole: b.Next()-b.Base() == int64(b.Count()), Intact: intact, Epoch: b.Epoch(),
		ProducerID: b.Producer(), ProducerEpoch: int16(binary.BigEndian.Uint16(b[format.AtProducer+8:])), Sequence: b.Sequence(), Millis: b.Timestamp(),
	}
}

// valuesOf returns the offsets and values of n records. It ends at one that is malformed.
func valuesOf(base int64, records []byte, n int) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		var r format.Record
		var ok bool
		for ; n > 0; n-- {
			if records, ok = format.CutRecord(records, &r); !ok || !yield(base+r.Offset, r.Value) {
				return
			}
		}
	}
}

// headerSum returns the checksum of headers that a stamp covers. Malformed ones end it.
func headerSum(b []byte) (sum uint32) {
	for key, value := range format.Headers(b) {
		sum = ledger.AddHeader(sum, string(key), value)
	}
	return sum
}

// aborts are the first offsets of aborted transactions in an answer, by producer. A marker in the log ends each.
type aborts map[int64][]int64

func newAborts(all []kmsg.FetchResponseTopicPartitionAbortedTransaction) aborts {
	if len(all) == 0 {
		return nil
	}
	a := make(aborts)
	for _, t := range all {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, firsts := range a {
		slices.Sort(firsts) // not every broker sorts them
	}
	return a
}

func (a aborts) has(b format.Batch) bool {
	firsts := a[b.Producer()]
	return len(firsts) > 0 && b.Base() >= firsts[0]
}

func (a aborts) marker(b format.Batch) {
	const abort = 0
	var r format.Record
	if firsts := a[b.Producer()]; len(firsts) > 0 {
		if _, ok := format.CutRecord(b[format.HeadSize:], &r); ok && len(r.Key) >= 4 && binary.BigEndian.Uint16(r.Key[2:]) == abort {
			a[b.Producer()] = firsts[1:]
		}
	}
}
