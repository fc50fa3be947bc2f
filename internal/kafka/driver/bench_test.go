package driver

import (
	"context"
	"testing"

	"github.com/kt-bench/kt/internal/engine"
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
		shard: s, targets: []writing.Target{{Name: p.Topic.Name}}, hooks: writing.NewHooks(s, javaconf.Producer{}), generator: d.values.Generator(p, s.Index, s.Count),
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
