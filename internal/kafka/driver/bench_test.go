package driver

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func benchPlan(records int) plan.Plan {
	return plan.Plan{
		Command: "produce", Producers: 1, Seed: 1,
		Topic:   plan.Topic{Name: "bench", Partitions: 7},
		Load:    plan.Load{Records: int64(records), Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(512), Keys: plan.NoKeys},
	}
}

type discard struct{}

func (discard) Observe([]stats.Window) {}

// ownCost is the real worker with the client taken out: it makes each record and
// acknowledges it at once.
type ownCost struct{ *worker }

func (o *ownCost) Do(op *engine.Op) bool {
	r, ok := op.State.(*record)
	if !ok {
		r = o.newRecord(op)
	}
	r.Key, r.Value = o.generator.Fill(&r.memory, op.Index)
	r.Timestamp = op.Wall
	op.Bytes = len(r.Key) + len(r.Value)
	r.Partition = int32(op.Index>>5) & 7 // batches of 32 records
	r.done(&r.Record, nil)
	return false
}

func (o *ownCost) Flush(context.Context) error { return nil }
func (o *ownCost) Close() error                { return nil }

type ownDriver struct {
	engine.Driver
	values *payload.Values
}

func (d ownDriver) Open(_ context.Context, s *engine.Shard) (engine.Worker, error) {
	p := benchPlan(1)
	return &ownCost{&worker{
		shard: s, topic: p.Topic.Name, hooks: writing.NewHooks(s, 5, false), generator: d.values.Generator(p, s.Index, s.Count),
	}}, nil
}

// BenchmarkOwnCostPerRecord is what kt adds to each record beside franz-go: pacer,
// op, payload, and the recorder at both ends.
func BenchmarkOwnCostPerRecord(b *testing.B) {
	for name, rate := range map[string]plan.Rate{
		"unlimited": plan.Unlimited,
		"fixed":     {PerSecond: 1e9}, // so high that the sender never sleeps
	} {
		b.Run(name, func(b *testing.B) {
			p := benchPlan(b.N)
			p.Load.Rate = rate
			values, err := payload.MakeValues(&p)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := engine.Run(context.Background(), p, engine.Drivers{Send: ownDriver{values: values}}, engine.Options{}, discard{}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkFranzGoPerRecord is a plain loop around franz-go with the same settings
// and the embedded broker, whose part of the work is in the figure.
func BenchmarkFranzGoPerRecord(b *testing.B) {
	cluster, settings := benchCluster(b)
	client, err := cluster.Client(append(settings.Options(), kgo.MaxBufferedRecords(50_000))...)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	value := make([]byte, 512)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		client.Produce(context.Background(), &kgo.Record{Topic: "bench", Value: value}, nil)
	}
	if err := client.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkKtPerRecord is the same load through all of kt.
func BenchmarkKtPerRecord(b *testing.B) {
	cluster, settings := benchCluster(b)
	p := benchPlan(b.N)
	values, err := payload.MakeValues(&p)
	if err != nil {
		b.Fatal(err)
	}
	driver := &Producer{Cluster: cluster, Plan: p, Settings: settings, Values: values}
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := engine.Run(context.Background(), p, engine.Drivers{Send: driver}, engine.Options{}, discard{}); err != nil {
		b.Fatal(err)
	}
}

func benchCluster(b *testing.B) (*kafka.Cluster, javaconf.Producer) {
	b.Helper()
	broker, err := kafka.StartEmbedded(false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(broker.Close)
	cluster, err := kafka.Connect(context.Background(), kafka.Access{Bootstrap: broker.Addrs()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cluster.Close)
	if _, err := cluster.EnsureTopic(context.Background(), benchPlan(1), false); err != nil {
		b.Fatal(err)
	}
	return cluster, producing(b, 512, "acks=1")
}
