package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestJoinedChecksumsAreThoseOfTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		whole := make([]byte, rng.IntN(5000))
		for i := range whole {
			whole[i] = byte(rng.Uint32())
		}
		at := rng.IntN(len(whole) + 1)
		first, second := crc32.Checksum(whole[:at], format.Castagnoli), crc32.Checksum(whole[at:], format.Castagnoli)
		got, want := join(first, second, shiftBy(len(whole)-at)), crc32.Checksum(whole, format.Castagnoli)
		must.Hold(t, got == want, "%d and %d bytes: %08x, want %08x", at, len(whole)-at, got, want)
	}
}

func TestSequencesGoOnFrom0AfterTheLargest(t *testing.T) {
	for _, tc := range []struct {
		from int32
		n    int
		want int32
	}{
		{0, 10, 10},
		{math.MaxInt32 - 10, 10, math.MaxInt32},
		{math.MaxInt32 - 9, 10, 0}, // the last record had the largest
		{math.MaxInt32, 1, 0},
		{math.MaxInt32 - 2, 10, 7},
	} {
		i := identity{id: 1, sequence: int64(tc.from)}
		if i.pass(tc.n); i.at() != tc.want {
			t.Errorf("%d and %d records: %d, want %d", tc.from, tc.n, i.at(), tc.want)
		}
	}
	if i := nobody; true {
		if i.pass(5); i != nobody {
			t.Errorf("without idempotence: %+v", i)
		}
	}
}

// Each record counts its sequence one further than the one before, and 0 follows the largest.
func FuzzSequences(f *testing.F) {
	f.Add(int32(math.MaxInt32-3), uint16(10))
	f.Add(int32(0), uint16(1))
	f.Fuzz(func(t *testing.T, from int32, n uint16) {
		if from < 0 || n == 0 {
			return
		}
		one := from
		for range n {
			if one == math.MaxInt32 {
				one = 0
			} else {
				one++
			}
		}
		if i := (identity{id: 1, sequence: int64(from)}); true {
			if i.pass(int(n)); i.at() != one {
				t.Errorf("%d and %d records: %d, want %d", from, n, i.sequence, one)
			}
		}
	})
}

// decode reads a batch as franz-go does, with its checks.
func decode(t *testing.T, batch []byte) []*kgo.Record {
	t.Helper()
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t", KeepControlRecords: true},
		&kmsg.FetchResponseTopicPartition{RecordBatches: batch}, kgo.DefaultDecompressor(), nil)
	must.Hold(t, got.Err == nil, "franz-go: %v", got.Err)
	return got.Records
}

// settings are those of a producer with these properties, each written name=value.
func settings(t testing.TB, words ...string) javaconf.Producer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseProducer(canned.Given("the test", words...), 0, false))(t)
	return s
}

var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func FuzzBatchesAreReadByFranzGo(f *testing.F) {
	f.Add(uint16(100), uint16(2000), uint8(0), uint8(3), "key", "value", true)
	f.Add(uint16(1), uint16(0), uint8(4), uint8(200), "", "", false)
	f.Add(uint16(70), uint16(300), uint8(1), uint8(1), "k", "", true)
	f.Fuzz(func(t *testing.T, size, target uint16, codec, n uint8, key, value string, keyed bool) {
		p := plan.Plan{Seed: 1, Payload: plan.Payload{
			Kind: plan.Letters, Size: plan.FixedSize(1 + int(size)%1000), Keys: plan.NoKeys, Headers: []plan.Header{{Key: key, Value: value}},
		}}
		if keyed {
			p.Payload.Keys, p.Payload.KeyRange = "zipf:1.1", 1000
		}
		values := must.Have(payload.MakeValues(&p))(t)
		pool := newPool(p, values, int(target), 1<<20, settings(t, "compression.type="+codecs[int(codec)%len(codecs)]).Compressor(), false)
		records := 1 + int(n)%pool.full
		e := pool.batch(int(n)%len(pool.templates), records)
		var h head
		h.put(identity{id: 7, epoch: 3, sequence: 11}, times{1_700_000_000_000, 1_700_000_000_000}, records, e)
		got := decode(t, append(h[:], e.records...))
		must.Hold(t, len(got) == records, "%d records, want %d", len(got), records)
		bytesOf, busiest, first := 0, 0, 0
		for i, r := range got {
			bytesOf += len(r.Key) + len(r.Value)
			if string(r.Key) == "0" {
				busiest++
			}
			if i == 0 {
				first = busiest
			}
			if r.Offset != int64(i) || len(r.Value) != p.Payload.Size.Max() || (r.Key != nil) != keyed || r.ProducerID != 7 || r.ProducerEpoch != 3 ||
				r.Timestamp != time.UnixMilli(1_700_000_000_000) || len(r.Headers) != 1 || r.Headers[0].Key != key || string(r.Headers[0].Value) != value {
				t.Fatalf("record %d is %+v", i, r)
			}
		}
		of := pool.templates[int(n)%len(pool.templates)]
		must.Match(t, sumOf(of.bytes, 0, records), bytesOf, "bytes of keys and values")
		must.Match(t, sumOf(of.busiest, 0, records), busiest, "records with the busiest key")
		if records > 1 {
			must.Match(t, sumOf(of.busiest, 1, records-1), busiest-first, "records with the busiest key behind the first")
		}
	})
}

func TestRecordsOfABatchHaveTheirOwnTimes(t *testing.T) {
	var records []byte
	for i, millis := range []int64{0, 5, 3000, 2} {
		records = format.AppendRecord(records, i, millis, nil, bytes.Repeat([]byte{'v'}, i*100), format.EncodeHeaders(nil))
	}
	var h head
	h.put(nobody, times{1_700_000_000_000, 1_700_000_003_000}, 4, encode(records, 0))
	for i, r := range decode(t, append(h[:], records...)) {
		if want := time.UnixMilli(1_700_000_000_000 + []int64{0, 5, 3000, 2}[i]); !r.Timestamp.Equal(want) || len(r.Value) != i*100 {
			t.Errorf("record %d is of %s with %d bytes, want %s", i, r.Timestamp, len(r.Value), want)
		}
	}
}

// A large record now and then leaves the other batches as they would be without it, and no batch is larger than a request.
func TestOneLargeRecordLeavesBatchesFull(t *testing.T) {
	const target, limit = 16_384, 40_000
	p := plan.Plan{Seed: 1, Payload: plan.Payload{Kind: plan.Letters, Keys: plan.NoKeys}}
	must.Do(t, p.Payload.Size.UnmarshalText([]byte("100@99,30000@1")))
	values := must.Have(payload.MakeValues(&p))(t)
	for _, sizeOnly := range []bool{false, true} {
		pool := newPool(p, values, target, limit, nil, sizeOnly)
		if sizeOnly {
			must.Match(t, 1, pool.full, "records, and one where all may be large")
			continue
		}
		must.True(t, pool.full >= 20, "a batch has %d records", pool.full)
		for i := range pool.templates {
			n := format.HeadSize + len(pool.batch(i, pool.full).records)
			must.True(t, n <= limit, "batch %d has %d bytes", i, n)
		}
	}
}

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
		got, ok := tally(b, n)
		must.Hold(t, got == want && ok, "%d bytes, %t; want %d", got, ok, want)
		got, ok = tally(b[:len(b)-1], n)
		must.Hold(t, !ok, "%d bytes of records of which the last one is cut off", got)
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
	err := Reread(t.Context(), d, 0, ends, time.Minute)
	must.True(t, err == nil && len(ends) == 0, "%v; not read to their end: %v", err, ends)
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
	err := Reread(t.Context(), d, 0, ends, idle)
	must.True(t, err == nil && len(ends) == 0, "%v; not read to their end: %v", err, ends)
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
	binary.BigEndian.PutUint32(alike[format.AtLength:], uint32(len(alike)-format.AtEpoch))
	alike[format.AtCount+3] = 20
	f.Add(alike, int64(0), 7)
	f.Fuzz(func(t *testing.T, b []byte, from int64, limit int) {
		from, limit = max(from, 0), min(max(limit, 1), 1000)
		book := &ledger.Book{Headers: true, Lanes: []ledger.Lane{{Issued: 9, Origins: []ledger.Origin{{ID: 0}}}}}
		headers := func() *ledger.Reader { return ledger.NewReader(book) }
		count := func(limit int, books *ledger.Reader) (n, bytes int, next int64, failed bool) {
			r := &reader{Consumer: NewConsumer(&reading.State{Options: reading.Options{Settings: settings}})}
			r.room = sync.OnceValue(reading.NewMemory(0).NewRoom)
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
				must.Hold(t, c.next >= before && k.n <= limit, "from offset %d to %d, %d records of at most %d", before, c.next, k.n, limit)
				if err != nil {
					return n, bytes, c.next, true
				}
				must.Hold(t, k.n != 0 || len(c.bytes) != left || c.counted(), "it does not move on")
			}
			return n, bytes, c.next, false
		}
		n, bytes, next, failed := count(1<<30, nil)
		n2, bytes2, next2, failed2 := count(limit, nil)
		n3, bytes3, next3, failed3 := count(limit, ledger.NewReader(&ledger.Book{Run: 1}))
		n4, bytes4, next4, failed4 := count(limit, headers())
		must.Hold(t, failed2 || failed4 || n2 >= n4 && bytes2 >= bytes4 && next2 == next4 || !intact(b), // others are passed over
			"%d records of %d bytes up to %d; by headers %d, %d, %d", n2, bytes2, next2, n4, bytes4, next4)
		if !failed && !failed2 && !failed3 && (n != n2 || bytes != bytes2 || next != next2 || n != n3 || bytes != bytes3 || next != next3) {
			t.Fatalf("%d records of %d bytes up to %d; in polls of %d %d, %d, %d; verified %d, %d, %d", n, bytes, next, limit, n2, bytes2, next2, n3, bytes3, next3)
		}
		to, err := reachOf(b, from, false)
		must.Hold(t, err != nil || failed || next <= to.next, "counted up to %d, and fetched up to %d", next, to.next)
		to, err = reachOf(b, from, true)
		must.Hold(t, err != nil || failed4 || next4 == to.next, "by headers counted up to %d, and fetched up to %d", next4, to.next)
	})
}

// intact reports whether every batch of an answer is.
func intact(b []byte) bool {
	for {
		first, rest, _, err := format.Cut(b)
		if err != nil || first == nil {
			return true
		}
		if !first.Intact() {
			return false
		}
		b = rest
	}
}
