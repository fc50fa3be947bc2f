package wire

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// appendTestRecord appends a record as producers encode it. A key or value of -1 bytes is null.
func appendTestRecord(to []byte, timestamp, offset int64, key, value, headers int) []byte {
	body := binary.AppendVarint([]byte{0}, timestamp)
	body = binary.AppendVarint(body, offset)
	for _, size := range []int{key, value} {
		body = binary.AppendVarint(body, int64(size))
		body = append(body, make([]byte, max(size, 0))...)
	}
	body = append(body, make([]byte, headers)...)
	return append(binary.AppendVarint(to, int64(len(body))), body...)
}

func TestATallyIsThatOfTheRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{-1, 0, 1, 61, 62, 63, 64, 65, 100, 127, 128, 8000, 8190, 8192, 20000}
	for range 300 {
		var b []byte
		want, n := 0, 1+rng.IntN(100)
		key, value, headers := -1, 100, 1
		for i := range n {
			if rng.IntN(8) == 0 {
				key, value, headers = sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))], 1+rng.IntN(3)
			}
			b = appendTestRecord(b, rng.Int64N(1<<rng.IntN(40)), int64(i)<<rng.IntN(12), key, value, headers)
			want += max(key, 0) + max(value, 0)
		}
		if got, ok := tally(b, n); got != want || !ok {
			t.Fatalf("%d bytes, %t; want %d", got, ok, want)
		}
		if got, ok := tally(b[:len(b)-1], n); ok {
			t.Fatalf("%d bytes of records of which the last one is cut off", got)
		}
	}
}
