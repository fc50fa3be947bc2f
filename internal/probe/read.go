package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// shelf is files that were filled with real writes, to be read back: allocated space would read as zeros that no disk has seen.
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
	data, at := newPool(mib, size), int64(0)
	t := trial{test: testRead, quiet: true, duration: longest, workers: []worker{repeat(0, func(m *meter, begin time.Time) error {
		if at == int64(n)*s.each {
			return errDone
		}
		f := s.files[at/s.each]
		if err := m.write(begin, f, data.next(mib), at%s.each); err != nil {
			return err
		}
		if at += mib; at%s.each > 0 {
			return nil
		}
		defer forget(f)
		return dataSync(f)
	})}}
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

// workers read blocks of a size: file by file, or a block of each file in turn. Without direct reads they read everything once, for
// the next time it would come from memory.
func (s *shelf) workers(block int, interleaved bool) (all []worker) {
	per, files := s.each/int64(block), int64(len(s.files))
	var next atomic.Int64
	for range readDepth {
		b := aligned(block)
		all = append(all, repeat(0, func(m *meter, begin time.Time) error {
			i := next.Add(1) - 1
			if !s.direct && i >= per*files {
				return errDone
			}
			i %= per * files
			file, at := i/per, i%per
			if interleaved {
				file, at = i%files, i/files
			}
			return m.time(begin, block, func() error { _, err := s.files[file].ReadAt(b, at*int64(block)); return err })
		}))
	}
	return all
}

// read finds the rate at which a reader that lags behind is served: file by file, and from many files in turn.
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
			for _, f := range s.files {
				forget(f)
			}
		}
		t.read, t.duration = true, r.t.read
		out, err := r.drive(ctx, p, t)
		if !s.direct {
			out.note("this file system has no direct reads: the page cache took part, and each file was read once")
		}
		if all = append(all, out.Result); err != nil {
			return all, err
		}
	}
	return all, nil
}

// mixedShare is how much of the sustained rate is appended while others read.
const mixedShare = 0.7

// mixed finds what readers that lag behind cost the writers: appends at 70 % of what append sustained, first alone, then with reads
// from many files.
func (r *runner) mixed(ctx context.Context, p *place) (Result, error) {
	s, err := r.fill(ctx, p, p.SizeBytes/2)
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	all, closeAll, err := newAppended(p, p.SizeBytes/2)
	if err != nil {
		return Result{}, err
	}
	defer closeAll()
	found := p.found(func(r *Result) bool { return r.Append != nil })
	sustained := found.MiBPerSecond // of which memory took a part
	if found.Append != nil {
		sustained = cmp.Or(found.Append.SustainedMiBPerSecond, sustained)
	}
	perSecond := max(mixedShare*sustained*mib/appendBlock, 1)
	asked := perSecond * appendBlock / mib
	var waited atomic.Int64
	own := newMeter(time.Time{}) // the results are those of the writers
	readers := s.workers(readInterleaved, true)
	took := make([]time.Duration, len(readers))
	for i, read := range readers {
		readers[i] = func(ctx context.Context, _ *meter) error {
			begin := time.Now()
			defer func() { took[i] = time.Since(begin) }()
			return read(ctx, own)
		}
	}
	alone, out, err := r.beside(ctx, p, trial{
		test: testMixed, duration: r.t.mixed,
		what:    fmt.Sprintf("appends at %s MiB/s with %s of 128 KiB from %d files at the same time", theme.Amount(asked), s.reads(), len(s.files)),
		workers: appendWorkers(all, p.SizeBytes, perSecond, &waited),
	}, readers...)
	if out.Alone == nil {
		return out.Result, err
	}
	rate := float64(own.done.Load()) / mib / max(slices.Max(took).Seconds(), 1e-9)
	out.Read = &rate
	if err == nil {
		out.Notes = slices.Concat(out.Notes, behind("without readers", alone.MiBPerSecond, asked), behind("beside readers", out.MiBPerSecond, asked))
	}
	if held := time.Duration(waited.Load()); held > 0 {
		out.LatencyUngraded = true
		out.note("the writers waited %s in total for the device, to keep within the size: the percentiles include it, so they have no grade",
			held.Round(time.Millisecond))
	}
	return out.Result, err
}

// behind notes a rate that is less than was asked for: appends were due that the device did not take.
func behind(when string, rate, asked float64) []string {
	const enough = 0.95
	if rate >= enough*asked {
		return nil
	}
	return []string{fmt.Sprintf("%s it wrote %s of the target of %s MiB/s: the percentiles include the delay", when, theme.Amount(rate), theme.Amount(asked))}
}
