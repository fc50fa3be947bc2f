package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// nullWorker acknowledges its ops in batches, on the sender's goroutine: what is
// left is what kt adds to each record.
type nullWorker struct {
	shard *Shard
	batch []*Op
}

func (w *nullWorker) Do(op *Op) bool {
	op.Bytes = 100
	if w.batch = append(w.batch, op); len(w.batch) == cap(w.batch) {
		w.answer()
	}
	return false
}

func (w *nullWorker) answer() {
	at := w.shard.Now()
	for _, op := range w.batch {
		op.Acknowledge(int32(op.Index>>6&7), at)
	}
	w.batch = w.batch[:0]
}

func (w *nullWorker) OpRecords() int  { return w.shard.most }
func (w *nullWorker) Place(*Op) int32 { return -1 }

func (w *nullWorker) Flush(context.Context) error { w.answer(); return nil }
func (w *nullWorker) Close() error                { return nil }

// nullShard is a shard of a run that has begun, with a null worker.
func nullShard(l plan.Load) *Shard {
	r := &run{plan: producing(l), opts: Options{}.withDefaults(), stop: make(chan struct{}), made: time.Now(), readers: newReaders(nil)}
	s := r.alone(0)
	s.worker = &nullWorker{shard: s, batch: make([]*Op, 0, 100)}
	return s
}

// alone returns a shard that shares its tally with none.
func (r *run) alone(index int) *Shard {
	s := newShard(r, index)
	r.share([]*Shard{s})
	return s
}

// behind is a rate that no sender keeps up with: it never sleeps.
var behind = plan.Rate{PerSecond: 1e9}

// BenchmarkOp is all that kt does for one record: the pacer, the op, both looks
// of the recorder, and the acknowledgement.
func BenchmarkOp(b *testing.B) {
	for _, bc := range []struct {
		name string
		load plan.Load
	}{
		{"uniform", plan.Load{Rate: behind}},
		{"poisson", plan.Load{Rate: behind, Arrivals: plan.Poisson}},
		{"closed", plan.Load{}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			bc.load.Records = 20_000
			s := nullShard(bc.load)
			s.send() // the memory of ops and histograms
			bc.load.Records = int64(b.N)
			s.pacer = bc.load.Pacer(0, 1, 100, 1)
			s.run.made = time.Now()
			b.ReportAllocs()
			b.ResetTimer()
			s.send()
		})
	}
}

// BenchmarkAnswers is what answers cost that come to all shards at once, each with one
// record: what the shards share shows here.
func BenchmarkAnswers(b *testing.B) {
	r := nullShard(plan.Load{Rate: behind}).run
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		s := r.alone(0)
		op := s.oneOp()
		for at := time.Duration(1); pb.Next(); at++ {
			op.outstanding = true
			op.Acknowledge(0, at)
			s.returned = s.returned[:0]
		}
	})
}

// oneOp is an op of one record that was handed over when the run began.
func (s *Shard) oneOp() *Op {
	s.grow()
	op := s.local[0]
	op.Records, op.outstanding = 1, true
	return op
}

// counted is a pacer that can be wound up again.
type counted struct{ left int }

func (c *counted) Take(_ time.Duration, most int) (int, time.Duration) {
	n := max(0, min(most, c.left))
	c.left -= n
	return n, 0
}

func (c *counted) Next() (time.Duration, bool) {
	c.left--
	return 0, c.left >= 0
}

func (c *counted) Change(time.Duration, float64) (time.Duration, bool) { return 0, true }

func TestARecordOnItsWayDoesNotAllocate(t *testing.T) {
	for _, rate := range []plan.Rate{behind, plan.Unlimited} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			s := nullShard(plan.Load{Rate: rate})
			pacer := &counted{left: 20_000}
			s.pacer = pacer
			s.send()
			const records = 10_000
			if n := testing.AllocsPerRun(10, func() {
				pacer.left = records
				s.send()
			}); n != 0 {
				t.Errorf("%v allocations for %d records, want 0", n, records)
			}
			must.Match(t, 20_000+11*records, s.sent.records, "records were sent")
		})
	}
}
