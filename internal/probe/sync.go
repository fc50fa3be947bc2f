package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

const (
	syncBlock     = 4 * kib
	syncBlockEtcd = 2300 // of the recipe by which etcd's users judge a disk
	syncMost      = 2000 // operations, unless it is said how long to go on
	syncLive      = 5    // a second, beside a broker
)

func (t timing) syncs(Options) time.Duration {
	if t.syncSize {
		return t.sync + t.sync/2
	}
	return t.sync
}

// syncs is sync with the size of Kafka's log, and in some modes with etcd's.
func (r *runner) syncs(ctx context.Context, p *place) ([]Result, error) {
	result, err := r.sync(ctx, p, testSync, syncBlock)
	all := []Result{result}
	if err == nil && r.t.syncSize {
		result, err = r.sync(ctx, p, partSyncEtcd, syncBlockEtcd)
		all = append(all, result)
	}
	return all, err
}

// sync appends and syncs, one at a time, as a controller's log does. What counts is how long the sync took.
func (r *runner) sync(ctx context.Context, p *place, name string, block int) (Result, error) {
	f, err := nameless(p.Path, false)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer files{f}.close()
	data := newPool(block, p.SizeBytes)
	t := trial{test: name, what: fmt.Sprintf("appends of %d bytes, each with fdatasync, one at a time", block), duration: r.t.sync}
	perSecond := 0.0
	if r.o.Mode == Live {
		t.givesWay, perSecond = true, syncLive
		t.what += fmt.Sprintf(", %d a second", syncLive)
	}
	if name == partSyncEtcd {
		t.duration /= 2
	}
	n, at := 0, int64(0)
	t.workers = []worker{repeat(perSecond, func(m *meter, _ time.Time) error {
		if n++; n > syncMost && r.o.Duration == 0 {
			return errDone
		}
		if at+int64(block) > p.SizeBytes { // from the start, so that it appends all the same
			if err := f.Truncate(0); err != nil {
				return err
			}
			at = 0
		}
		if _, err := f.WriteAt(data.next(block), at); err != nil {
			return err
		}
		at += int64(block)
		return m.time(time.Now(), block, func() error { return dataSync(f) })
	})}
	out, err := r.drive(ctx, p, t)
	p.sayUnlogged(&out.Result)
	return out.Result, err
}

// sayUnlogged notes where a sync of kt's files is less than one of a broker's.
func (p *place) sayUnlogged(r *Result) {
	if p.unlogged != "" {
		r.LatencyUngraded = true
		r.note("%s may not log files without a name, such as kt's: a broker's syncs can take longer, so the latencies have no grade", p.unlogged)
	}
}

const (
	commitBlock = 16 * kib
	commitRate  = 20e6 / commitBlock // appends a second: 20 MB/s
	commitEvery = 2 * time.Second
)

// commit finds what appends wait for when the file system commits its journal: paced appends, first alone, then while another file
// is filled and synced every two seconds.
func (r *runner) commit(ctx context.Context, p *place) (Result, error) {
	f, err := newFiles(p.Path, 2, false)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer f.close()
	filled := min(64*mib, p.SizeBytes/4/mib*mib)
	_, out, err := r.beside(ctx, p, trial{
		test: testCommit, duration: r.t.commit,
		what:    fmt.Sprintf("buffered appends of 16 KiB at 20 MB/s, while %s are written and synced every 2 s", theme.Bytes(filled)),
		workers: []worker{paced(f[0], commitBlock, p.SizeBytes/2, commitRate)},
	}, fillAndSync(f[1], filled, newPool(mib, p.SizeBytes)))
	p.sayUnlogged(&out.Result)
	return out.Result, err
}

// fillAndSync fills a file and syncs it, as a broker does with a segment, again and again.
func fillAndSync(f *os.File, size int64, data *pool) worker {
	return func(ctx context.Context, m *meter) error {
		return repeat(1/commitEvery.Seconds(), func(*meter, time.Time) error {
			if err := f.Truncate(0); err != nil {
				return err
			}
			for at := int64(0); at < size && ctx.Err() == nil; at += mib {
				if _, err := f.WriteAt(data.next(mib), at); err != nil {
					return err
				}
			}
			return f.Sync()
		})(ctx, m)
	}
}

// write finds the ceiling of the device: direct writes of 1 MiB, one after the other in one file, 4 under way at a time.
func (r *runner) write(ctx context.Context, p *place) (Result, error) {
	const block, depth = mib, 4
	t := trial{
		test: testWrite, what: "direct writes of 1 MiB in sequence to one file, 4 at a time",
		warmup: r.t.warmup, duration: r.t.write,
	}
	f, err := nameless(p.Path, true)
	isDirect := !errors.Is(err, errNoDirect)
	if !isDirect {
		f, err = nameless(p.Path, false)
		t.what = "writes of 1 MiB in sequence to one file, each synced, 4 at a time"
	}
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer files{f}.close()
	blocks := p.SizeBytes / block
	if err := allocate(f, blocks*block); err != nil {
		return Result{}, explain(p.Path, err)
	}
	var next atomic.Int64
	for range depth {
		data := newPool(block, p.SizeBytes)
		t.workers = append(t.workers, repeat(0, func(m *meter, begin time.Time) error {
			at := (next.Add(1) - 1) % blocks * block
			b := data.next(block)
			return m.time(begin, block, func() error {
				if _, err := f.WriteAt(b, at); err != nil || isDirect {
					return err
				}
				return dataSync(f)
			})
		}))
	}
	out, err := r.drive(ctx, p, t)
	if !isDirect {
		out.note("this file system has no direct writes: the page cache and a sync took part")
	}
	return out.Result, err
}
