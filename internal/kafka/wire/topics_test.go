package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/driver"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Several topics have their records as their turns say, in each partition of each, and every record is accounted for. What reads
// them may be either engine.
func TestRecordsOfSeveralTopicsAreAccountedFor(t *testing.T) {
	const topics, partitions, records = 5, 3, 6000
	odd := func(number int32) bool { return number%2 == 1 }
	for _, tc := range []struct {
		name   string
		change func(*plan.Plan)
		first  [2]int64 // records of the first topic, at least and at most
		has    func(number int32) bool
	}{
		{"evenly", nil, [2]int64{1000, 1400}, nil},
		{"by Zipf's law", func(p *plan.Plan) { p.Topic.Distribution = "zipf:2" }, [2]int64{3700, 4500}, nil}, // 68 %
		{"keys", func(p *plan.Plan) { p.Payload.Keys, p.Payload.KeyRange = plan.RandomKeys, 50 }, [2]int64{1000, 1400}, nil},
		{"not verified", func(p *plan.Plan) { p.Verify, p.Payload.Stamp = false, false }, [2]int64{1000, 1400}, nil},
		{"three producers", func(p *plan.Plan) { p.Producers = 3 }, [2]int64{1000, 1400}, nil},
		{"a half of the partitions", func(p *plan.Plan) { p.Share = plan.Share{Producers: 2, Slots: 2, Slot: 1} }, [2]int64{500, 1400}, odd},
		{"one partition of fifteen", func(p *plan.Plan) { p.Share = plan.Share{Producers: 2, Slots: 15, Slot: 4} }, [2]int64{0, 0}, func(number int32) bool { return number == 4 }},
	} {
		for _, e := range plan.Engines {
			t.Run(fmt.Sprintf("%s, %s", tc.name, e), func(t *testing.T) {
				s := newReadScene(t, 1)
				p := plan.Plan{
					Command: plan.Produce, Engine: e, Topic: plan.Topic{Name: fmt.Sprintf("u-{1..%d}", topics), Partitions: partitions}, Producers: 1, Seed: 7, Verify: true,
					Load:    plan.Load{Records: records, Rate: plan.Rate{PerSecond: 20_000}, Arrivals: plan.Uniform},
					Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys, Stamp: e == plan.Client},
				}
				properties := []string{"linger.ms=0", "batch.size=1000"}
				if tc.change != nil {
					tc.change(&p)
				}
				if e == plan.Wire && p.Payload.Keys != plan.NoKeys {
					properties = append(properties, "partitioner.ignore.keys=true")
				}
				found := must.Have(s.cluster.EnsureTopics(t.Context(), p, false))(t)
				state := &writing.State{Cluster: s.cluster, Plan: p, Settings: settings(t, properties...), Values: must.Have(payload.MakeValues(&p))(t), Layout: kafka.NewLayout(found), Partitions: topics * partitions, Run: 42}
				var d engine.Driver = &driver.Producer{State: state}
				limits := engine.Options{}
				if e == plan.Wire {
					wired := NewProducer(state)
					d, limits.BufferRecords = wired, wired.BufferRecords()
				}
				var w total
				must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: d}, limits, &w))(t)
				issued := p.RecordsToRead()
				if p.Share.Producers > 0 {
					issued = records / 2
				}
				must.Match(t, [2]int64{issued, 0}, [2]int64{w.Acknowledged, w.Failed}, "acknowledged and failed: %v;", w.Errors)
				first, ends := int64(0), must.Have(s.cluster.EndOffsets(t.Context(), state.Layout, false))(t)
				for number := range int32(topics * partitions) {
					got := w.Partitions[number].Records
					must.True(t, (got > 0) == (tc.has == nil || tc.has(number)), "partition %d has %d records", number, got)
					must.Match(t, ends[number], got, "partition %d: records in the log, and counted", number)
					if number < partitions {
						first += got
					}
				}
				must.True(t, first >= tc.first[0] && first <= tc.first[1], "the first topic has %d records, want %v", first, tc.first)
				b := &ledger.Book{Run: 42, SameTopic: true, Start: make([]int64, topics*partitions), Headers: !p.Payload.Stamp, Idempotent: true, Acks: "all", Retries: true, Lanes: d.Lanes()}
				for _, topic := range found {
					b.Topics = append(b.Topics, ledger.BookTopic{Name: topic.Name, Partitions: topic.Partitions})
				}
				var reads []func(*readScene, *ledger.Book) (ledger.Verdict, stats.Window)
				if p.Verify {
					reads = append(reads, (*readScene).byWire)
				}
				if p.Payload.Stamp {
					reads = append(reads, (*readScene).byClient)
				}
				for _, read := range reads {
					v, got := read(s, b)
					must.True(t, v.AcknowledgedRead == issued && v.Lost+v.Duplicated+v.Reordered+v.Corrupted+v.Foreign+v.Unissued == 0, "verdict %+v", v)
					for number := range int32(topics * partitions) {
						must.Match(t, w.Partitions[number].Records, got.Partitions[number].Consumed, "partition %d: records read", number)
					}
				}
			})
		}
	}
}

func (s *readScene) byWire(b *ledger.Book) (ledger.Verdict, stats.Window) {
	d := NewConsumer(s.state(readPlan(func(p *plan.Plan) { p.Topic.Name = strings.Join(b.Names(), ",") }), b))
	w, _ := s.run(d.Plan, d)
	return b.Verify(must.Have(d.Readers(s.Context()))(s)...), w
}

func (s *readScene) byClient(b *ledger.Book) (ledger.Verdict, stats.Window) {
	d := driver.NewConsumer(s.state(readPlan(func(p *plan.Plan) { p.Topic.Name, p.Read.Group = strings.Join(b.Names(), ","), "g" }), b, "group.id=g"))
	w, _ := s.run(d.Plan, d)
	return b.Verify(must.Have(d.Readers(s.Context()))(s)...), w
}
