package driver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/watch"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// total is a sink that adds everything up.
type total struct{ w stats.Window }

func (t *total) Observe(windows []stats.Window) {
	for i := range windows {
		t.w.Add(&windows[i])
	}
}

// testRun is the run whose stamps the records of these tests carry.
const testRun = 42

func connect(t *testing.T, addrs []string) *kafka.Cluster {
	t.Helper()
	c := must.Have(kafka.Connect(t.Context(), kafka.Access{Bootstrap: addrs}))(t)
	t.Cleanup(c.Close)
	return c
}

// stamped writes records with stamps to the topic t and returns the book of it.
func stamped(t *testing.T, c *kafka.Cluster, partitions int, records int64) *ledger.Book {
	t.Helper()
	d := producer(t, c, partitions)
	d.Plan.Load.Records = records
	var sum total
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Send: d}, engine.Options{}, &sum))(t)
	must.Hold(t, sum.w.Acknowledged == records, "%d of %d records were acknowledged: %v", sum.w.Acknowledged, records, sum.w.Errors)
	return book(d)
}

func book(d *Producer) *ledger.Book {
	return &ledger.Book{Run: d.Run, Idempotent: true, Acks: "all", Retries: true, Lanes: d.Lanes()}
}

func producer(t *testing.T, c *kafka.Cluster, partitions int) *Producer {
	t.Helper()
	p := plan.Plan{
		Command: plan.Produce, Topic: plan.Topic{Name: "t"}, Producers: 2,
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys, Stamp: true},
	}
	values := must.Have(payload.MakeValues(&p))(t)
	return &Producer{&writing.State{Cluster: c, Plan: p, Settings: producing(t, p.Payload.MaxBytes()), Values: values, Layout: layout(partitions), Partitions: partitions, Run: testRun}}
}

// readPlan is the reading of a test.
func readPlan(change func(*plan.Plan)) plan.Plan {
	p := plan.Plan{
		Command: plan.Consume, Topic: plan.Topic{Name: "t"},
		Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, ToEnd: true, Timeout: plan.Duration(10 * time.Second)},
	}
	if change != nil {
		change(&p)
	}
	return p
}

// quickBeats lets a member of a group hear soon that another one has come.
const quickBeats = "heartbeat.interval.ms=50"

// lagOf is the source of the consumer lag beside a consumer.
func lagOf(d *Consumer) *watch.ConsumerLag { return watch.NewConsumerLag(d.Cluster, d.At) }

func TestAConsumerReadsWhatIsThere(t *testing.T) {
	s := newScene(t, 7)
	b := stamped(t, s.cluster, 7, 5000)
	for _, tc := range []struct {
		name   string
		change func(*plan.Plan)
		want   int64
		why    engine.ReadEnd
	}{
		{"to the end, without a group", nil, 5000, engine.ReadAll},
		{"three readers share the partitions out", func(p *plan.Plan) { p.Read.Consumers = 3 }, 5000, engine.ReadAll},
		{"more readers than partitions", func(p *plan.Plan) { p.Read.Consumers = 9 }, 5000, engine.ReadAll},
		{"a group", func(p *plan.Plan) { p.Read.Group = "g" }, 5000, engine.ReadAll},
		{"a group of three", func(p *plan.Plan) { p.Read.Group, p.Read.Consumers = "v", 3 }, 5000, engine.ReadAll},
		{"three groups read everything", func(p *plan.Plan) { p.Read.Group, p.Read.Groups = "three", 3 }, 15000, engine.ReadAll},
		{"a count, to the record", func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd = 1234, false }, 1234, engine.ReadCount},
		{"a count, of several readers", func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd, p.Read.Consumers = 4321, false, 3 }, 4321, engine.ReadCount},
		{"more than there are", func(p *plan.Plan) {
			p.Load.Records, p.Read.ToEnd, p.Read.Timeout = 6000, false, plan.Duration(2*time.Second)
		}, 5000, engine.ReadIdle},
		{"from the end", func(p *plan.Plan) { p.Read.From.Latest = true }, 0, engine.ReadAll},
		{"a regular expression", func(p *plan.Plan) { p.Topic.Name, p.Read.Include = "", "t|nothing" }, 5000, engine.ReadAll},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, end, v := s.read(readPlan(tc.change), b, quickBeats)
			must.True(t, w.Consumed == tc.want && end.ReadEnd == tc.why && end.ReadErr == nil,
				"%d records, end %q (%v); want %d, %q", w.Consumed, end.ReadEnd, end.ReadErr, tc.want, tc.why)
			var inPartitions int64
			for _, p := range w.Partitions {
				inPartitions += p.Consumed
			}
			must.Match(t, []int64{w.Consumed, 100 * w.Consumed}, []int64{inPartitions, w.ConsumedBytes}, "%d records in partitions and %d bytes", inPartitions, w.ConsumedBytes)
			must.True(t, tc.why != engine.ReadAll || w.ConsumerLag == 0, "consumer lag %d at the end, want 0", w.ConsumerLag)
			if wrong := v.Lost + v.Duplicated + v.Reordered + v.Corrupted + v.Unstamped; v.AcknowledgedRead != tc.want || wrong != 0 || (v.Unchecked > 0) == (tc.want >= 5000) {
				t.Errorf("verdict %+v, want %d records read, the others unchecked, and nothing wrong", v, tc.want)
			}
		})
	}
}

// polled counts the polls of each reader.
type polled struct {
	*Consumer
	polls []atomic.Int64
}

type polledReader struct {
	engine.Reader
	polls *atomic.Int64
}

func (d *polled) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	r, err := d.Consumer.OpenReader(ctx, s)
	return polledReader{r, &d.polls[s.Index]}, err
}

func (r polledReader) Read(ctx context.Context, limit int, patience time.Duration) (int, error) {
	r.polls.Add(1)
	return r.Reader.Read(ctx, limit, patience)
}

func TestAReaderWithoutPartitionsSleeps(t *testing.T) {
	s := newScene(t, 1)
	stamped(t, s.cluster, 1, 100)
	d := s.reader(readPlan(func(p *plan.Plan) {
		p.Read.Consumers, p.Read.ToEnd, p.Load.Duration = 2, false, plan.Duration(6*time.Second)
	}), nil)
	at := &polled{d, make([]atomic.Int64, 2)}
	var sum total
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Read: at}, engine.Options{}, &sum))(t)
	must.True(t, sum.w.Consumed == 100 && at.polls[0].Load() >= 5 && at.polls[1].Load() <= 3,
		"%d records; %d polls of the reader with the partition, and %d of that without", sum.w.Consumed, at.polls[0].Load(), at.polls[1].Load())
}

func TestWhatCannotBeReadIsSaidBefore(t *testing.T) {
	s := newScene(t, 2)
	for _, tc := range []struct {
		name   string
		change func(*plan.Plan)
		want   string
	}{
		{"no such topic", func(p *plan.Plan) { p.Topic.Name = "T" }, "did you mean t?"},
		{"nothing matches", func(p *plan.Plan) { p.Topic.Name, p.Read.Include = "", "x.*" }, `"x.*"`},
		{"an offset beyond the end", func(p *plan.Plan) { p.Read.From = plan.From{HasOffset: true, Offset: 7} }, "partition 0 of topic t holds offsets 0 to 0"},
		{"a time beyond the end", func(p *plan.Plan) { p.Read.From = plan.From{Time: time.Now().Add(time.Hour)} }, "--from"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := s.consumer(readPlan(tc.change), nil)
			var misfit *result.MisfitError
			if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.As(err, &misfit) {
				t.Errorf("error %v, want a misfit with %q", err, tc.want)
			}
		})
	}
}

// What a raw client writes beside the load is found.
func TestADuplicateAndAReorderingAreFound(t *testing.T) {
	s := newScene(t, 1)
	b := stamped(t, s.cluster, 1, 10)
	raw := s.client(kgo.DefaultProduceTopic("t"))
	write := func(producer uint16, seq int64) {
		value := make([]byte, 60)
		stamp := ledger.Stamp{Run: testRun, Seq: seq, Producer: producer, Due: time.Now().UnixNano()}
		stamp.Put(value, ledger.Around{})
		must.Do(t, raw.ProduceSync(t.Context(), &kgo.Record{Value: value, Timestamp: stamp.Time()}).FirstErr())
	}
	write(0, 2)                            // again
	for _, seq := range []int64{0, 2, 1} { // of a producer of its own
		write(7, seq)
	}
	must.Do(t, raw.ProduceSync(t.Context(), kgo.StringRecord("something else")).FirstErr())
	b.Lanes = append(b.Lanes, ledger.Lane{Producer: 7, Issued: 3, Acknowledged: ledger.Ranges{{From: 0, To: 3}}, LastOffset: 13})
	_, _, v := s.read(readPlan(nil), b)
	must.Match(t, []int64{1, 1, 1, 0, 13}, []int64{v.Duplicated, v.Reordered, v.Unstamped, v.Lost, v.AcknowledgedRead}, "verdict %+v", v)
}

func TestARoundTripReadsWhatItWrites(t *testing.T) {
	for _, tc := range []struct {
		name    string
		records int64
		rate    float64 // 0: as fast as it goes
		change  func(*plan.Plan)
	}{
		{"at a rate", 1000, 2000, nil},
		{"as fast as it goes", 5000, 0, nil},
		{"one at a time", 200, 0, func(p *plan.Plan) { p.Load.OneAtATime, p.Producers, p.Read.Consumers = true, 1, 1 }},
		{"in a group", 1000, 0, inGroup},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 3)
			w, end, v := s.roundtrip(tc.records, tc.rate, func(p *plan.Plan) {
				p.Producers, p.Read.Consumers = 2, 2
				if tc.change != nil {
					tc.change(p)
				}
			}, quickBeats)
			if w.Acknowledged != tc.records || w.Consumed != tc.records || w.EndToEnd.Count() != tc.records || end.ReadEnd != engine.ReadAll {
				t.Errorf("%d acknowledged, %d consumed, %d timed, end %q; want %d each", w.Acknowledged, w.Consumed, w.EndToEnd.Count(), end.ReadEnd, tc.records)
			}
			s.whole(v, tc.records)
		})
	}
}

// producing returns the settings of a producer with these properties, each written
// name=value.
func producing(t testing.TB, recordMax int, words ...string) javaconf.Producer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseProducer(canned.Given("the test", words...), recordMax, false))(t)
	return s
}

// consuming returns the settings of a consumer with these properties.
func consuming(t testing.TB, words ...string) javaconf.Consumer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseConsumer(canned.Given("the test", words...), false))(t)
	return s
}

func TestTheMessageOfABrokerIsInTheFirstError(t *testing.T) {
	said, bad := "some records are bad.", "record\n0 has no key."
	for want, answer := range map[string]kmsg.ProduceResponseTopicPartition{
		"records fail: INVALID_RECORD: record 0 has no key": {
			ErrorCode: kerr.InvalidRecord.Code, ErrorMessage: &said, ErrorRecords: []kmsg.ProduceResponseTopicPartitionErrorRecord{{ErrorMessage: &bad}},
		},
		"records fail: MESSAGE_TOO_LARGE: the topic takes smaller batches (max.message.bytes)": {ErrorCode: kerr.MessageTooLarge.Code},
	} {
		t.Run(want, func(t *testing.T) { refusal(t, want, answer) })
	}
}

// refusal checks how the first error begins when a broker refuses all batches.
func refusal(t *testing.T, want string, answer kmsg.ProduceResponseTopicPartition) {
	t.Helper()
	s := newScene(t, 1)
	s.fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		resp := r.ResponseKind().(*kmsg.ProduceResponse)
		topic := r.(*kmsg.ProduceRequest).Topics[0]
		resp.Topics = []kmsg.ProduceResponseTopic{{Topic: topic.Topic, TopicID: topic.TopicID, Partitions: []kmsg.ProduceResponseTopicPartition{answer}}}
		return resp, nil, true
	})
	d := s.sender(20)
	var sum total
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Send: d}, engine.Options{}, &sum))(t)
	if !slices.ContainsFunc(sum.w.Events, func(e stats.Event) bool { return strings.HasPrefix(e.Text, want) }) {
		t.Errorf("events %+v; want %q", sum.w.Events, want)
	}
}

// refused is a driver whose clients cannot connect when they are opened, and once more for
// every record.
type refused struct{ ownDriver }

type refusedWorker struct{ engine.Worker }

func (d refused) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	w, err := d.ownDriver.Open(ctx, s)
	failConnect(w)
	return refusedWorker{w}, err
}

func failConnect(w engine.Worker) {
	h := w.(*ownCost).hooks
	h.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, errors.New("connection refused"))
	h.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, nil)
}

func (w refusedWorker) Do(op *engine.Op) bool {
	failConnect(w.Worker)
	return w.Worker.Do(op)
}

func TestConnectsThatFailWhileTheLoadGoesOnAreCounted(t *testing.T) {
	p := benchPlan(7)
	values := must.Have(payload.MakeValues(&p))(t)
	var sum total
	must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: refused{ownDriver{values: values}}}, engine.Options{}, &sum))(t)
	must.Match(t, []int64{7, 7}, []int64{sum.w.FailedConnects, sum.w.Acknowledged}, "%d failed connects, %d acknowledged", sum.w.FailedConnects, sum.w.Acknowledged)
}
