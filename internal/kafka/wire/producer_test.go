package wire

import (
	"context"
	"fmt"
	"io"
	"slices"
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
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// total is a sink that adds everything up.
type total struct{ stats.Window }

func (s *total) Observe(windows []stats.Window) {
	for i := range windows {
		s.Add(&windows[i])
	}
}

// scene is a cluster in the process with a topic t, and a producer for it.
type scene struct {
	*testing.T
	fake       *kfake.Cluster
	cluster    *kafka.Cluster
	partitions int
}

func newScene(t *testing.T, partitions int) *scene {
	t.Helper()
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(int32(partitions), "t"),
		kfake.WithLogger(kfake.BasicLogger(io.Discard, kfake.LogLevelNone))))(t)
	t.Cleanup(fake.Close)
	c := must.Have(kafka.Connect(t.Context(), kafka.Access{Bootstrap: fake.ListenAddrs()}))(t)
	t.Cleanup(c.Close)
	return &scene{t, fake, c, partitions}
}

// send writes records of 100 bytes with a producer of these properties.
func (s *scene) send(records int64, change func(*plan.Plan), properties ...string) (*Producer, stats.Window) {
	s.Helper()
	d := s.producer(records, change, properties...)
	return d, s.run(d)
}

func (s *scene) producer(records int64, change func(*plan.Plan), properties ...string) *Producer {
	s.Helper()
	p := plan.Plan{
		Command: plan.Produce, Engine: plan.Wire, Topic: plan.Topic{Name: "t"}, Producers: 1, Seed: 1, Load: plan.Load{Records: records, Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
	}
	if change != nil {
		change(&p)
	}
	values := must.Have(payload.MakeValues(&p))(s)
	return NewProducer(&writing.State{Cluster: s.cluster, Plan: p, Settings: settings(s, properties...), Values: values, Layout: kafka.NewLayout([]result.Topic{{Name: "t", Partitions: s.partitions}}), Partitions: s.partitions, Run: 42})
}

func (s *scene) run(d *Producer) stats.Window {
	s.Helper()
	return s.runWith(d, d)
}

// runWith makes the load of a producer with a driver that wraps it.
func (s *scene) runWith(d *Producer, send engine.Driver) stats.Window {
	s.Helper()
	var sum total
	o := engine.Options{BufferRecords: d.BufferRecords(), DrainTimeout: time.Minute}
	must.Have(engine.Run(s.Context(), d.Plan, engine.Drivers{Send: send}, o, &sum))(s)
	return sum.Window
}

// read returns so many records with an ordinary client, and no more.
func (s *scene) read(records int64) []*kgo.Record {
	s.Helper()
	client := must.Have(s.cluster.Client(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())))(s)
	defer client.Close()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	var all []*kgo.Record
	for int64(len(all)) < records && ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			s.Fatalf("after %d records: %v", len(all), err)
		}
		all = append(all, fetches.Records()...)
	}
	ends := must.Have(s.cluster.EndOffsets(s.Context(), kafka.NewLayout([]result.Topic{{Name: "t", Partitions: s.partitions}}), false))(s)
	held := int64(0)
	for _, end := range ends {
		held += end
	}
	must.Match(s, []int64{records, records}, []int64{held, int64(len(all))}, "%d records were read, and the log holds %d", len(all), held)
	return all
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	const records = 5003
	headers := []plan.Header{{Key: "a", Value: "b"}, {Key: "c", Value: ""}}
	for _, tc := range []struct {
		name       string
		change     func(*plan.Plan)
		properties string
	}{
		{"acks all", nil, "acks=all"},
		{"acks 1", nil, "acks=1"},
		{"no linger", nil, "acks=1 linger.ms=0"},
		{"small batches", nil, "batch.size=700"},
		{"no batches", nil, "batch.size=0"},
		{"one request at a time", nil, "max.in.flight.requests.per.connection=1 acks=1"},
		{"gzip", nil, "compression.type=gzip"},
		{"snappy", nil, "compression.type=snappy acks=1"},
		{"lz4", nil, "compression.type=lz4"},
		{"zstd", nil, "compression.type=zstd"},
		{"three producers", func(p *plan.Plan) { p.Producers = 3 }, ""},
		{"a rate", func(p *plan.Plan) { p.Load.Rate = plan.Rate{PerSecond: 20_000} }, "linger.ms=5"},
		{"a rate, compressed", func(p *plan.Plan) { p.Load.Rate = plan.Rate{PerSecond: 20_000} }, "compression.type=zstd"},
		{"keys and headers", func(p *plan.Plan) {
			p.Payload.Headers, p.Payload.Keys, p.Payload.KeyRange = headers, plan.RandomKeys, 1000
		}, "partitioner.ignore.keys=true"},
		{"numbers", func(p *plan.Plan) { p.Payload.Kind = plan.Monotonic }, "compression.type=lz4"},
		{"stamps", func(p *plan.Plan) { p.Payload.Stamp = true }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 3)
			d, w := s.send(records, tc.change, strings.Fields(tc.properties)...)
			if w.Offered != records || w.Acknowledged != records || w.Failed+w.Unknown+w.Unsent != 0 {
				t.Fatalf("%d offered, %d acknowledged, %d failed %v, %d unknown, %d unsent", w.Offered, w.Acknowledged, w.Failed, w.Errors, w.Unknown, w.Unsent)
			}
			size, seen := 0, make(map[int32]int)
			for _, r := range s.read(records) {
				seen[r.Partition]++
				size += len(r.Key) + len(r.Value)
				n := len(d.Plan.Payload.Headers)
				must.Hold(t, len(r.Headers) == n && (r.Key != nil) == (n > 0), "key %q, headers %v", r.Key, r.Headers)
			}
			must.True(t, w.Bytes == int64(size) && len(seen) == 3, "%d bytes were counted, and %d read, of partitions %v", w.Bytes, size, seen)
			batches, inBatches := int64(0), int64(0)
			for _, b := range w.Brokers {
				batches, inBatches = batches+b.Batches, inBatches+b.Records
			}
			must.True(t, inBatches == records && batches != 0 && w.BatchFill.Count() == batches, "%d records in %d batches", inBatches, batches)
		})
	}
}

func TestWithoutAcksNobodyAnswers(t *testing.T) {
	s := newScene(t, 3)
	s.send(1000, nil) // so that offsets are no counts
	d, w := s.send(2000, nil, "acks=0")
	must.Match(t, 2000, w.Acknowledged, "acknowledged")
	sent := int64(0)
	for _, n := range d.Acked() {
		sent += n
	}
	must.Match(t, 2000, sent, "sent by Acked")
	s.read(3000)
}

// fault is what a broker says to some requests, or does.
type fault struct {
	name    string
	answer  *kerr.Error
	taken   bool // the broker has the batch all the same
	cut     bool // it closes the connection
	want    string
	renewed bool
}

func TestRecordsSurviveFaultsOnce(t *testing.T) {
	for _, f := range []fault{
		{name: "the leader has moved", answer: kerr.NotLeaderForPartition},
		{name: "a topic id that is not known yet", answer: kerr.UnknownTopicID},
		{name: "storage", answer: kerr.KafkaStorageError},
		{name: "too few replicas", answer: kerr.NotEnoughReplicas},
		{name: "no answer in time, and taken", answer: kerr.RequestTimedOut, taken: true},
		{name: "a connection that ends", cut: true},
		{name: "a connection that ends after the batch was taken", cut: true, taken: true},
		{name: "too large", answer: kerr.MessageTooLarge, want: "MESSAGE_TOO_LARGE"},
		{name: "not allowed", answer: kerr.TopicAuthorizationFailed, want: "TOPIC_AUTHORIZATION_FAILED"},
		{name: "out of order", answer: kerr.OutOfOrderSequenceNumber, want: "OUT_OF_ORDER_SEQUENCE_NUMBER", renewed: true},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := newScene(t, 2)
			const records, faults = 3000, 3
			refused := s.inject(f, faults)
			_, w := s.send(records, func(p *plan.Plan) { p.Payload.Stamp = true }, "batch.size=2000", "retry.backoff.ms=1", "retry.backoff.max.ms=1")
			must.Hold(t, refused.Load() == faults, "%d faults, want %d", refused.Load(), faults)
			must.True(t, (w.Failed > 0) == (f.want != "") && w.Errors[f.want] == w.Failed && w.Acknowledged+w.Failed == records,
				"%d acknowledged, %d failed: %v", w.Acknowledged, w.Failed, w.Errors)
			must.Match(t, f.renewed, renewed(&w), "events %v", w.Events)
			s.read(w.Acknowledged)
		})
	}
}

// renewed reports whether a producer got a new id.
func renewed(w *stats.Window) bool {
	return slices.ContainsFunc(w.Events, func(e stats.Event) bool { return e.Kind == stats.ProducerRenewed })
}

// inject lets the brokers misbehave so many times.
func (s *scene) inject(f fault, times int32) *atomic.Int32 {
	done, inside := new(atomic.Int32), new(atomic.Bool)
	beside, err := s.cluster.Client() // its requests are not looked at
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(beside.Close)
	s.fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		if done.Load() == times || inside.Load() {
			return nil, nil, false
		}
		done.Add(1)
		if f.taken {
			node := s.fake.CurrentNode()
			inside.Store(true)
			defer inside.Store(false)
			s.fake.SleepControl(func() {
				if _, err := beside.Broker(int(node)).Request(s.Context(), r); err != nil && s.Context().Err() == nil {
					s.Error(err)
				}
			})
		}
		if f.cut {
			return nil, fmt.Errorf("cut"), true
		}
		req := r.(*kmsg.ProduceRequest)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range req.Topics {
			to := kmsg.NewProduceResponseTopic()
			to.Topic, to.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, f.answer.Code
				to.Partitions = append(to.Partitions, p)
			}
			resp.Topics = append(resp.Topics, to)
		}
		return resp, nil, true
	})
	return done
}

func TestWhatAPlanAsksForInVainIsNamed(t *testing.T) {
	keyed := &plan.Plan{Payload: plan.Payload{Keys: plan.RangeKeys}}
	for want, errs := range map[string][]error{
		"transactional.id=x":       Fits(&plan.Plan{Payload: plan.Payload{Keys: plan.NoKeys}}, settings(t, "transactional.id=x")),
		"--key-distribution range": Fits(keyed, settings(t)),
		"RoundRobinPartitioner":    Fits(&plan.Plan{Payload: plan.Payload{Keys: plan.NoKeys}}, settings(t, "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner")),
	} {
		must.True(t, len(errs) == 1 && strings.Contains(errs[0].Error(), want), "%v, want one that names %s", errs, want)
	}
	errs := Fits(keyed, settings(t, "partitioner.ignore.keys=true"))
	must.True(t, errs == nil, "keys that choose nothing: %v", errs)
}

// A lane accounts for its records in the ledger, so what it wrote is verified as any other load.
func TestTheLedgerKnowsTheOutcomes(t *testing.T) {
	s := newScene(t, 2)
	d, _ := s.send(1000, func(p *plan.Plan) { p.Payload.Stamp = true })
	var issued, acked int64
	for _, l := range d.Lanes() {
		issued, acked = issued+l.Issued, acked+l.Acknowledged.Count()
	}
	must.Match(t, []int64{1000, 1000}, []int64{issued, acked}, "%d issued, %d acknowledged", issued, acked)
	var stamp ledger.Stamp
	for _, r := range s.read(1000) {
		status := ledger.ReadStamp(r.Value, ledger.Around{Key: r.Key}, &stamp)
		must.Hold(t, status == ledger.Stamped && r.Timestamp.Equal(stamp.Time()), "a record of %s is %s, with stamp %+v", r.Timestamp, status, stamp)
		acked := d.Acked()
		must.Hold(t, r.Offset < acked[r.Partition], "offset %d was read, and %v acknowledged", r.Offset, acked)
	}
}

// prepared is a producer whose workers a test changes before the load begins.
type prepared struct {
	*Producer
	change func(*worker)
}

func (d prepared) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	opened, err := d.Producer.Open(ctx, s)
	if err == nil {
		d.change(opened.(*worker))
	}
	return opened, err
}

func TestABatchWaitsForALeader(t *testing.T) {
	s := newScene(t, 2)
	d := s.producer(1000, func(p *plan.Plan) { p.Payload.Stamp = true }, "batch.size=2000", "retries=5", "retry.backoff.ms=1", "retry.backoff.max.ms=1")
	w := s.runWith(d, prepared{d, func(w *worker) {
		for p := range s.partitions {
			w.leaders.forget(int32(p))
		}
	}})
	must.Hold(t, w.Acknowledged == 1000, "%d acknowledged, %d failed: %v", w.Acknowledged, w.Failed, w.Errors)
	s.read(1000)
}

func TestManyProducersHaveFewerConnectionsEach(t *testing.T) {
	for producers, want := range map[int]int{1: 3, 64: 3, 65: 2, 200: 1} {
		s := newScene(t, 1)
		d := s.producer(1000, func(p *plan.Plan) { p.Producers = producers })
		var least, most atomic.Int64
		least.Store(9)
		s.runWith(d, prepared{d, func(w *worker) {
			n := int64(len(w.clients))
			least.Store(min(least.Load(), n))
			most.Store(max(most.Load(), n))
		}})
		must.True(t, least.Load() == int64(want) && most.Load() == int64(want), "%d producers: %d to %d clients each, want %d", producers, least.Load(), most.Load(), want)
	}
}

// A batch that has waited for delivery.timeout.ms is not sent: nobody counts on it any more.
func TestABatchThatWaitedTooLongIsNotSent(t *testing.T) {
	s := newScene(t, 1)
	d := s.producer(1000, nil, "acks=1")
	w := s.runWith(d, prepared{d, func(w *worker) { w.delivery = 0 }})
	must.True(t, w.Failed == 1000 && w.Errors[deliveryTimeout] == 1000, "%d acknowledged, %d failed: %v", w.Acknowledged, w.Failed, w.Errors)
	s.read(0)
}

// Brokers that no connection can be made to have none of the batches, so that the producer keeps its id.
func TestABatchThatWasNotSentRenewsNoProducer(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answer  *kerr.Error // nil: the connection ends
		retries int64
		want    string
	}{
		{"a connection that ends", nil, 0, "client:NETWORK"},
		{"a wrong password", kerr.SaslAuthenticationFailed, 1000, "SASL_AUTHENTICATION_FAILED"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, 3)
			d := s.producer(1000, nil, "batch.size=2000", "retry.backoff.ms=1", "retry.backoff.max.ms=1")
			w := s.runWith(d, prepared{d, func(w *worker) {
				w.retries = tc.retries
				s.refuseConnections(tc.answer, 10)
			}})
			must.True(t, w.Failed != 0 && w.Acknowledged != 0 && w.Errors[tc.want] == w.Failed && w.Acknowledged+w.Failed == 1000,
				"%d acknowledged, %d failed: %v", w.Acknowledged, w.Failed, w.Errors)
			must.True(t, !renewed(&w), "events %+v", w.Events)
			s.read(w.Acknowledged)
		})
	}
}

// refuseConnections lets the first request on new connections fail so many times.
func (s *scene) refuseConnections(answer *kerr.Error, times int) {
	s.fake.ControlKey(int16(kmsg.ApiVersions), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		if times--; times == 0 {
			s.fake.DropControl()
		}
		if answer == nil {
			return nil, fmt.Errorf("cut"), true
		}
		resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
		resp.ErrorCode = answer.Code
		return resp, nil, true
	})
}
