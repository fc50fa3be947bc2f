package wire

import (
	"encoding/binary"
	"testing"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

// FuzzFetchedBytes counts arbitrary bytes as those of an answer. Counting ends, moves only forward, and
// counts the same in one go, in small polls and record by record. In one go, it does not look at offsets
// of records, and so accepts some that no broker writes.
func FuzzFetchedBytes(f *testing.F) {
	settings, _ := must.Both(javaconf.ParseConsumer(nil, false))(f)
	two := append(encodeBatch(0, 4, 1, 3), encodeBatch(4, 6, 4, 5)...)
	f.Add(two, int64(0), 3)
	f.Add(two, int64(2), 1)
	f.Add(two[:len(two)-5], int64(5), 100)
	f.Add(append(encodeBatch(0, 9), two...), int64(0), 1)
	alike := encodeBatch(0, 20)
	for i := range int64(20) {
		alike = appendTestRecord(alike, 3, i, 2, 70, 1)
	}
	binary.BigEndian.PutUint32(alike[atLength:], uint32(len(alike)-atEpoch))
	alike[atCount+3] = 20
	f.Add(alike, int64(0), 7)
	f.Fuzz(func(t *testing.T, b []byte, from int64, limit int) {
		from, limit = max(from, 0), min(max(limit, 1), 1000)
		book := &ledger.Book{Headers: true, Lanes: []ledger.Lane{{Issued: 9, Origins: []ledger.Origin{{ID: 0}}}}}
		headers := func() *ledger.Reader { return ledger.NewReader(book) }
		count := func(limit int, books *ledger.Reader) (n, bytes int, next int64, failed bool) {
			r := &reader{Consumer: NewConsumer(&reading.State{Options: reading.Options{Settings: settings}})}
			r.room = reading.NewMemory(0).NewRoom()
			c := chunk{bytes: append([]byte(nil), b...), next: from}
			if books != nil && books.Headers() {
				to, _ := reachOf(c.bytes, from, true)
				c.bytes, c.reach = to.bytes, to.next
			}
			for !c.counted() {
				k := counting{reader: r, chunk: &c, rec: stats.NewRecorder()}
				if books != nil {
					k.log, k.headers = books.Log(0), books.Headers()
				}
				before, left := c.next, len(c.bytes)
				err := k.run(limit)
				n, bytes = n+k.n, bytes+k.bytes
				if c.next < before || k.n > limit {
					t.Fatalf("from offset %d to %d, %d records of at most %d", before, c.next, k.n, limit)
				}
				if err != nil {
					return n, bytes, c.next, true
				}
				if k.n == 0 && len(c.bytes) == left && !c.counted() {
					t.Fatal("it does not move on")
				}
			}
			return n, bytes, c.next, false
		}
		n, bytes, next, failed := count(1<<30, nil)
		n2, bytes2, next2, failed2 := count(limit, nil)
		n3, bytes3, next3, failed3 := count(limit, ledger.NewReader(&ledger.Book{Run: 1}))
		n4, bytes4, next4, failed4 := count(limit, headers())
		if !failed2 && !failed4 && (n2 < n4 || bytes2 < bytes4 || next2 != next4) && intact(b) { // others are passed over
			t.Fatalf("%d records of %d bytes up to %d; by headers %d, %d, %d", n2, bytes2, next2, n4, bytes4, next4)
		}
		if !failed && !failed2 && !failed3 && (n != n2 || bytes != bytes2 || next != next2 || n != n3 || bytes != bytes3 || next != next3) {
			t.Fatalf("%d records of %d bytes up to %d; in polls of %d %d, %d, %d; verified %d, %d, %d", n, bytes, next, limit, n2, bytes2, next2, n3, bytes3, next3)
		}
		if to, err := reachOf(b, from, false); err == nil && !failed && next > to.next {
			t.Fatalf("counted up to %d, and fetched up to %d", next, to.next)
		}
		if to, err := reachOf(b, from, true); err == nil && !failed4 && next4 != to.next {
			t.Fatalf("by headers counted up to %d, and fetched up to %d", next4, to.next)
		}
	})
}

// intact reports whether every batch of an answer is.
func intact(b []byte) bool {
	for {
		first, rest, _, err := cutBatch(b)
		if err != nil || first == nil {
			return true
		}
		if !first.intact() {
			return false
		}
		b = rest
	}
}
