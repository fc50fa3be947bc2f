package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/driver"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// readScene is a scene whose topic is read.
type readScene struct{ *scene }

func newReadScene(t *testing.T, partitions int) *readScene {
	t.Helper()
	t.Parallel() // it waits more than it works
	return &readScene{newScene(t, partitions)}
}

func (s *readScene) client(opts ...kgo.Opt) *kgo.Client {
	s.Helper()
	c := must.Have(s.cluster.Client(append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))...))(s)
	s.Cleanup(c.Close)
	return c
}

// write writes n records to each partition, in batches, with keys of every length from none on.
func (s *readScene) write(c *kgo.Client, partitions int32, n int) {
	s.Helper()
	for p := range partitions {
		var records []*kgo.Record
		for i := range n {
			r := &kgo.Record{Topic: "t", Partition: p, Value: []byte(strings.Repeat("v", i*7%3000))}
			if i%3 > 0 {
				r.Key = []byte(strings.Repeat("k", i%90))
			}
			if i%5 == 0 {
				r.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("x")}}
			}
			if records = append(records, r); len(records) == 50 || i == n-1 {
				must.Do(s, c.ProduceSync(s.Context(), records...).FirstErr())
				records = nil
			}
		}
	}
}

// readPlan reads topic t to its end.
func readPlan(change func(*plan.Plan)) plan.Plan {
	p := plan.Plan{
		Command: plan.Consume, Topic: plan.Topic{Name: "t"},
		Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, ToEnd: true, Timeout: plan.Duration(20 * time.Second)},
	}
	if change != nil {
		change(&p)
	}
	return p
}

func (s *readScene) state(p plan.Plan, book *ledger.Book, properties ...string) *reading.State {
	s.Helper()
	all := append([]string{"fetch.max.wait.ms=50", "retry.backoff.ms=10"}, properties...)
	settings, _ := must.Both(javaconf.ParseConsumer(canned.Given("the test", all...), false))(s)
	topics := must.Have(s.cluster.ReadTopics(s.Context(), p))(s)
	return must.Have(reading.New(s.Context(), s.cluster, reading.Options{Plan: p, Settings: settings, Layout: kafka.NewLayout(topics), Book: book, Reread: Reread}))(s)
}

// read reads with the wire engine.
func (s *readScene) read(p plan.Plan, properties ...string) (stats.Window, engine.End) {
	s.Helper()
	return s.run(p, NewConsumer(s.state(p, nil, properties...)))
}

func (s *readScene) run(p plan.Plan, d engine.ReadDriver) (stats.Window, engine.End) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	var all total
	end := must.Have(engine.Run(ctx, p, engine.Drivers{Read: d}, engine.Options{}, &all))(s)
	return all.Window, end
}

// same reads with both engines, and wants the same of them.
func (s *readScene) same(p plan.Plan, properties ...string) stats.Window {
	s.Helper()
	clientState, wireState := s.state(p, nil, properties...), s.state(p, nil, properties...)
	want, clientEnd := s.run(p, driver.NewConsumer(clientState))
	got, wireEnd := s.run(p, NewConsumer(wireState))
	if clientEnd.ReadEnd != wireEnd.ReadEnd || wireEnd.ReadErr != nil {
		s.Errorf("end %q (%v), the client engine's is %q", wireEnd.ReadEnd, wireEnd.ReadErr, clientEnd.ReadEnd)
	}
	if got.Consumed != want.Consumed || got.ConsumedBytes != want.ConsumedBytes {
		s.Errorf("%d records of %d bytes, the client engine read %d of %d", got.Consumed, got.ConsumedBytes, want.Consumed, want.ConsumedBytes)
	}
	for id, of := range want.Partitions {
		if p := got.Partitions[id]; p.Consumed != of.Consumed || p.ConsumedBytes != of.ConsumedBytes {
			s.Errorf("partition %d: %d records of %d bytes, the client engine read %d of %d", id, p.Consumed, p.ConsumedBytes, of.Consumed, of.ConsumedBytes)
		}
	}
	for number := range int32(clientState.Layout.Count()) {
		must.Match(s, clientState.At.Groups[0].At(number).Next.Load(), wireState.At.Groups[0].At(number).Next.Load(), "partition %d: read up to offset", number)
	}
	return got
}

func TestSmallPollsAndSmallFetchesReadEverything(t *testing.T) {
	s := newReadScene(t, 3)
	s.write(s.client(), 3, 1000)
	for _, properties := range []string{"max.poll.records=7", "max.partition.fetch.bytes=100", "fetch.max.bytes=1000", "check.crcs=true"} {
		t.Run(properties, func(t *testing.T) {
			w := s.same(readPlan(nil), properties)
			must.True(t, w.Consumed == 3000, "%d records, want 3000; %v", w.Consumed, w.FetchErrors)
		})
	}
}

func TestTransactionsAreReadAsTheirIsolationLevelSays(t *testing.T) {
	s := newReadScene(t, 2)
	c := s.client(kgo.TransactionalID("x"), kgo.ProducerBatchCompression(kgo.SnappyCompression()))
	for i := range 9 {
		must.Do(t, c.BeginTransaction())
		s.write(c, 2, 100)
		must.Do(t, c.EndTransaction(t.Context(), kgo.TransactionEndTry(i%3 > 0)))
	}
	for level, want := range map[string]int64{"read_committed": 1200, "read_uncommitted": 1800} {
		for _, limit := range []string{"0", "33"} {
			must.Match(t, want, s.same(readPlan(nil), "isolation.level="+level, "max.poll.records="+limit).Consumed, "%s: records", level)
		}
	}
}

func TestAReaderGoesOnWhereRecordsWereDeleted(t *testing.T) {
	s := newReadScene(t, 2)
	s.write(s.client(), 2, 1000)
	state := s.state(readPlan(nil), nil)
	must.Do(t, s.fake.DeleteRecords("t", 0, 420))
	must.Do(t, s.fake.DeleteRecords("t", 1, 1000)) // all of them
	w, end := s.run(state.Plan, NewConsumer(state))
	must.True(t, w.Consumed == 580 && end.ReadEnd == engine.ReadAll && w.FetchErrors["OFFSET_OUT_OF_RANGE"] >= 2,
		"%d records, end %q (%v), errors %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
}

func TestReadingGoesOnAfterErrorsOfBrokers(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.LeaderNotAvailable, kerr.KafkaStorageError,
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicID,
	} {
		t.Run(code.Message, func(t *testing.T) {
			s := newReadScene(t, 3)
			s.write(s.client(), 3, 500)
			s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Partitions: []int32{1}, Err: code, Count: 3})
			w, end := s.read(readPlan(nil))
			must.True(t, w.Consumed == 1500 && end.ReadEnd == engine.ReadAll && w.FetchErrors[code.Message] == 3,
				"%d records, end %q (%v), errors %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
		})
	}
}

func TestAnErrorThatNoRetryMendsEndsReading(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.UnknownTopicOrPartition} {
		t.Run(code.Message, func(t *testing.T) {
			s := newReadScene(t, 2)
			s.write(s.client(), 2, 10)
			s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Partitions: []int32{1}, Err: code, Count: 1 << 20})
			_, end := s.read(readPlan(nil))
			must.True(t, end.ReadEnd == engine.ReadFailed && end.ReadErr != nil && strings.Contains(end.ReadErr.Error(), "partition 1 of topic t"),
				"end %q (%v)", end.ReadEnd, end.ReadErr)
		})
	}
}

func TestReadingFollowsALeaderThatMoves(t *testing.T) {
	s := newReadScene(t, 3)
	s.write(s.client(), 3, 1000)
	var fetches atomic.Int32
	s.fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		if n := fetches.Add(1); n%5 == 0 && n < 50 {
			go func() { // the cluster waits for this function
				p := n / 5 % 3
				_ = s.fake.MoveTopicPartition("t", p, (s.fake.LeaderFor("t", p)+1)%3)
			}()
		}
		return nil, nil, false
	})
	w, end := s.read(readPlan(nil), "max.partition.fetch.bytes=20000")
	must.True(t, w.Consumed == 3000 && end.ReadEnd == engine.ReadAll,
		"%d records, end %q (%v), errors %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
}

// answering makes brokers answer fetches of partition 0, which ends at offset 10, with these bytes.
func (s *readScene) answering(b []byte) {
	s.answer(func(p *kmsg.FetchRequestTopicPartition, res *kmsg.FetchResponseTopicPartition) {
		if p.FetchOffset < 10 {
			res.RecordBatches = b
		}
	})
}

// answer makes brokers answer fetches of each partition, which ends at offset 10, as f says.
func (s *readScene) answer(f func(*kmsg.FetchRequestTopicPartition, *kmsg.FetchResponseTopicPartition)) {
	s.fake.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		res := req.ResponseKind().(*kmsg.FetchResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.HighWatermark, rp.LastStableOffset = p.Partition, 10, 10
				f(&p, &rp)
				rt.Partitions = append(rt.Partitions, rp)
			}
			res.Topics = append(res.Topics, rt)
		}
		return res, nil, true
	})
}

func TestABatchLargerThanTheLimitIsAskedForAgain(t *testing.T) {
	s := newReadScene(t, 1)
	b := encodeBatch(0, 10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	var limits []int32
	s.answer(func(p *kmsg.FetchRequestTopicPartition, res *kmsg.FetchResponseTopicPartition) {
		if p.FetchOffset == 0 {
			limits = append(limits, p.PartitionMaxBytes)
			res.RecordBatches = b[:min(len(b), int(p.PartitionMaxBytes))]
		}
	})
	p := readPlan(func(p *plan.Plan) { p.Read.ToEnd, p.Load.Records = false, 10 })
	w, end := s.read(p, "max.partition.fetch.bytes=7")
	must.True(t, w.Consumed == 10 && end.ReadEnd == engine.ReadCount && len(limits) >= 3 && limits[0] == 7,
		"%d records, end %q (%v), limits %d", w.Consumed, end.ReadEnd, end.ReadErr, limits)
}

func TestATruncatedLogIsReadOnFromItsEnd(t *testing.T) {
	s := newReadScene(t, 1)
	truncated := false
	s.answer(func(p *kmsg.FetchRequestTopicPartition, res *kmsg.FetchResponseTopicPartition) {
		switch {
		case p.FetchOffset == 0:
			res.RecordBatches = encodeBatch(0, 8, 0, 1, 2, 3, 4, 5, 6, 7)
		case p.FetchOffset == 8 && p.LastFetchedEpoch == 0 && !truncated:
			truncated = true
			res.DivergingEpoch.Epoch, res.DivergingEpoch.EndOffset = 0, 5
		case p.FetchOffset == 5:
			res.RecordBatches = encodeBatch(5, 10, 5, 6, 7, 8, 9)
		}
	})
	p := readPlan(func(p *plan.Plan) { p.Read.ToEnd, p.Load.Records = false, 13 })
	w, end := s.read(p)
	must.True(t, w.Consumed == 13 && end.ReadEnd == engine.ReadCount && w.FetchErrors["client:DATA_LOSS"] == 1,
		"%d records, end %q (%v), errors %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
}

// encodeBatch returns a batch of records at these offsets, which are uncompressed.
func encodeBatch(base, next int64, offsets ...int64) []byte {
	var records []byte
	for _, offset := range offsets {
		body := binary.AppendVarint([]byte{0}, 0)
		body = binary.AppendVarint(body, offset-base)
		body = binary.AppendVarint(body, -1)
		body = binary.AppendVarint(body, 5)
		body = append(append(body, "value"...), 0)
		records = append(binary.AppendVarint(records, int64(len(body))), body...)
	}
	b := make([]byte, format.HeadSize, format.HeadSize+len(records))
	b = append(b, records...)
	binary.BigEndian.PutUint64(b, uint64(base))
	binary.BigEndian.PutUint32(b[format.AtLength:], uint32(len(b)-format.AtEpoch))
	b[format.AtMagic] = 2
	binary.BigEndian.PutUint32(b[format.AtLastDelta:], uint32(next-base-1))
	binary.BigEndian.PutUint64(b[format.AtProducer:], 1<<64-1)
	binary.BigEndian.PutUint32(b[format.AtCount:], uint32(len(offsets)))
	return seal(b)
}

func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[format.AtSum:], crc32.Checksum(b[format.AtAttrs:], format.Castagnoli))
	return b
}

func TestABrokenAnswerEndsReading(t *testing.T) {
	good := encodeBatch(0, 10, 0, 1, 2)
	broken := func(change func(b []byte) []byte) []byte { return change(append([]byte(nil), good...)) }
	for _, tc := range []struct {
		name  string
		bytes []byte
		code  string
		want  string
	}{
		{"a flipped bit", broken(func(b []byte) []byte { b[format.HeadSize+6] ^= 1; return b }), "CORRUPT_MESSAGE", "checksum"},
		{"an older format", broken(func(b []byte) []byte { b[format.AtMagic] = 1; return b }), "", "v1"},
		{"more records than there are", broken(func(b []byte) []byte { b[format.AtCount+3]++; return seal(b) }), "", "malformed"},
		{"not compressed as it says", broken(func(b []byte) []byte { b[format.AtAttrs+1] = 4; return seal(b) }), "", "decompress"},
		{"no length", broken(func(b []byte) []byte { b[format.AtLength+3] = 0; return b }), "", "malformed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReadScene(t, 1)
			s.answering(tc.bytes)
			p := readPlan(func(p *plan.Plan) { p.Read.ToEnd = false })
			w, end := s.read(p, "check.crcs=true")
			must.True(t, end.ReadEnd == engine.ReadFailed && end.ReadErr != nil && strings.Contains(end.ReadErr.Error(), tc.want),
				"end %q (%v), want an error with %q", end.ReadEnd, end.ReadErr, tc.want)
			must.True(t, tc.code == "" || w.FetchErrors[tc.code] == 1, "errors %v, want one %s", w.FetchErrors, tc.code)
		})
	}
}

func TestCompactedBatchesCountTheRecordsThatAreLeft(t *testing.T) {
	s := newReadScene(t, 1)
	b := append(encodeBatch(0, 4, 1, 3), encodeBatch(4, 6)...) // the records of the second are all gone
	b = append(b, encodeBatch(7, 10, 8)...)
	s.answering(append(b, encodeBatch(10, 11, 10)[:70]...)) // the last one is cut off
	p := readPlan(func(p *plan.Plan) { p.Read.ToEnd, p.Load.Records = false, 3 })
	d := NewConsumer(s.state(p, nil))
	w, end := s.run(p, d)
	if next := d.At.Groups[0].At(0).Next.Load(); w.Consumed != 3 || w.ConsumedBytes != 15 || next != 10 || end.ReadEnd != engine.ReadCount {
		t.Errorf("%d records of %d bytes up to offset %d, end %q (%v)", w.Consumed, w.ConsumedBytes, next, end.ReadEnd, end.ReadErr)
	}
}

func TestEveryStampedRecordIsAccountedFor(t *testing.T) {
	s := newReadScene(t, 2)
	c := s.client(kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	const run, records = 42, 200
	for p := range int32(2) {
		for i := range records {
			value := make([]byte, ledger.StampSize+20)
			at := time.Now()
			r := &kgo.Record{Topic: "t", Partition: p, Value: value, Key: []byte("key"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("b")}}}
			stamp := ledger.Stamp{Run: run, Partition: p, Seq: int64(i), Due: at.UnixNano()}
			stamp.Put(value, ledger.Around{Key: r.Key, Headers: reading.HeaderSum(r.Headers)})
			must.Do(t, c.ProduceSync(t.Context(), r).FirstErr())
		}
	}
	book := &ledger.Book{Run: run}
	var said []string
	for _, d := range []engine.ReadDriver{NewConsumer(s.state(readPlan(nil), book)), driver.NewConsumer(s.state(readPlan(nil), book))} {
		s.run(readPlan(nil), d)
		readers := must.Have(d.Readers(t.Context()))(t)
		said = append(said, fmt.Sprintf("%+v", book.Verify(readers...)))
	}
	t.Log(said[0])
	must.Match(t, said[1], said[0], "the wire engine's verdict")
}

// watched is a Consumer whose readers a test looks at.
type watched struct {
	*Consumer
	readers []*reader
}

func (w *watched) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	r, err := w.Consumer.OpenReader(ctx, s)
	w.readers = append(w.readers, r.(*reader))
	return r, err
}

func TestAnswersLieInMemoryThatIsUsedAgain(t *testing.T) {
	s := newReadScene(t, 3)
	s.write(s.client(), 3, 1000)
	w := &watched{Consumer: NewConsumer(s.state(readPlan(nil), nil, "fetch.max.bytes=1000"))}
	sum, end := s.run(w.Plan, w)
	must.True(t, sum.Consumed == 3000 && end.ReadEnd == engine.ReadAll, "%d records, end %q (%v)", sum.Consumed, end.ReadEnd, end.ReadErr)
	i := &w.readers[0].responses
	must.True(t, i.last.Load() >= 20, "%d answers, want 20 or more", i.last.Load())
	i.answers.Range(func(id, _ any) bool {
		t.Errorf("nobody took answer %d", id)
		return true
	})
}

func TestAGroupIsRefusedByName(t *testing.T) {
	for _, tc := range []struct {
		group string
		fits  bool
	}{{"", true}, {"g", false}} {
		err := FitsReading(&plan.Plan{Read: plan.Read{Group: tc.group}})
		must.True(t, (err == nil) == tc.fits, "group %q: %v", tc.group, err)
	}
}
