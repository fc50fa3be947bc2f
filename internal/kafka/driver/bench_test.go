package driver

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/must"
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
		shard: s, topic: p.Topic.Name, hooks: writing.NewHooks(s, javaconf.Producer{}), generator: d.values.Generator(p, s.Index, s.Count),
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
			values := must.Have(payload.MakeValues(&p))(b)
			b.ReportAllocs()
			b.ResetTimer()
			must.Have(engine.Run(context.Background(), p, engine.Drivers{Send: ownDriver{values: values}}, engine.Options{}, discard{}))(b)
		})
	}
}

// BenchmarkFranzGoPerRecord is a plain loop around franz-go with the same settings
// and the embedded broker, whose part of the work is in the figure.
func BenchmarkFranzGoPerRecord(b *testing.B) {
	cluster, settings := benchCluster(b)
	client := must.Have(cluster.Client(append(settings.Options(), kgo.MaxBufferedRecords(50_000))...))(b)
	defer client.Close()
	value := make([]byte, 512)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		client.Produce(context.Background(), &kgo.Record{Topic: "bench", Value: value}, nil)
	}
	must.Do(b, client.Flush(context.Background()))
}

// BenchmarkKtPerRecord is the same load through all of kt.
func BenchmarkKtPerRecord(b *testing.B) {
	cluster, settings := benchCluster(b)
	p := benchPlan(b.N)
	values := must.Have(payload.MakeValues(&p))(b)
	driver := &Producer{Cluster: cluster, Plan: p, Settings: settings, Values: values}
	b.ReportAllocs()
	b.ResetTimer()
	must.Have(engine.Run(context.Background(), p, engine.Drivers{Send: driver}, engine.Options{}, discard{}))(b)
}

func benchCluster(b *testing.B) (*kafka.Cluster, javaconf.Producer) {
	b.Helper()
	broker := must.Have(kafka.StartEmbedded(false))(b)
	b.Cleanup(broker.Close)
	cluster := must.Have(kafka.Connect(context.Background(), kafka.Access{Bootstrap: broker.Addrs()}))(b)
	b.Cleanup(cluster.Close)
	must.Have(cluster.EnsureTopic(context.Background(), benchPlan(1), false))(b)
	return cluster, producing(b, 512, "acks=1")
}
