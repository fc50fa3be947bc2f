package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
)

func TestABatchThatIsTooLargeIsPassedOver(t *testing.T) {
	s := newReadScene(t, 1)
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c := s.client(kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<20))
		for _, size := range []int{10, 15 << 20} {
			must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: make([]byte, size)}).FirstErr())
		}
	}
	b := &ledger.Book{Run: 1, Start: []int64{0}, SameTopic: true}
	state := s.state(readPlan(nil), b)
	state.Memory.Most = 8 << 20
	w, end := s.run(readPlan(nil), NewConsumer(state))
	if w.Consumed != 4 || end.ReadEnd != engine.ReadAll || w.FetchErrors["client:BATCH_TOO_LARGE"] != 4 || len(w.Events) != 4 {
		t.Errorf("%d records, end %q (%v), %v, events %+v; want 4, all, and 4 batches too large", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors, w.Events)
	}
	readers := must.Have(state.Readers(t.Context()))(t)
	must.Match(t, 4, b.Verify(readers...).TooLarge, "offsets were too large")
}

// Whoever has the memory may give it back: the reader waits, and reads all.
func TestABatchWithoutMemoryIsTriedAgain(t *testing.T) {
	s := newReadScene(t, 1)
	c := s.client(kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerBatchMaxBytes(64<<20))
	for range 3 {
		must.Do(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: make([]byte, 5<<20)}).FirstErr())
	}
	state := s.state(readPlan(nil), nil)
	state.Memory.Most = 8 << 20
	if w, end := s.run(readPlan(nil), NewConsumer(state)); w.Consumed != 3 || end.ReadEnd != engine.ReadAll || len(w.FetchErrors) > 0 {
		t.Errorf("%d records, end %q (%v), %v; want 3 and all", w.Consumed, end.ReadEnd, end.ReadErr, w.FetchErrors)
	}
}
