package probe

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// mixedShare is how much of the sustained rate is appended while others read.
const mixedShare = 0.7

// mixed finds what readers that lag behind cost the writers: appends at 70 % of
// what append sustained, first alone, then with reads from many files.
func (r *runner) mixed(ctx context.Context, p *place) (Result, error) {
	s, err := r.fill(ctx, p, p.SizeBytes/2)
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	all, closeAll, err := newAppended(p, p.SizeBytes/2)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer closeAll()
	perSecond := max(mixedShare*p.sustained()*mib/appendBlock, 1)
	asked := perSecond * appendBlock / mib
	t := trial{
		test: testMixed, duration: r.t.mixed,
		what: fmt.Sprintf("appends at %s MiB/s with %s of 128 KiB from %d files at the same time", theme.Amount(asked), s.reads(), len(s.files)),
	}
	var waited atomic.Int64
	t.workers = appendWorkers(all, p.SizeBytes, perSecond, &waited)
	alone, err := r.drive(ctx, p, t)
	if err != nil {
		return t.result(alone), err
	}
	readers := newReaders(s)
	t.workers = append(t.workers, readers.workers...)
	out, err := r.drive(ctx, p, t)
	result := t.result(out)
	was := alone.latency()
	result.Alone = &was
	rate := readers.rate()
	result.Read = &rate
	if err == nil {
		result.Notes = append(result.Notes, behind("without readers", t.result(alone).MiBPerSecond, asked)...)
		result.Notes = append(result.Notes, behind("beside readers", result.MiBPerSecond, asked)...)
	}
	if held := time.Duration(waited.Load()); held > 0 {
		result.LatencyUngraded = true
		result.Notes = append(result.Notes, fmt.Sprintf("the writers waited %s in total for the device, to keep within the size: "+
			"the percentiles include it, so they have no grade", held.Round(time.Millisecond)))
	}
	return result, err
}

// behind notes a rate that is less than was asked for: appends were due that the
// device did not take.
func behind(when string, rate, asked float64) []string {
	const enough = 0.95
	if rate >= enough*asked {
		return nil
	}
	return []string{fmt.Sprintf("%s it wrote %s of the target of %s MiB/s: the percentiles include the delay", when, theme.Amount(rate), theme.Amount(asked))}
}

// readers counts what is read in a trial whose results are those of its writers.
type readers struct {
	workers []worker
	bytes   atomic.Int64

	mu    sync.Mutex
	begin time.Time
	end   time.Time
}

func newReaders(s *shelf) *readers {
	b := new(readers)
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
func (b *readers) rate() float64 {
	length := b.end.Sub(b.begin).Seconds()
	if length <= 0 {
		return 0
	}
	return float64(b.bytes.Load()) / mib / length
}
