package probe

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// mixedShare is how much of the sustained rate is appended while others read.
const mixedShare = 0.7

// mixed finds what readers that lag behind cost the writers: appends at 70 % of
// what append sustained, first alone, then with reads from many files.
func (r *runner) mixed(ctx context.Context, p *place, sustained float64) (Result, error) {
	s, err := r.fill(ctx, p, p.SizeBytes/2)
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	all, closeAll, err := newAppended(p.Path, p.SizeBytes/2)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer closeAll()
	perSecond := max(mixedShare*sustained*mib/appendBlock, 1)
	t := trial{
		test: testMixed, duration: r.t.mixed,
		what: fmt.Sprintf("appends at %.0f MiB/s with direct reads of 128 KiB from %d files beside them", perSecond*appendBlock/mib, len(s.files)),
	}
	var waited atomic.Int64
	t.workers = appendWorkers(all, p.SizeBytes, perSecond, &waited)
	alone, err := r.drive(ctx, p, t)
	if err != nil {
		return t.result(alone), err
	}
	readers := readBeside(s)
	t.workers = append(t.workers, readers.workers...)
	out, err := r.drive(ctx, p, t)
	result := t.result(out)
	was := alone.latency()
	result.Alone = &was
	rate := readers.rate()
	result.Read = &rate
	return result, err
}

// beside counts what is read in a trial whose results are those of its writers.
type beside struct {
	workers []worker
	bytes   atomic.Int64

	mu    sync.Mutex
	begin time.Time
	end   time.Time
}

func readBeside(s *shelf) *beside {
	b := new(beside)
	for _, read := range s.workers(readInterleaved, true) {
		b.workers = append(b.workers, func(ctx context.Context, _ *meter) error {
			b.mu.Lock()
			if b.begin.IsZero() {
				b.begin = time.Now()
			}
			b.mu.Unlock()
			own := &meter{recorder: *newRecorder(), done: &b.bytes}
			err := read(ctx, own)
			b.mu.Lock()
			b.end = time.Now()
			b.mu.Unlock()
			return err
		})
	}
	return b
}

// rate is in MiB/s. It may be asked once the workers have ended.
func (b *beside) rate() float64 {
	length := b.end.Sub(b.begin).Seconds()
	if length <= 0 {
		return 0
	}
	return float64(b.bytes.Load()) / mib / length
}
