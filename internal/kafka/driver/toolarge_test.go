package driver

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// bombs writes a batch of each codec that decompresses to 15 MiB, between two small ones, and returns how many offsets that are.
func (s *scene) bombs(partition int32) (all int64) {
	s.Helper()
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c := s.client(kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<20), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for _, size := range []int{10, 15 << 20} {
			r := &kgo.Record{Partition: partition, Value: make([]byte, size)}
			must.Do(s, c.ProduceSync(s.Context(), r).FirstErr())
			all++
		}
	}
	return all
}

// readLittle reads with little memory to decompress into.
func (s *scene) readLittle(p plan.Plan, b *ledger.Book, properties ...string) (stats.Window, engine.End, ledger.Verdict) {
	s.Helper()
	d := s.reader(p, b, properties...)
	d.Memory.Most = 8 << 20
	return s.readWith(d, d, b, engine.Options{})
}

func TestABatchThatIsTooLargeIsPassedOverAndNamed(t *testing.T) {
	s := newScene(t, 2)
	b := stamped(t, s.cluster, 2, 1000)
	s.bombs(1)
	w, end, v := s.readLittle(readPlan(nil), b)
	if w.Consumed != 1004 || end.ReadEnd != engine.ReadAll || w.FetchErrors["client:BATCH_TOO_LARGE"] != 4 {
		t.Errorf("%d records, end %q (%v), %v; want 1004, all, and 4 batches too large", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
	}
	if v.TooLarge != 4 || v.AcknowledgedRead != 1000 || v.Lost != 0 {
		t.Errorf("verdict %+v, want 4 offsets too large, and 1000 records read", v)
	}
	large := slices.DeleteFunc(w.Events, func(e stats.Event) bool { return e.Kind != stats.TooLarge })
	if len(large) != 4 || large[0].Partitions[0] != 1 {
		t.Errorf("events %+v, want 4 of partition 1", large)
	}
}

func TestAGroupCommitsPastABatchThatIsTooLarge(t *testing.T) {
	for _, how := range []plan.Commit{plan.CommitAuto, plan.CommitSync, plan.CommitAsync} {
		for _, protocol := range []string{"classic", "consumer"} {
			t.Run(string(how)+" "+protocol, func(t *testing.T) {
				s := newScene(t, 1)
				all := s.bombs(0)
				w, end, _ := s.readLittle(readPlan(func(p *plan.Plan) { inGroup(p); p.Read.Commit = how }), nil, "group.protocol="+protocol)
				if w.Consumed != 4 || end.ReadEnd != engine.ReadAll {
					t.Errorf("%d records, end %q (%v), want 4 and all; %v", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
				}
				committed := must.Have(kadm.NewClient(s.client()).FetchOffsets(t.Context(), "g"))(t)
				if o, _ := committed.Lookup("t", 0); o.At != all {
					t.Errorf("committed offset %d, want %d", o.At, all)
				}
			})
		}
	}
}

func TestRecordsInABatchThatIsTooLargeAreUncheckedAndNotLost(t *testing.T) {
	s := newScene(t, 1)
	d := s.sender(100, "compression.type=zstd", "linger.ms=1000", "batch.size=10000000", "buffer.memory=100000000")
	s.send(d, engine.Options{})
	b := bookOf(d)
	reader := s.reader(readPlan(nil), b)
	reader.Memory.Most = 2 << 10
	w, _, v := s.readWith(reader, reader, b, engine.Options{})
	if w.FetchErrors["client:BATCH_TOO_LARGE"] == 0 || v.Lost != 0 || v.Unchecked == 0 || v.Unchecked != v.TooLarge {
		t.Errorf("%v, verdict %+v, want records that are unchecked and none lost", w.FetchErrors, v)
	}
}
