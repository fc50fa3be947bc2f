package wire

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
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

func TestABatchThatIsTooLargeIsPassedOver(t *testing.T) {
	s := newReadScene(t, 1)
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c := s.client(kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<20))
		for _, size := range []int{10, 15 << 20} {
			must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: make([]byte, size)}).FirstErr())
		}
	}
	b := &ledger.Book{Run: 1, Start: []int64{0}, SameTopic: true}
	state := s.state(readPlan(nil), b)
	state.Memory.Most = 8 << 20
	w, end := s.run(readPlan(nil), NewConsumer(state))
	if w.Consumed != 4 || end.ReadEnd != engine.ReadAll || w.FetchErrors["client:BATCH_TOO_LARGE"] != 4 || len(w.Events) != 4 {
		t.Errorf("%d records, end %q (%v), %v, events %+v; want 4, all, and 4 batches too large", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors, w.Events)
	}
	readers := must.Have(state.Readers(t.Context()))(t)
	must.Match(t, 4, b.Verify(readers...).TooLarge, "offsets were too large")
}

// Whoever has the memory may give it back: the reader waits, and reads all.
func TestABatchWithoutMemoryIsTriedAgain(t *testing.T) {
	s := newReadScene(t, 1)
	c := s.client(kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(64<<20))
	for range 3 {
		must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: make([]byte, 5<<20)}).FirstErr())
	}
	state := s.state(readPlan(nil), nil)
	state.Memory.Most = 8 << 20
	if w, end := s.run(readPlan(nil), NewConsumer(state)); w.Consumed != 3 || end.ReadEnd != engine.ReadAll || len(w.FetchErrors) > 0 {
		t.Errorf("%d records, end %q (%v), %v; want 3 and all", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
	}
}

// The fetches of each broker fail on a goroutine of its own.
func TestBrokersMayFailAtOnceWhileALogIsReadAgain(t *testing.T) {
	s := newReadScene(t, 3)
	s.write(s.client(), 3, 500)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Err: kerr.NotLeaderForPartition, Count: 60})
	d := s.state(readPlan(nil), nil)
	ends := map[int32]int64{0: 500, 1: 500, 2: 500}
	if err := Reread(t.Context(), d, 0, ends, time.Minute); err != nil || len(ends) > 0 {
		t.Errorf("%v; not read to their end: %v", err, ends)
	}
}

// Batches without records come for twice as long as a reader waits for one.
func TestALogIsReadAgainOverBatchesWithoutRecords(t *testing.T) {
	const idle, between = 3 * time.Second, 600 * time.Millisecond
	s := newReadScene(t, 1)
	s.answer(func(p *kmsg.FetchRequestTopicPartition, res *kmsg.FetchResponseTopicPartition) {
		if p.FetchOffset < 10 {
			<-time.After(between)
			res.RecordBatches = encodeBatch(p.FetchOffset, p.FetchOffset+1)
		}
	})
	d := s.state(readPlan(nil), nil)
	ends := map[int32]int64{0: 10}
	if err := Reread(t.Context(), d, 0, ends, idle); err != nil || len(ends) > 0 {
		t.Errorf("%v; not read to their end: %v", err, ends)
	}
}

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
