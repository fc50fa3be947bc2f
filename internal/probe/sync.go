package probe

import (
	"context"
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

// sync appends and syncs, one at a time, as a controller's log does. What counts
// is how long the sync took.
func (r *runner) sync(ctx context.Context, p *place, name string, block int) (Result, error) {
	f, err := nameless(p.Path, false)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer files{f}.close()
	data := newPool(block, p.SizeBytes)
	live := r.o.Mode == Live
	t := trial{test: name, what: fmt.Sprintf("appends of %d bytes, each with fdatasync, one at a time", block), duration: r.t.sync, givesWay: live}
	if live {
		t.what += fmt.Sprintf(", %d a second", syncLive)
	}
	if name == partSyncEtcd {
		t.duration /= 2
	}
	t.workers = []worker{func(ctx context.Context, m *meter) error {
		var pace *pacer
		if live {
			pace = newPacer(syncLive)
		}
		at := int64(0)
		for i := 0; i < syncMost || r.o.Duration > 0; i++ {
			if pace != nil {
				if _, err := pace.wait(ctx); err != nil {
					return err
				}
			}
			if ctx.Err() != nil {
				return nil
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
			if err := m.time(block, func() error { return dataSync(f) }); err != nil {
				return err
			}
		}
		return nil
	}}
	out, err := r.drive(ctx, p, t)
	result := t.result(out)
	p.sayUnlogged(&result)
	return result, err
}

// sayUnlogged notes where a sync of kt's files is less than one of a broker's.
func (p *place) sayUnlogged(r *Result) {
	if p.unlogged == "" {
		return
	}
	r.LatencyUngraded = true
	r.Notes = append(r.Notes, fmt.Sprintf("%s may not log files without a name, such as kt's: "+
		"a broker's syncs can take longer, so the latencies have no grade", p.unlogged))
}

const (
	commitBlock = 16 * kib
	commitRate  = 20e6 / commitBlock // appends a second: 20 MB/s
	commitEvery = 2 * time.Second
)

// commit finds what appends wait for when the file system commits its journal:
// paced appends, first alone, then while another file is filled and synced every
// two seconds.
func (r *runner) commit(ctx context.Context, p *place) (Result, error) {
	f, err := newFiles(p.Path, 2, false)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer f.close()
	filled := min(64*mib, p.SizeBytes/4/mib*mib)
	t := trial{
		test: testCommit, duration: r.t.commit,
		what: fmt.Sprintf("buffered appends of 16 KiB at 20 MB/s, while %s are written and synced every 2 s", theme.Bytes(filled)),
	}
	t.workers = []worker{paced(f[0], commitBlock, p.SizeBytes/2, commitRate)}
	alone, err := r.drive(ctx, p, t)
	if err != nil {
		return t.result(alone), err
	}
	if err := f[0].Truncate(0); err != nil {
		return t.result(alone), explain(p.Path, err)
	}
	t.workers = append(t.workers, fillAndSync(f[1], filled, newPool(mib, p.SizeBytes)))
	out, err := r.drive(ctx, p, t)
	result := t.result(out)
	was := alone.latency()
	result.Alone = &was
	p.sayUnlogged(&result)
	return result, err
}

// fillAndSync fills a file and syncs it, as a broker does with a segment, again and
// again.
func fillAndSync(f *os.File, size int64, data *pool) worker {
	return func(ctx context.Context, _ *meter) error {
		pace := newPacer(1 / commitEvery.Seconds())
		for {
			if _, err := pace.wait(ctx); err != nil {
				return err
			}
			if err := f.Truncate(0); err != nil {
				return err
			}
			for at := int64(0); at < size && ctx.Err() == nil; at += mib {
				if _, err := f.WriteAt(data.next(mib), at); err != nil {
					return err
				}
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
}

// write finds the ceiling of the device: direct writes of 1 MiB, one after the
// other in one file, 4 under way at a time.
func (r *runner) write(ctx context.Context, p *place) (Result, error) {
	const block, depth = mib, 4
	f, isDirect, err := direct(p)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer files{f}.close()
	blocks := p.SizeBytes / block
	if err := allocate(f, blocks*block); err != nil {
		return Result{}, explain(p.Path, err)
	}
	t := trial{
		test: testWrite, what: "direct writes of 1 MiB in sequence to one file, 4 at a time",
		warmup: r.t.warmup, duration: r.t.write,
	}
	var next atomic.Int64
	for range depth {
		data := newPool(block, p.SizeBytes)
		t.workers = append(t.workers, func(ctx context.Context, m *meter) error {
			for ctx.Err() == nil {
				at := (next.Add(1) - 1) % blocks * block
				b := data.next(block)
				err := m.time(block, func() error {
					if _, err := f.WriteAt(b, at); err != nil || isDirect {
						return err
					}
					return dataSync(f)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	out, err := r.drive(ctx, p, t)
	result := t.result(out)
	if !isDirect {
		result.What = "writes of 1 MiB in sequence to one file, each synced, 4 at a time"
		result.Notes = append(result.Notes, "this file system has no direct writes: the page cache and a sync took part")
	}
	return result, err
}
