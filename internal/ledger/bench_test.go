//go:build !race

package ledger

import (
	"encoding/binary"
	"testing"
)

func BenchmarkStampPut(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			value := make([]byte, size.bytes)
			s := Stamp{Run: 1, Producer: 2, Partition: 3}
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				s.Seq++
				s.Put(value, Around{})
			}
		})
	}
}

func BenchmarkReadStamp(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			value := make([]byte, size.bytes)
			s := Stamp{Run: 1, Producer: 2, Partition: 3}
			s.Put(value, Around{})
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				if ReadStamp(value, Around{}, &s) != Stamped {
					b.Fatal("not stamped")
				}
			}
		})
	}
}

func BenchmarkPeekStamp(b *testing.B) {
	value := make([]byte, 100)
	var s Stamp
	s.Put(value, Around{})
	for b.Loop() {
		if !PeekStamp(value, &s) {
			b.Fatal("not stamped")
		}
	}
}

var sizes = []struct {
	name  string
	bytes int
}{{"100B", 100}, {"512B", 512}, {"1KiB", 1024}}

// rounds is an order of records: batches of 50 of one lane, from 16 producers on 100
// partitions in turn.
type rounds struct {
	producer, partition, left int
	seq                       int64
}

const (
	benchProducers  = 16
	benchPartitions = 100
	benchBatch      = 50
)

// turn goes to the next lane: after every record, or after a batch.
func (r *rounds) turn(batch int64) {
	r.left = benchBatch
	if r.producer++; r.producer < benchProducers {
		return
	}
	r.producer = 0
	if r.partition++; r.partition < benchPartitions {
		return
	}
	r.partition = 0
	r.seq += batch
}

// BenchmarkProducer is what the ledger costs a record on the way out, and its
// acknowledgement on the way back. The records go round the lanes one by one, and
// are answered in batches.
func BenchmarkProducer(b *testing.B) {
	producers := make([]*Producer, benchProducers)
	for i := range producers {
		producers[i] = NewProducer(uint16(i))
		for p := range int32(benchPartitions) {
			producers[i].Next(p, 1)
			producers[i].lane(p).issued.Store(1 << 40) // so that all that is acknowledged was issued
		}
	}
	b.Run("Next", func(b *testing.B) {
		b.ReportAllocs()
		var r rounds
		for b.Loop() {
			producers[r.producer].Next(int32(r.partition), 1)
			r.turn(1)
		}
	})
	b.Run("Acknowledged", func(b *testing.B) {
		b.ReportAllocs()
		r := rounds{left: benchBatch}
		for b.Loop() {
			seq := r.seq + int64(benchBatch-r.left)
			producers[r.producer].Acknowledged(int32(r.partition), seq, 1, seq)
			if r.left--; r.left == 0 {
				r.turn(benchBatch)
			}
		}
	})
}

// BenchmarkReaderAdd is what the ledger costs a record that is read: "ledger" is its
// own work, "100B" includes the stamp and the checksum of the value.
func BenchmarkReaderAdd(b *testing.B) {
	logs := func(r *Reader) (logs [benchPartitions]*Log) {
		for p := range logs {
			logs[p] = r.Log(int32(p))
		}
		return logs
	}
	b.Run("ledger", func(b *testing.B) {
		b.ReportAllocs()
		reader := NewReader(&Book{Run: 1})
		logs := logs(reader)
		r := rounds{left: benchBatch}
		offset := int64(0)
		s := Stamp{Run: 1}
		for b.Loop() {
			s.Seq = r.seq + int64(benchBatch-r.left)
			if logs[r.partition].count(offset, 0, Stamped, &s) != Stamped {
				b.Fatal("not stamped")
			}
			offset++
			if r.left--; r.left == 0 {
				r.turn(benchBatch)
				s.Producer, s.Partition = uint16(r.producer), int32(r.partition)
			}
		}
		if v := new(Book).Verify(reader); v.Checked != offset || v.Duplicated+v.Reordered+v.Corrupted > 0 {
			b.Fatalf("%+v", v)
		}
	})
	b.Run("100B", func(b *testing.B) {
		b.ReportAllocs()
		logs := logs(NewReader(&Book{Run: 1}))
		var values [1 << 14][100]byte // made at once, while the clock stands still
		r := rounds{left: benchBatch}
		offset, next := int64(0), len(values)
		var s Stamp
		for b.Loop() {
			if next == len(values) {
				b.StopTimer()
				for i := range values {
					s = Stamp{Run: 1, Seq: r.seq + int64(benchBatch-r.left), Producer: uint16(r.producer), Partition: int32(r.partition)}
					s.Put(values[i][:], Around{})
					if r.left--; r.left == 0 {
						r.turn(benchBatch)
					}
				}
				next = 0
				b.StartTimer()
			}
			value := values[next][:]
			partition := int32(binary.BigEndian.Uint32(value[atPartition:]))
			if logs[partition].Add(&Record{Offset: offset, Value: value, Millis: -1}, &s) != Stamped {
				b.Fatal("not stamped")
			}
			offset++
			next++
		}
	})
}

// BenchmarkVerify compares 1,600 lanes, one in ten with a gap.
func BenchmarkVerify(b *testing.B) {
	r := NewReader(&Book{Run: 1})
	book := &Book{Run: 1}
	for p := range int32(benchPartitions) {
		r.Begin(p, 0)
		for n := range uint16(benchProducers) {
			for _, seq := range []int64{0, 1, 2 + int64(n%10/9)} {
				r.Log(p).count(r.Log(p).last+1, 0, Stamped, &Stamp{Run: 1, Seq: seq, Producer: n, Partition: p})
			}
			book.Lanes = append(book.Lanes, Lane{Producer: n, Partition: p, Issued: 4, Acknowledged: Ranges{{From: 0, To: 4}}, LastOffset: 100})
		}
		r.ReadTo(p, 200, 200)
	}
	b.ReportAllocs()
	for b.Loop() {
		book.Verify(r)
	}
}
