package driver

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	wireengine "github.com/kt-bench/kt/internal/kafka/wire"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// scene is an in-process cluster that can be told to misbehave, with a topic t.
type scene struct {
	*testing.T
	fake       *kfake.Cluster
	wire       *wire
	cluster    *kafka.Cluster
	partitions int
}

func newScene(t *testing.T, partitions int32) *scene {
	t.Helper()
	t.Parallel() // it waits more than it works
	s := &scene{T: t, wire: &wire{}, partitions: int(partitions)}
	var err error
	s.fake, err = kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(partitions, "t"), kfake.ListenFn(s.wire.listen),
		kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "50"})) // else a rebalance takes seconds
	must.Hold(t, err == nil, "%v", err)
	t.Cleanup(s.fake.Close)
	s.cluster = connect(t, s.fake.ListenAddrs())
	return s
}

// wire is what the brokers' answers go through.
type wire struct {
	produced atomic.Pointer[onAnswer] // of produce requests
	fetched  atomic.Pointer[onAnswer] // of fetches
	shared   atomic.Pointer[onAnswer] // of fetches in share groups
}

// onAnswer looks at an answer, and may change it. cut tells to hang up instead of
// sending it. Several answers may come at the same time.
type onAnswer func(answer []byte) (cut bool)

func (w *wire) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return tapped{l, w}, err
}

type tapped struct {
	net.Listener
	wire *wire
}

func (t tapped) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	tap := &tap{Conn: c, wire: t.wire}
	tap.key.Store(-1)
	return tap, err
}

// tap is a connection. franz-go has one of its own for produce requests, and one for
// fetches, so the kind of an answer is that of the requests before it.
type tap struct {
	net.Conn
	wire  *wire
	sized bool         // the size of the next request was read
	key   atomic.Int32 // of the newest request
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	switch {
	case len(p) == 4:
		t.sized = true
	case t.sized && n >= 2:
		t.key.Store(int32(p[0])<<8 | int32(p[1]))
		t.sized = false
	}
	return n, err
}

func (t *tap) Write(p []byte) (int, error) {
	var answered *onAnswer
	switch t.key.Load() {
	case int32(kmsg.Produce):
		answered = t.wire.produced.Load()
	case int32(kmsg.Fetch):
		answered = t.wire.fetched.Load()
	case int32(kmsg.ShareFetch):
		answered = t.wire.shared.Load()
	}
	if answered != nil && (*answered)(p) {
		return 0, t.Close()
	}
	return t.Conn.Write(p)
}

// sender is a producer with such properties.
func (s *scene) sender(records int64, properties ...string) *Producer {
	s.Helper()
	d := producer(s.T, s.cluster, s.partitions)
	d.Plan.Load.Records = records
	d.Plan.Producers = 1
	d.Settings = producing(s.T, d.Plan.Payload.MaxBytes(), properties...)
	return d
}

// send sends, and returns what was counted.
func (s *scene) send(d *Producer, o engine.Options) stats.Window {
	s.Helper()
	var sum total
	must.Have(engine.Run(s.Context(), d.Plan, engine.Drivers{Send: d}, o, &sum))(s)
	return sum.w
}

// bookOf is the book of a producer, with the settings that it has.
func bookOf(d *Producer) *ledger.Book {
	b := book(d)
	b.Idempotent, b.Acks, b.Retries = d.Settings.Idempotent(), d.Settings.Acks(), d.Settings.Int64("retries") > 0
	return b
}

// reader is a consumer with such properties.
func (s *scene) reader(p plan.Plan, b *ledger.Book, properties ...string) *Consumer {
	s.Helper()
	return must.Have(s.consumer(p, b, properties...))(s)
}

func (s *scene) consumer(p plan.Plan, b *ledger.Book, properties ...string) (*Consumer, error) {
	s.Helper()
	if p.Read.Group != "" {
		properties = append(properties, "group.id="+p.Read.Group)
	}
	topics, err := s.cluster.ReadTopics(s.Context(), p)
	if err != nil {
		return nil, err
	}
	state, err := reading.New(s.Context(), s.cluster, reading.Options{Plan: p, Settings: consuming(s.T, properties...), Layout: kafka.NewLayout(topics), Book: b, Reread: wireengine.Reread})
	if err != nil {
		return nil, err
	}
	return NewConsumer(state), nil
}

// read reads as p says, and returns what was counted and what the book says of it.
func (s *scene) read(p plan.Plan, b *ledger.Book, properties ...string) (stats.Window, engine.End, ledger.Verdict) {
	s.Helper()
	d := s.reader(p, b, properties...)
	return s.readWith(d, d, b, engine.Options{})
}

// readWith reads with the readers of from, which are those of d if nothing is between.
func (s *scene) readWith(from engine.ReadDriver, d *Consumer, b *ledger.Book, o engine.Options) (stats.Window, engine.End, ledger.Verdict) {
	s.Helper()
	o.Sources = []engine.Source{lagOf(d)}
	var sum total
	end := must.Have(engine.Run(s.Context(), d.Plan, engine.Drivers{Read: from}, o, &sum))(s)
	return sum.w, end, s.verdict(d, b)
}

// between is a driver that lets a test into what its reader does; it has one.
type between struct {
	*Consumer
	read   func(ctx context.Context, limit int, patience time.Duration) (int, error) // instead of the reader; nil: nothing
	flush  func()                                                                    // before the reader's own; nil: nothing
	reader *fetcher
}

func (b *between) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	r, err := b.Consumer.OpenReader(ctx, s)
	b.reader = r.(*fetcher)
	return betweenReader{b.reader, b}, err
}

type betweenReader struct {
	*fetcher
	between *between
}

func (r betweenReader) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	if f := r.between.read; f != nil {
		return f(ctx, limit, patience)
	}
	return r.fetcher.Read(ctx, limit, patience)
}

func (r betweenReader) Flush(ctx context.Context) {
	if f := r.between.flush; f != nil {
		f()
	}
	r.fetcher.Flush(ctx)
}

func (s *scene) verdict(d *Consumer, b *ledger.Book) ledger.Verdict {
	s.Helper()
	if b == nil {
		return ledger.Verdict{}
	}
	readings := must.Have(d.Readers(s.Context()))(s)
	return b.Verify(readings...)
}

// roundtrip writes and reads records at a rate.
func (s *scene) roundtrip(records int64, rate float64, change func(*plan.Plan), read ...string) (stats.Window, engine.End, ledger.Verdict) {
	s.Helper()
	send := s.sender(records)
	p := &send.Plan
	p.Command, p.Load.Rate = plan.Roundtrip, plan.Rate{PerSecond: rate}
	p.Read = plan.Read{Consumers: 1, Commit: plan.CommitNone, From: plan.From{Latest: true}, Timeout: plan.Duration(10 * time.Second)}
	if change != nil {
		change(p)
	}
	b := bookOf(send)
	d := s.reader(*p, b, read...)
	d.Written = send.Acked
	var sum total
	end := must.Have(engine.Run(s.Context(), *p, engine.Drivers{Send: send, Read: d}, engine.Options{Sources: []engine.Source{lagOf(d)}}, &sum))(s)
	b.Lanes = send.Lanes()
	return sum.w, end, s.verdict(d, b)
}

// whole checks that every record was acknowledged and read once.
func (s *scene) whole(v ledger.Verdict, records int64) {
	s.Helper()
	if v.Acknowledged != records || v.AcknowledgedRead != records || v.Lost+v.Duplicated+v.Reordered+v.Corrupted+v.Unchecked+v.Undecided+v.Failed != 0 {
		s.Errorf("verdict %+v, want %d records acknowledged and read, and nothing wrong", v, records)
	}
}

// nth calls f at the nth request of a kind that the cluster gets.
func (s *scene) nth(key kmsg.Key, n int, f func()) {
	s.fake.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
		if n--; n == 0 {
			s.fake.DropControl()
			go f() // the cluster waits for this function, so f could not use it here
		}
		return nil, nil, false
	})
}

func TestReadingGoesOnWhenALeaderRefusesForAWhile(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.LeaderNotAvailable, kerr.KafkaStorageError,
	} {
		t.Run(code.Message, func(t *testing.T) {
			s := newScene(t, 3)
			b := stamped(t, s.cluster, 3, 2000)
			faults := s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Partitions: []int32{1}, Err: code, Count: 3})
			w, end, v := s.read(readPlan(nil), b)
			must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed == 2000,
				"%d records, end %q (%v), want 2000 and all; %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
			must.True(t, faults.Hits() != 0, "no fetch was refused")
			s.whole(v, 2000)
		})
	}
}

func TestALeaderThatMovesInARoundTripLosesNothing(t *testing.T) {
	for _, group := range []string{"", "g"} {
		t.Run("group "+group, func(t *testing.T) {
			s := newScene(t, 3)
			s.nth(kmsg.Produce, 20, func() {
				for p := range int32(3) {
					err := s.fake.MoveTopicPartition("t", p, (s.fake.LeaderFor("t", p)+1)%3)
					must.True(t, err == nil, "%v", err)
				}
			})
			w, end, v := s.roundtrip(2000, 2000, func(p *plan.Plan) { p.Read.Group = group })
			// While nothing was written since, kfake does not know where the old leader's
			// epoch ended, and the client begins again. A broker would know.
			if once := w.Consumed - v.Redelivered; end.ReadEnd != engine.ReadAll || once != 2000 {
				t.Errorf("%d records once, end %q (%v), want 2000 and all; %v", once, end.ReadEnd, end.ReadErr, w.FetchErrors)
			}
			s.whole(v, 2000)
		})
	}
}

// flip changes a byte in the middle of an answer with records, which lies in one.
func flip(answer []byte) bool {
	if len(answer) < 2000 {
		return false
	}
	answer[len(answer)/2] ^= 1
	return true
}

func TestABatchThatIsCorruptedOnItsWayIsReadAgain(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 1000)
	var answers atomic.Int32
	corrupt := onAnswer(func(answer []byte) bool {
		if answers.Load() < 2 && flip(answer) {
			answers.Add(1)
		}
		return false
	})
	s.wire.fetched.Store(&corrupt)
	w, end, v := s.read(readPlan(nil), b, "check.crcs=true")
	must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed == 1000 && answers.Load() >= 2,
		"%d records, end %q, want 1000 and all; %v", w.Consumed, end.ReadEnd, w.FetchErrors)
	n := w.FetchErrors["client:OTHER"]
	must.True(t, n != 0, "fetch errors %v, want the corrupted batches counted", w.FetchErrors)
	s.whole(v, 1000)
}

func TestABatchThatStaysCorruptedEndsReadingWhenItsTimeIsOver(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 1000)
	corrupt := onAnswer(func(answer []byte) bool {
		if len(answer) > 150 { // without records it is shorter
			answer[len(answer)-10] ^= 1 // of the last batch: what is before it can be read
		}
		return false
	})
	s.wire.fetched.Store(&corrupt)
	d := &between{Consumer: s.reader(readPlan(func(p *plan.Plan) { p.Read.Timeout = plan.Duration(300 * time.Millisecond) }), b, "check.crcs=true")}
	w, end, v := s.readWith(d, d.Consumer, b, engine.Options{Started: func() { // the time has not begun
		for n, err := d.reader.Read(t.Context(), 1000, 0); n > 0 || err != nil; n, err = d.reader.Read(t.Context(), 1000, 0) {
			must.Hold(t, err == nil, "%v", err)
		}
	}})
	must.True(t, end.ReadEnd == engine.ReadIdle && w.FetchErrors["client:OTHER"] != 0,
		"end %q, fetch errors %v, want the timeout, and errors counted", end.ReadEnd, w.FetchErrors)
	must.Match(t, []int64{0, 1000}, []int64{v.Lost, v.AcknowledgedRead + v.Unchecked}, "verdict %+v", v)
}

// Without check.crcs, kt's default, the stamp has a checksum of its own.
func TestAPayloadThatIsNotAsItWasSentIsFound(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 1000)
	corrupt := onAnswer(func(answer []byte) bool {
		if i := bytes.LastIndexByte(answer, 'A'); len(answer) > 2000 && i > 0 { // values are letters
			answer[i] = 'a'
		}
		return false
	})
	s.wire.fetched.Store(&corrupt)
	w, _, v := s.read(readPlan(nil), b)
	must.True(t, w.Consumed == 1000 && v.Corrupted != 0 && v.AcknowledgedRead == 1000-v.Corrupted,
		"%d records, verdict %+v, want corrupted ones", w.Consumed, v)
}

func TestARecordThatWasWrittenWrongIsFound(t *testing.T) {
	s := newScene(t, 1)
	raw := s.client(kgo.DefaultProduceTopic("t"))
	for seq := range int64(10) {
		value := make([]byte, 100)
		stamp := ledger.Stamp{Run: testRun, Seq: seq}
		stamp.Put(value, ledger.Around{})
		if seq == 4 {
			value[77]++ // the checksum of its batch is right
		}
		must.Do(t, raw.ProduceSync(t.Context(), &kgo.Record{Value: value, Timestamp: stamp.Time()}).FirstErr())
	}
	b := &ledger.Book{Run: testRun, Acks: "all", Lanes: []ledger.Lane{
		{Issued: 10, Acknowledged: ledger.Ranges{{From: 0, To: 10}}, LastOffset: 9},
	}}
	_, end, v := s.read(readPlan(nil), b, "check.crcs=true")
	must.True(t, end.ReadEnd == engine.ReadAll && v.Corrupted == 1 && v.Lost == 1 && v.AcknowledgedRead == 9,
		"end %q, verdict %+v, want 1 corrupted, which is lost", end.ReadEnd, v)
}

// client is a client that is not kt's.
func (s *scene) client(opts ...kgo.Opt) *kgo.Client {
	s.Helper()
	c := must.Have(s.cluster.Client(opts...))(s)
	s.Cleanup(c.Close)
	return c
}

func TestThrottlingIsCounted(t *testing.T) {
	const pause = 30 * time.Millisecond
	s := newScene(t, 2)
	fetches, produces := 3, 3
	s.fake.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if fetches == 0 || produces == 3 { // readers fetch before the load begins, which does not count
			return nil, nil, false
		}
		s.fake.KeepControl()
		fetches--
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		resp.ThrottleMillis = int32(pause.Milliseconds())
		return resp, nil, true
	})
	s.fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if produces == 0 {
			return nil, nil, false
		}
		s.fake.KeepControl()
		produces--
		return refuse(req.(*kmsg.ProduceRequest), kerr.NotEnoughReplicas, pause), nil, true
	})
	w, _, v := s.roundtrip(500, 1000, nil)
	var fetch, produce time.Duration
	for _, b := range w.Brokers {
		fetch += b.Fetch.Throttle
		produce += b.Throttle
	}
	must.Match(t, []time.Duration{3 * pause, 3 * pause}, []time.Duration{fetch, produce}, "throttled for %s on fetches and %s on produce requests", fetch, produce)
	s.whole(v, 500)
}

// refuse answers a produce request with an error for every partition.
func refuse(req *kmsg.ProduceRequest, code *kerr.Error, throttle time.Duration) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	resp.ThrottleMillis = int32(throttle.Milliseconds())
	for _, topic := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code.Code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func TestAnAnswerThatIsLost(t *testing.T) {
	for _, tc := range []struct {
		name       string
		properties []string
		duplicates bool
		blame      string
	}{
		{"idempotent", nil, false, ""},
		{"not idempotent", []string{"enable.idempotence=false"}, true, "a batch whose answer is lost is written again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 1)
			var answers atomic.Int32
			hangUp := onAnswer(func([]byte) bool { return answers.Add(1) == 3 })
			s.wire.produced.Store(&hangUp)
			d := s.sender(2000, tc.properties...)
			w := s.send(d, engine.Options{})
			must.Hold(t, w.Acknowledged == 2000 && answers.Load() >= 4,
				"%d records were acknowledged in %d answers: %v", w.Acknowledged, answers.Load(), w.Errors)
			b := bookOf(d)
			_, _, v := s.read(readPlan(nil), b)
			if !tc.duplicates {
				s.whole(v, 2000)
				return
			}
			must.True(t, v.Duplicated != 0 && v.Lost == 0 && v.AcknowledgedRead == 2000, "verdict %+v, want duplicates and nothing lost", v)
			must.True(t, len(v.Blame) == 1 && strings.Contains(v.Blame[0], tc.blame), "blame %q, want %q", v.Blame, tc.blame)
		})
	}
}

func TestARecordThatFailedAndIsThereIsResurrected(t *testing.T) {
	s := newScene(t, 1)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: kerr.NotEnoughReplicasAfterAppend, Count: 2}) // it appends, and says so
	d := s.sender(1000, "enable.idempotence=false", "retries=0")
	d.Plan.Load.Rate = plan.Rate{PerSecond: 2000}
	w := s.send(d, engine.Options{})
	must.Hold(t, w.Failed != 0 && w.Failed+w.Acknowledged == 1000, "%d failed and %d acknowledged, want some of each", w.Failed, w.Acknowledged)
	_, _, v := s.read(readPlan(nil), bookOf(d))
	// The client fails with a batch what waits behind it, so not all that failed was sent.
	must.True(t, v.Resurrected != 0 && v.Resurrected <= w.Failed && v.Failed == w.Failed && v.Lost == 0 && v.AcknowledgedRead == w.Acknowledged,
		"verdict %+v, want some of %d resurrected", v, w.Failed)
}

// What a failed producer did not write is neither lost nor resurrected.
func TestARecordThatFailedAndIsNotThere(t *testing.T) {
	s := newScene(t, 1)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: kerr.InvalidRecord, Count: 1})
	d := s.sender(1000)
	w := s.send(d, engine.Options{})
	must.Hold(t, w.Failed != 0, "none failed: %d acknowledged", w.Acknowledged)
	_, _, v := s.read(readPlan(nil), bookOf(d))
	must.Match(t, []int64{0, w.Failed, 0, w.Acknowledged}, []int64{v.Resurrected, v.Failed, v.Lost, v.AcknowledgedRead}, "verdict %+v", v)
}

func TestAnAbortedTransactionIsNotLost(t *testing.T) {
	s := newScene(t, 1)
	raw := s.client(kgo.DefaultProduceTopic("t"), kgo.TransactionalID("tx"))
	seq := int64(0)
	for _, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		must.Do(t, raw.BeginTransaction())
		for range 10 {
			value := make([]byte, 100)
			stamp := ledger.Stamp{Run: testRun, Seq: seq}
			stamp.Put(value, ledger.Around{})
			seq++
			must.Do(t, raw.ProduceSync(t.Context(), &kgo.Record{Value: value, Timestamp: stamp.Time()}).FirstErr())
		}
		must.Do(t, raw.EndTransaction(t.Context(), commit))
	}
	b := &ledger.Book{Run: testRun, Acks: "all", Idempotent: true, Lanes: []ledger.Lane{{
		Issued: 40, Acknowledged: ledger.Ranges{{From: 0, To: 40}}, Aborted: ledger.Ranges{{From: 10, To: 20}, {From: 30, To: 40}}, LastOffset: 42,
	}}}
	for _, tc := range []struct {
		isolation             string
		consumed, abortedRead int64
	}{
		{"read_committed", 20, 0},
		{"read_uncommitted", 40, 20},
	} {
		t.Run(tc.isolation, func(t *testing.T) {
			w, end, v := s.read(readPlan(nil), b, "isolation.level="+tc.isolation)
			must.True(t, w.Consumed == tc.consumed && end.ReadEnd == engine.ReadAll,
				"%d records, end %q, want %d and all", w.Consumed, end.ReadEnd, tc.consumed)
			must.Match(t, []int64{0, 0, 20, tc.abortedRead, 20}, []int64{v.Lost, v.Unchecked, v.Aborted, v.AbortedRead, v.AcknowledgedRead}, "verdict %+v", v)
		})
	}
}

// What retention takes while a reader is on its way is not lost.
func TestWhatRetentionTakesMeanwhileIsNotLost(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 5000)
	s.nth(kmsg.Fetch, 2, func() {
		err := s.fake.DeleteRecords("t", 0, 4000)
		must.True(t, err == nil, "%v", err)
	})
	w, end, v := s.read(readPlan(nil), b, "max.partition.fetch.bytes=20000")
	must.True(t, end.ReadEnd == engine.ReadAll && w.Consumed != 5000,
		"%d records, end %q (%v), want fewer than 5000 and all", w.Consumed, end.ReadEnd, end.ReadErr)
	must.Match(t, []int64{0, 5000}, []int64{v.Lost, v.AcknowledgedRead + v.Unchecked}, "verdict %+v", v)
}
