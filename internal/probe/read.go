package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

const (
	readSequential  = mib
	readInterleaved = 128 * kib
	readDepth       = 2
	readFiles       = 32
)

// shelf is files that were filled with real writes, to be read back. Space that
// was only allocated would read as zeros that no disk has seen.
type shelf struct {
	files
	each   int64 // bytes
	direct bool
}

// fill lays out the files of a shelf.
func (r *runner) fill(ctx context.Context, p *place, size int64) (*shelf, error) {
	n := int(min(size/mib, readFiles))
	s := &shelf{each: size / int64(n) / mib * mib, direct: true}
	var err error
	if s.files, err = newFiles(p.Path, n, true); errors.Is(err, errNoDirect) {
		s.direct = false
		s.files, err = newFiles(p.Path, n, false)
	}
	if err != nil {
		return nil, explain(p.Path, err)
	}
	data := newPool(mib, size)
	t := trial{test: testRead, quiet: true, duration: longest, workers: []worker{func(ctx context.Context, m *meter) error {
		for _, f := range s.files {
			for at := int64(0); at < s.each; at += mib {
				if err := ctx.Err(); err != nil {
					return err
				}
				b := data.next(mib)
				if err := m.time(mib, func() error { _, err := f.WriteAt(b, at); return err }); err != nil {
					return err
				}
			}
			if err := dataSync(f); err != nil {
				return err
			}
			forget(f)
		}
		return nil
	}}}
	if _, err = r.drive(ctx, p, t); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// reads names the way in which they are read.
func (s *shelf) reads() string {
	if s.direct {
		return "direct reads"
	}
	return "reads through the page cache"
}

// forget drops the files from the page cache, so that reads are the device's again.
func (s *shelf) forget() {
	for _, f := range s.files {
		forget(f)
	}
}

// workers read blocks of a size: file by file, or a block of each file in turn.
// Without direct reads they read everything once, for the next time it would come
// from memory.
func (s *shelf) workers(block int, interleaved bool) []worker {
	per := s.each / int64(block)
	total := per * int64(len(s.files))
	var next atomic.Int64
	var all []worker
	for range readDepth {
		b := aligned(block)
		all = append(all, func(ctx context.Context, m *meter) error {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if !s.direct && i >= total {
					return nil
				}
				i %= total
				file, at := i/per, i%per
				if interleaved {
					file, at = i%int64(len(s.files)), i/int64(len(s.files))
				}
				if err := m.time(block, func() error { _, err := s.files[file].ReadAt(b, at*int64(block)); return err }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all
}

// read finds the rate at which a reader that lags behind is served: file by file,
// and from many files in turn.
func (r *runner) read(ctx context.Context, p *place) ([]Result, error) {
	s, err := r.fill(ctx, p, p.SizeBytes)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var all []Result
	for _, t := range []trial{
		{test: testRead, what: s.reads() + " of 1 MiB, file by file, 2 at a time", workers: s.workers(readSequential, false)},
		{
			test: partReadInterleaved, what: fmt.Sprintf("%s of 128 KiB from %d files in turn, 2 at a time", s.reads(), len(s.files)),
			workers: s.workers(readInterleaved, true),
		},
	} {
		if !s.direct {
			s.forget()
		}
		t.read, t.duration = true, r.t.read
		out, err := r.drive(ctx, p, t)
		result := t.result(out)
		if !s.direct {
			result.Notes = append(result.Notes, "this file system has no direct reads: the page cache took part, and each file was read once")
		}
		if all = append(all, result); err != nil {
			return all, err
		}
	}
	return all, nil
}

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
