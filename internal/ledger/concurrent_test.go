package ledger

import (
	"sync"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// put makes the value of a record of run 1.
func put(producer uint16, partition int32, seq int64) []byte {
	value := make([]byte, StampSize+8)
	(&Stamp{Run: 1, Seq: seq, Due: 1000 * seq, Producer: producer, Partition: partition}).Put(value, Around{})
	return value
}

// at is a record that was read at an offset, with a timestamp of the broker's.
func at(offset int64, epoch int32, value []byte) *Record {
	return &Record{Offset: offset, Epoch: epoch, Value: value, Millis: -1}
}

func TestTheGoroutinesOfAProducerDoNotMeet(t *testing.T) {
	p := NewProducer(0)
	type sent struct {
		partition int32
		seq       int64
	}
	const partitions, records = 300, 30_000
	answers := make(chan sent, 1000)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(answers)
		for i := range int32(records) {
			partition := i * i % partitions
			answers <- sent{partition, p.Next(partition, 1)}
		}
	})
	wg.Go(func() {
		defer close(done)
		for s := range answers {
			p.Acknowledged(s.partition, s.seq, 1, s.seq)
		}
	})
	wg.Go(func() {
		for i := int32(0); ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if n := p.Outstanding(i % partitions); n < 0 {
				t.Errorf("%d outstanding", n)
			}
		}
	})
	wg.Wait()
	var n int64
	for _, l := range p.Lanes(new(sync.Mutex)) {
		n += l.Acknowledged.Count()
		must.True(t, l.Unknown() == 0 && p.Outstanding(l.Partition) == 0, "partition %d: %d unknown, %d outstanding", l.Partition, l.Unknown(), p.Outstanding(l.Partition))
	}
	must.Match(t, records, n, "acknowledged")
}

func TestConsumersMayHandAPartitionOver(t *testing.T) {
	r := NewReader(&Book{Run: 1})
	const consumers, records, chunk = 4, 4000, 10
	var next int64 // of the group: what is committed
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range consumers {
		wg.Go(func() {
			for {
				mu.Lock()
				from := next
				l := r.Log(0)
				l.Lock()
				for seq := from; seq < from+chunk; seq++ {
					l.Add(at(seq, 0, put(0, 0, seq)), new(Stamp))
				}
				l.Unlock()
				next = from + chunk - from%3 // the next owner goes back a little
				mu.Unlock()
				if from > records {
					return
				}
			}
		})
	}
	wg.Wait()
	v := new(Book).Verify(r)
	must.True(t, v.Checked >= records && v.Redelivered != 0 && v.Duplicated+v.Reordered <= 0, "%+v", v)
}

// Readers of a repartitioned mirror account for records of each other's partitions, while somebody compares.
func TestTheReadersOfARepartitionedMirrorDoNotMeet(t *testing.T) {
	const partitions, records = 4, 5000
	b := &Book{Run: 1, Topics: []BookTopic{{Name: "t", Partitions: partitions}}, Idempotent: true}
	for p := range int32(partitions) {
		b.Lanes = append(b.Lanes, Lane{Partition: p, Issued: records, Acknowledged: Ranges{{0, records, 0}}})
	}
	b.OfMirror([]string{"A.t"}, true)
	r := NewReader(b)
	var readers sync.WaitGroup
	for p := range int32(partitions) {
		r.Begin(p, 0)
		readers.Go(func() {
			l := r.Log(p)
			for offset := range int64(records) {
				l.Lock()
				l.Add(at(offset, 0, put(0, (p+int32(offset))%partitions, offset)), new(Stamp))
				l.Unlock()
			}
			r.ReadTo(p, records, records)
		})
	}
	for range 5 {
		b.Verify(r)
	}
	readers.Wait()
	v := b.Verify(r)
	must.Match(t, []int64{partitions * records, 0, 0, 0, 0}, []int64{v.AcknowledgedRead, v.Lost, v.Unchecked, v.Duplicated, v.Reordered}, "read, lost, unchecked, duplicated, reordered")
}

// While outcomes come and transactions end, each copy of the lanes is a book that can be read, and grows.
func TestLanesAreCopiedBesideOutcomes(t *testing.T) {
	p := NewProducer(3)
	p.Transactional()
	var outcomes sync.Mutex
	const partitions, records = 7, 20_000
	sent, done := make(chan int64, 100), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(sent)
		for i := range int64(records) {
			seq := p.Next(int32(i%partitions), 1)
			outcomes.Lock()
			p.Originate(int32(i%partitions), Origin{ID: 7, Sequence: seq, First: seq})
			if i%100 == 99 {
				p.EndTransaction(i%300 != 99)
			}
			outcomes.Unlock()
			sent <- i
		}
	})
	wg.Go(func() {
		defer close(done)
		for i := range sent {
			outcomes.Lock()
			if i%50 == 0 {
				p.Failed(int32(i%partitions), i/partitions, 1)
			} else {
				p.Acknowledged(int32(i%partitions), i/partitions, 1, i)
			}
			outcomes.Unlock()
		}
	})
	last := int64(0)
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		acknowledged := int64(0)
		for _, l := range p.Lanes(&outcomes) {
			must.Do(t, l.check(partitions))
			acknowledged += l.Acknowledged.Count()
		}
		must.Hold(t, acknowledged >= last, "%d acknowledged, and %d before", acknowledged, last)
		last = acknowledged
	}
	wg.Wait()
	must.Match(t, records-records/50, last, "acknowledged")
}
