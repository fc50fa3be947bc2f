package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/watch"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
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

// testCluster is an in-process cluster with a topic of so many partitions.
func testCluster(t *testing.T, topic string, partitions int32) *kafka.Cluster {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(partitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return connect(t, fake.ListenAddrs())
}

func connect(t *testing.T, addrs []string) *kafka.Cluster {
	t.Helper()
	c, err := kafka.Connect(t.Context(), kafka.Access{Bootstrap: addrs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stamped writes records with stamps to the topic t and returns the book of it.
func stamped(t *testing.T, c *kafka.Cluster, partitions int, records int64) *ledger.Book {
	t.Helper()
	d := producer(t, c, partitions)
	d.Plan.Load.Records = records
	var sum total
	if _, err := engine.Run(t.Context(), d.Plan, engine.Drivers{Send: d}, engine.Options{}, &sum); err != nil {
		t.Fatal(err)
	}
	if sum.w.Acknowledged != records {
		t.Fatalf("%d of %d records were acknowledged: %v", sum.w.Acknowledged, records, sum.w.Errors)
	}
	return book(d)
}

func book(d *Producer) *ledger.Book {
	return &ledger.Book{Run: d.Run, Topic: d.Plan.Topic.Name, Idempotent: true, Acks: "all", Retries: true, Lanes: d.Lanes()}
}

func producer(t *testing.T, c *kafka.Cluster, partitions int) *Producer {
	t.Helper()
	p := plan.Plan{
		Command: plan.Produce, Topic: plan.Topic{Name: "t"}, Producers: 2,
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys, Stamp: true},
	}
	values, err := MakeValues(&p)
	if err != nil {
		t.Fatal(err)
	}
	return &Producer{Cluster: c, Plan: p, Settings: producing(t, p.Payload.MaxBytes()), Values: values, Partitions: partitions, Run: testRun}
}

// reading is what a test reads.
func reading(change func(*plan.Plan)) plan.Plan {
	p := plan.Plan{
		Command: plan.Consume, Topic: plan.Topic{Name: "t"},
		Read: plan.Read{Consumers: 1, Commit: plan.CommitNone, ToEnd: true, Timeout: plan.Duration(10 * time.Second)},
	}
	if change != nil {
		change(&p)
	}
	return p
}

func consumer(ctx context.Context, t *testing.T, c *kafka.Cluster, p plan.Plan, b *ledger.Book) (*Consumer, error) {
	t.Helper()
	var properties []string
	if p.Read.Group != "" {
		properties = []string{"group.id=" + p.Read.Group, "heartbeat.interval.ms=50"} // a member hears with it that another one has come
	}
	topics, err := c.ReadTopics(ctx, p)
	if err != nil {
		return nil, err
	}
	return NewConsumer(ctx, c, ReadOptions{Plan: p, Settings: consuming(t, properties...), Topics: topics, Book: b})
}

// lagOf is the source of the consumer lag beside a consumer.
func lagOf(d *Consumer) *watch.ConsumerLag { return watch.NewConsumerLag(d.cluster, d.Positions()) }

// read reads and returns everything that was counted.
func read(t *testing.T, c *kafka.Cluster, p plan.Plan, b *ledger.Book) (stats.Window, engine.End, *Consumer) {
	t.Helper()
	d, err := consumer(t.Context(), t, c, p, b)
	if err != nil {
		t.Fatal(err)
	}
	var sum total
	end, err := engine.Run(t.Context(), p, engine.Drivers{Read: d}, engine.Options{Sources: []engine.Source{lagOf(d)}}, &sum)
	if err != nil {
		t.Fatal(err)
	}
	return sum.w, end, d
}

func TestAConsumerReadsWhatIsThere(t *testing.T) {
	t.Parallel() // one of them waits until no more come
	c := testCluster(t, "t", 7)
	stamped(t, c, 7, 5000)
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
			w, end, _ := read(t, c, reading(tc.change), nil)
			if w.Consumed != tc.want || end.ReadEnd != tc.why || end.ReadErr != nil {
				t.Errorf("%d records, end %q (%v); want %d, %q", w.Consumed, end.ReadEnd, end.ReadErr, tc.want, tc.why)
			}
			var inPartitions int64
			for _, p := range w.Partitions {
				inPartitions += p.Consumed
			}
			if inPartitions != w.Consumed || w.ConsumedBytes != 100*w.Consumed {
				t.Errorf("%d records in partitions and %d bytes, want %d and %d", inPartitions, w.ConsumedBytes, w.Consumed, 100*w.Consumed)
			}
			if tc.why == engine.ReadAll && w.ConsumerLag != 0 {
				t.Errorf("consumer lag %d at the end, want 0", w.ConsumerLag)
			}
		})
	}
}

func TestWhatCannotBeReadIsSaidBefore(t *testing.T) {
	c := testCluster(t, "orders", 2)
	for _, tc := range []struct {
		name   string
		change func(*plan.Plan)
		want   string
	}{
		{"no such topic", func(p *plan.Plan) { p.Topic.Name = "order" }, "did you mean orders?"},
		{"nothing matches", func(p *plan.Plan) { p.Topic.Name, p.Read.Include = "", "x.*" }, `"x.*"`},
		{"an offset beyond the end", func(p *plan.Plan) {
			p.Topic.Name, p.Read.From = "orders", plan.From{HasOffset: true, Offset: 7}
		}, "partition 0 of topic orders holds offsets 0 to 0"},
		{"a time beyond the end", func(p *plan.Plan) {
			p.Topic.Name, p.Read.From = "orders", plan.From{Time: time.Now().Add(time.Hour)}
		}, "--from"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := consumer(t.Context(), t, c, reading(tc.change), nil)
			var misfit *kafka.MisfitError
			if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.As(err, &misfit) {
				t.Errorf("error %v, want a misfit with %q", err, tc.want)
			}
		})
	}
}

func TestEveryRecordIsAccountedFor(t *testing.T) {
	c := testCluster(t, "t", 5)
	b := stamped(t, c, 5, 3000)
	for _, tc := range []struct {
		name   string
		change func(*plan.Plan)
		sets   int64
	}{
		{"one reader", nil, 1},
		{"a group of three", func(p *plan.Plan) { p.Read.Group, p.Read.Consumers = "v", 3 }, 1},
		{"two groups", func(p *plan.Plan) { p.Read.Group, p.Read.Groups = "w", 2 }, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, d := read(t, c, reading(tc.change), b)
			readings, err := d.Readers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			v := b.Verify(readings...)
			if v.AcknowledgedRead != 3000*tc.sets || v.Lost+v.Duplicated+v.Reordered+v.Corrupted+v.Unchecked+v.Unstamped != 0 {
				t.Errorf("verdict %+v, want %d records read and nothing wrong", v, 3000*tc.sets)
			}
		})
	}
}

// What a raw client writes beside the load is found.
func TestADuplicateAndAReorderingAreFound(t *testing.T) {
	c := testCluster(t, "t", 1)
	d := producer(t, c, 1)
	d.Plan.Load.Records = 10
	if _, err := engine.Run(t.Context(), d.Plan, engine.Drivers{Send: d}, engine.Options{}, &total{}); err != nil {
		t.Fatal(err)
	}
	raw, err := c.Client(kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	write := func(producer uint16, seq int64) {
		value := make([]byte, 60)
		s := ledger.Stamp{Run: testRun, Seq: seq, Producer: producer, Due: time.Now().UnixNano()}
		s.Put(value, ledger.Around{})
		if err := raw.ProduceSync(t.Context(), &kgo.Record{Value: value, Timestamp: s.Time()}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 2)                            // again
	for _, seq := range []int64{0, 2, 1} { // of a producer of its own
		write(7, seq)
	}
	if err := raw.ProduceSync(t.Context(), kgo.StringRecord("something else")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b := book(d)
	b.Lanes = append(b.Lanes, ledger.Lane{Producer: 7, Issued: 3, Acknowledged: ledger.Ranges{{From: 0, To: 3}}, LastOffset: 13})
	_, _, reader := read(t, c, reading(nil), b)
	readings, err := reader.Readers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v := b.Verify(readings...)
	if v.Duplicated != 1 || v.Reordered != 1 || v.Unstamped != 1 || v.Lost != 0 || v.AcknowledgedRead != 13 {
		t.Errorf("verdict %+v, want 1 duplicated, 1 reordered, 1 unstamped, 0 lost of 13", v)
	}
}

func TestARoundTripReadsWhatItWrites(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := testCluster(t, "t", 3)
	d := producer(t, c, 3)
	p := d.Plan
	p.Command = plan.Roundtrip
	p.Read = plan.Read{Consumers: 2, Commit: plan.CommitNone, From: plan.From{Latest: true}, Timeout: plan.Duration(10 * time.Second)}
	for _, tc := range []struct {
		name   string
		change func(*plan.Plan)
		want   int64
	}{
		{"at a rate", func(p *plan.Plan) { p.Load.Rate, p.Load.Records = plan.Rate{PerSecond: 2000}, 1000 }, 1000},
		{"as fast as it goes", func(p *plan.Plan) { p.Load.Records = 5000 }, 5000},
		{"one at a time", func(p *plan.Plan) {
			p.Load.Records, p.Load.OneAtATime, p.Producers, p.Read.Consumers = 200, true, 1, 1
		}, 200},
		{"in a group", func(p *plan.Plan) { p.Load.Records, p.Read.Group = 1000, "round" }, 1000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := p
			tc.change(&p)
			send := producer(t, c, 3)
			send.Plan, send.Run = p, uint64(tc.want)<<8|uint64(len(tc.name))
			b := &ledger.Book{Run: send.Run, Topic: "t", Acks: "all", Idempotent: true}
			reader, err := consumer(t.Context(), t, c, p, b)
			if err != nil {
				t.Fatal(err)
			}
			reader.Run = send.Run
			var sum total
			end, err := engine.Run(t.Context(), p, engine.Drivers{Send: send, Read: reader}, engine.Options{Sources: []engine.Source{lagOf(reader)}}, &sum)
			if err != nil {
				t.Fatal(err)
			}
			if sum.w.Acknowledged != tc.want || sum.w.Consumed != tc.want || sum.w.EndToEnd.Count() != tc.want || end.ReadEnd != engine.ReadAll {
				t.Errorf("%d acknowledged, %d consumed, %d timed, end %q; want %d each", sum.w.Acknowledged, sum.w.Consumed, sum.w.EndToEnd.Count(), end.ReadEnd, tc.want)
			}
			b.Lanes = send.Lanes()
			readings, err := reader.Readers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if v := b.Verify(readings...); v.AcknowledgedRead != tc.want || v.Lost != 0 {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}
