package probe

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

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
