package probe

import (
	"context"
	"sync/atomic"
)

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
