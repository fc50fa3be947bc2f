package wire

import (
	"encoding/binary"
	"testing"
)

func BenchmarkTally(b *testing.B) {
	var records []byte
	value := make([]byte, 100)
	for i := range 1000 {
		body := []byte{0}
		body = binary.AppendVarint(body, 0)
		body = binary.AppendVarint(body, int64(i))
		body = binary.AppendVarint(body, -1)
		body = binary.AppendVarint(body, 100)
		body = append(body, value...)
		body = append(body, 0)
		records = binary.AppendVarint(records, int64(len(body)))
		records = append(records, body...)
	}
	b.Run("tally", func(b *testing.B) {
		for range b.N {
			if n, ok := tally(records, 1000); n != 100_000 || !ok {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
	})
	b.Run("cutRecord", func(b *testing.B) {
		for range b.N {
			rest, ok := records, true
			var r record
			for range 1000 {
				rest, ok = cutRecord(rest, &r)
				if !ok {
					b.Fatal()
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
	})
}
