//go:build !race

package ledger

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// BenchmarkStamp is what a stamp costs a record of 512 bytes, on the way out and on the way back.
func BenchmarkStamp(b *testing.B) {
	value, s := make([]byte, 512), Stamp{Run: 1, Producer: 2, Partition: 3}
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		s.Seq++
		s.Put(value, Around{})
		must.Hold(b, ReadStamp(value, Around{}, &s) == Stamped, "not stamped")
	}
}

// turns calls something for each record of batches of 50 of one lane, from 16 producers on 100 partitions in turn.
func turns(b *testing.B, do func(producer, partition int, seq int64)) {
	b.ReportAllocs()
	const producers, partitions, batch = 16, 100, 50
	for n := 0; b.Loop(); n++ {
		lane := n / batch
		do(lane%producers, lane/producers%partitions, int64(n/(batch*producers*partitions)*batch+n%batch))
	}
}

// BenchmarkProducer is what the ledger costs a record on the way out, and its acknowledgement on the way back.
func BenchmarkProducer(b *testing.B) {
	var producers [16]*Producer
	for i := range producers {
		producers[i] = NewProducer(uint16(i))
	}
	turns(b, func(producer, partition int, seq int64) {
		producers[producer].Next(int32(partition), 1)
		producers[producer].Acknowledged(int32(partition), seq, 1, seq)
	})
}

// BenchmarkReader is what the ledger costs a record that is read, beside its stamp and the checksum of its value.
func BenchmarkReader(b *testing.B) {
	reader, offset := NewReader(&Book{Run: 1}), int64(0)
	turns(b, func(producer, partition int, seq int64) {
		s := Stamp{Run: 1, Producer: uint16(producer), Partition: int32(partition), Seq: seq}
		must.Hold(b, reader.Log(int32(partition)).count(&Record{Offset: offset}, Stamped, &s) == Stamped, "not stamped")
		offset++
	})
}
