package probe

import (
	"context"
	"fmt"
	"time"
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
