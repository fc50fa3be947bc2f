package kafka

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A batch is encoded as Kafka has it: 61 bytes, and the record.
func TestTheSizeOfABatchOfOneRecord(t *testing.T) {
	for _, n := range []int{1, 60, 880, 930, 8180, 1 << 20} {
		record := kmsg.Record{Value: bytes.Repeat([]byte("x"), n)}
		record.Length = int32(len(record.AppendTo(nil)) - 1) // without the length, which is 0 here and takes a byte
		batch := kmsg.RecordBatch{Records: record.AppendTo(nil)}
		if got, want := batchBytes(n), len(batch.AppendTo(nil)); got != want {
			t.Errorf("%d bytes: %d, Kafka's batch has %d", n, got, want)
		}
	}
}
