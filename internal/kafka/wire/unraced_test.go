//go:build !race

package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// The race detector has seen what these run in the other tests, and takes several times as long.

func TestBothEnginesReadTheSame(t *testing.T) {
	for _, tc := range []struct {
		name   string
		codec  kgo.CompressionCodec
		change func(*plan.Plan)
		want   int64
	}{
		{"uncompressed", kgo.NoCompression(), nil, 3000},
		{"gzip", kgo.GzipCompression(), nil, 3000},
		{"snappy", kgo.SnappyCompression(), nil, 3000},
		{"lz4", kgo.Lz4Compression(), nil, 3000},
		{"zstd", kgo.ZstdCompression(), nil, 3000},
		{"from within a batch", kgo.Lz4Compression(), func(p *plan.Plan) { p.Read.From = plan.From{HasOffset: true, Offset: 77} }, 3000 - 3*77},
		{"several consumers", kgo.NoCompression(), func(p *plan.Plan) { p.Read.Consumers = 5 }, 3000},
		{"a count, to the record", kgo.NoCompression(), func(p *plan.Plan) { p.Load.Records, p.Read.ToEnd, p.Read.Include, p.Topic.Name = 1234, false, "t", "" }, 1234},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReadScene(t, 3)
			s.write(s.client(kgo.ProducerBatchCompression(tc.codec)), 3, 1000)
			if tc.want == 1234 { // which partitions these are of is not the same
				w, end := s.read(readPlan(tc.change))
				must.True(t, w.Consumed == 1234 && end.ReadEnd == engine.ReadCount, "%d records, end %q", w.Consumed, end.ReadEnd)
				return
			}
			must.Match(t, tc.want, s.same(readPlan(tc.change)).Consumed, "records")
		})
	}
}

// A damaged batch may say of itself that it is of any length. Only its own records are lost.
func TestADamagedHeaderHidesNoOtherBatch(t *testing.T) {
	for _, delta := range []uint32{0, 1500, 1<<31 - 1, 1 << 31} {
		for _, of := range []string{"first", "middle", "last"} {
			for _, properties := range []string{"max.partition.fetch.bytes=1048576", "max.partition.fetch.bytes=100"} {
				t.Run(fmt.Sprintf("%s, %d, %s", of, delta, properties), func(t *testing.T) {
					s := newReadScene(t, 1)
					d, _ := s.send(2500, verified, "batch.size=4000")
					b := s.book(d)
					size := int64(0)
					s.tamper(func(all []format.Batch) []format.Batch {
						for _, b := range all {
							if of == "first" && b.Base() == 0 || of == "last" && b.Next() == 2500 || of == "middle" && b.Base() <= 1000 && b.Next() > 1000 {
								size = int64(b.Count())
								binary.BigEndian.PutUint32(b[format.AtLastDelta:], delta)
							}
						}
						return all
					})
					v, _ := s.verdict(b, properties)
					if v.AcknowledgedRead != 2500-size || v.Lost != size || v.Corrupted != size || v.Unchecked+v.Undecided > 0 || size == 0 {
						t.Errorf("the batch has %d records: verdict %+v", size, v)
					}
				})
			}
		}
	}
}

// A copy has the values of the run, in batches of its own and by another producer. Another run has other values, with the same seed too.
func TestWhatAnotherProducerCopiedIsADuplicate(t *testing.T) {
	for _, tc := range []struct {
		name               string
		size, copied       int
		another            bool
		duplicated, others int64
		uncompared         bool
	}{
		{"copies", 100, 300, false, 300, 0, false},
		{"all, and more than once", 100, 9000, false, 9000, 0, false},
		{"another run", 100, 0, true, 0, 700, false},
		{"another run, and copies of both", 100, 300, true, 300, 700, false},
		{"values that another run may have", 3, 0, true, 0, 700, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReadScene(t, 2)
			change := func(p *plan.Plan) { verified(p); p.Payload.Size = plan.FixedSize(tc.size) }
			d, _ := s.send(3000, change, "batch.size=4000")
			b := s.book(d)
			b.OwnValues = d.Plan.Payload.OwnValues()
			if records := s.scene.read(3000); tc.copied > 0 {
				c := s.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
				for i := range tc.copied {
					r := records[i%3000]
					must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: (r.Partition + int32(i)) % 2, Value: r.Value}).FirstErr())
				}
			}
			if tc.another {
				other := s.producer(700, func(p *plan.Plan) { change(p); p.Seed ^= 99 }, "batch.size=4000")
				s.scene.run(other)
			}
			v, _ := s.verdict(b)
			again, _ := s.verdict(b, "max.poll.records=7")
			for _, v := range []ledger.Verdict{v, again} {
				if v.AcknowledgedRead != 3000 || v.Duplicated != tc.duplicated || v.Copied != tc.duplicated || v.Unstamped != tc.others || v.Checked != 3000+tc.duplicated ||
					(v.Uncompared == tc.others) != tc.uncompared && tc.others > 0 {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}

func TestABatchIsKnownByItsHeader(t *testing.T) {
	for _, tc := range []struct {
		name       string
		change     func(*plan.Plan)
		properties string
	}{
		{"uncompressed", nil, ""},
		{"gzip", nil, "compression.type=gzip"},
		{"snappy", nil, "compression.type=snappy"},
		{"lz4", nil, "compression.type=lz4"},
		{"zstd", nil, "compression.type=zstd"},
		{"records smaller than a stamp", func(p *plan.Plan) { p.Payload.Size = plan.FixedSize(1) }, ""},
		{"three producers", func(p *plan.Plan) { p.Producers = 3 }, ""},
		{"a rate", func(p *plan.Plan) { p.Load.Rate = plan.Rate{PerSecond: 20_000} }, "linger.ms=5"},
		{"no linger", nil, "linger.ms=0"},
		{"records that differ", func(p *plan.Plan) { p.Payload.Kind = plan.Monotonic }, "compression.type=lz4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newReadScene(t, 3)
			d, w := s.send(5003, func(p *plan.Plan) {
				verified(p)
				if tc.change != nil {
					tc.change(p)
				}
			}, append(strings.Fields(tc.properties), "batch.size=4000")...)
			must.Hold(t, w.Acknowledged == 5003, "%d acknowledged, %d failed: %v", w.Acknowledged, w.Failed, w.Errors)
			must.Match(t, d.Plan.Payload.Kind == plan.Monotonic, d.each, "records were encoded one by one")
			b := s.book(d)
			v, read := s.verdict(b)
			sound(t, v, 5003)
			must.Match(t, []int64{5003, w.Bytes}, []int64{read.Consumed, read.ConsumedBytes}, "%d records of %d bytes were read", read.Consumed, read.ConsumedBytes)
			again, _ := s.verdict(b, "max.poll.records=7")
			sound(t, again, 5003)
		})
	}
}
