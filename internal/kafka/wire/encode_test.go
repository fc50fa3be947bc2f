package wire

import (
	"bytes"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

func TestJoinedChecksumsAreThoseOfTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		whole := make([]byte, rng.IntN(5000))
		for i := range whole {
			whole[i] = byte(rng.Uint32())
		}
		at := rng.IntN(len(whole) + 1)
		first, second := crc32.Checksum(whole[:at], castagnoli), crc32.Checksum(whole[at:], castagnoli)
		if got, want := join(first, second, shiftBy(len(whole)-at)), crc32.Checksum(whole, castagnoli); got != want {
			t.Fatalf("%d and %d bytes: %08x, want %08x", at, len(whole)-at, got, want)
		}
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
	if got.Err != nil {
		t.Fatalf("franz-go: %v", got.Err)
	}
	return got.Records
}

// settings are those of a producer with these properties, each written name=value.
func settings(t testing.TB, words ...string) javaconf.Producer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseProducer(given(words...), 0, false))(t)
	return s
}

// given returns properties, each written name=value. The last of a name wins.
func given(words ...string) map[string]plan.Given {
	g := make(map[string]plan.Given)
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		g[name] = plan.Given{Value: value, Source: "the test"}
	}
	return g
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
			p.Payload.Keys, p.Payload.KeyRange = plan.RandomKeys, 1000
		}
		values := must.Have(payload.MakeValues(&p))(t)
		pool := newPool(p, values, int(target), 1<<20, settings(t, "compression.type="+codecs[int(codec)%len(codecs)]).Compressor(), false)
		records := 1 + int(n)%pool.full
		e := pool.batch(int(n)%len(pool.templates), records)
		var h head
		h.put(identity{id: 7, epoch: 3, sequence: 11}, times{1_700_000_000_000, 1_700_000_000_000}, records, e)
		got := decode(t, append(h[:], e.records...))
		if len(got) != records {
			t.Fatalf("%d records, want %d", len(got), records)
		}
		bytesOf := 0
		for i, r := range got {
			bytesOf += len(r.Key) + len(r.Value)
			if r.Offset != int64(i) || len(r.Value) != p.Payload.Size.Max() || (r.Key != nil) != keyed || r.ProducerID != 7 || r.ProducerEpoch != 3 ||
				r.Timestamp != time.UnixMilli(1_700_000_000_000) || len(r.Headers) != 1 || r.Headers[0].Key != key || string(r.Headers[0].Value) != value {
				t.Fatalf("record %d is %+v", i, r)
			}
		}
		must.Match(t, pool.bytes(int(n)%len(pool.templates), 0, records), bytesOf, "bytes of keys and values")
	})
}

func TestRecordsOfABatchHaveTheirOwnTimes(t *testing.T) {
	var records []byte
	for i, millis := range []int64{0, 5, 3000, 2} {
		records = appendRecord(records, i, millis, nil, bytes.Repeat([]byte{'v'}, i*100), encodeHeaders(nil))
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
		if pool.full < 20 {
			t.Errorf("a batch has %d records", pool.full)
		}
		for i := range pool.templates {
			if n := headSize + len(pool.batch(i, pool.full).records); n > limit {
				t.Errorf("batch %d has %d bytes", i, n)
			}
		}
	}
}
