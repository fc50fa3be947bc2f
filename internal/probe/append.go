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
	appendBlock = 64 * kib
	appenders   = 4  // threads
	mostFiles   = 64 // as a broker has partitions in a directory
)

// appended is one file that grows, as a partition does. When it is full, what it holds goes to the device and it begins anew, as if
// a segment was rolled and an old one deleted. So no more than the size is in memory at any time, and the device's rate shows
// however much the kernel would let be dirty.
type appended struct {
	f        *os.File
	at       int64
	limit    int64 // where it is full now
	capacity int64 // where it is full from the next time on
	settle   func(*os.File) error
}

// newAppended opens the files for a size. They become full one after the other, not all at once.
func newAppended(p *place, size int64) ([]*appended, func(), error) {
	n := int(min(max(size/(4*mib), appenders), mostFiles)) / appenders * appenders
	open, err := newFiles(p.Path, n, false)
	if err != nil {
		return nil, nil, explain(p.Path, err)
	}
	all := make([]*appended, n)
	wait := settle
	if p.count == nil {
		wait = dataSync // such file systems may have a cache that settle knows nothing of
	}
	capacity := size / int64(n) / appendBlock * appendBlock
	turns := int64(n / appenders)
	for i, f := range open {
		turn := int64(i/appenders) + 1
		all[i] = &appended{f: f, capacity: capacity, limit: max(capacity*turn/turns, appendBlock), settle: wait}
	}
	return all, open.close, nil
}

// makeRoom makes room for n bytes, and returns how long that took.
func (a *appended) makeRoom(n int64) (time.Duration, error) {
	if a.at+n <= a.limit {
		return 0, nil
	}
	begin := time.Now()
	if err := a.settle(a.f); err != nil {
		return 0, err
	}
	a.at, a.limit = 0, a.capacity
	err := a.f.Truncate(0)
	return time.Since(begin), err
}

// appendWorkers write to the files in turn, each worker to its own. perSecond is how many appends all of them make, each timed from
// when it was due, with what it waited for room; 0: as many as they can, each timed from its call.
func appendWorkers(all []*appended, size int64, perSecond float64, waited *atomic.Int64) (workers []worker) {
	for at := range appenders {
		data := newPool(appendBlock, size)
		workers = append(workers, repeat(perSecond/appenders, func(m *meter, begin time.Time) error {
			a := all[at]
			at = (at + appenders) % len(all)
			took, err := a.makeRoom(appendBlock)
			if err != nil {
				return err
			}
			waited.Add(int64(took))
			b := data.next(appendBlock)
			if perSecond == 0 {
				begin = time.Now()
			}
			a.at += appendBlock
			return m.write(begin, a.f, b, a.at-appendBlock)
		}))
	}
	return workers
}

// append writes as Kafka does: buffered, many files, no sync; until the rate at which the device takes it is steady.
func (r *runner) append(ctx context.Context, p *place) (Result, error) {
	if r.o.Mode == Live {
		return r.appendSlowly(ctx, p)
	}
	all, closeAll, err := newAppended(p, p.SizeBytes)
	if err != nil {
		return Result{}, err
	}
	defer closeAll()
	var waited atomic.Int64
	t := trial{
		test: testAppend, what: fmt.Sprintf("buffered appends of 64 KiB to %d files, %d writers", len(all), appenders),
		duration: r.t.appends, steady: r.t.steady,
		workers: appendWorkers(all, p.SizeBytes, 0, &waited),
	}
	if p.count == nil {
		t.fill = p.SizeBytes
	}
	out, err := r.drive(ctx, p, t)
	a := foundByAppend(out, t)
	a.WaitedSeconds = time.Duration(waited.Load()).Seconds()
	a.Cut = err != nil
	out.Append = a
	seconds := out.from(t.fill)
	_, others := sustained(seconds, r.t.steady)
	if a.Limited {
		seconds = seconds[throttled(seconds):]
	}
	out.Spread = spread(reached(seconds))
	switch {
	case a.Limited:
	case t.fill > 0 && len(seconds) < forLimited:
		out.note("the size of %s was not written often enough to exclude the effect of memory: a longer duration or a smaller size finds it", theme.Bytes(t.fill))
	default:
		out.note("the device never slowed the writers down: a longer duration or a larger size may find its limit")
	}
	if limit := dirtyLimit(r.tree); a.WaitedSeconds > 0 && (limit == 0 || p.SizeBytes <= limit) {
		out.LatencyUngraded = true
		out.note("%s", sizeWasMet(p.SizeBytes, limit))
	}
	if others > 0 {
		out.note("other programs made %.0f %% of the writes: the disk can do more than kt measured", 100*others)
	}
	return out.Result, err
}

// note adds a remark on a result.
func (r *Result) note(format string, a ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, a...)) }

// sizeWasMet returns what the percentiles lack when kt held the writers up, and not the kernel, whose limit it is; 0: not known.
func sizeWasMet(size, limit int64) string {
	const lacks = "no grade: the percentiles do not include waits at the kernel's limit of dirty memory"
	if limit == 0 {
		return fmt.Sprintf("%s: the limit is not known here, and the size of %s may have been full first", lacks, theme.Bytes(size))
	}
	return fmt.Sprintf("%s: the limit is %s here, and the size of %s was full first; a size above the limit shows it",
		lacks, theme.Bytes(limit), theme.Bytes(size))
}

// foundByAppend reads burst and sustained rates from the seconds. Where the kernel does not count, those before the size was full
// once say nothing of the device: without later ones there is no sustained rate.
func foundByAppend(o outcome, t trial) *Append {
	seconds := o.from(t.fill)
	a := &Append{From: "writes", Steady: steady(seconds, max(t.steady, forLimited))}
	if o.DeviceMiBPerSecond != nil {
		a.From = "device"
	}
	if len(o.readings) > 1 {
		a.BurstMiBPerSecond = second(o.readings[0], o.readings[1]).Rate
	}
	if len(seconds) == 0 || t.fill > 0 && len(seconds) < forLimited {
		return a
	}
	a.SustainedMiBPerSecond, _ = sustained(seconds, t.steady)
	from := throttled(seconds)
	a.Limited = from < len(seconds)
	from += len(o.Series) - len(seconds)
	if from > 0 {
		a.BurstMiBPerSecond = mean(rates(o.Series[:from]))
	}
	if from > 0 && a.Limited {
		a.ThrottledAfterSeconds = o.Series[from-1].At
	}
	return a
}

// appendSlowly is what a running broker hardly notices: 4 KiB, 200 times a second, 0.8 MiB/s.
func (r *runner) appendSlowly(ctx context.Context, p *place) (Result, error) {
	f, err := newFiles(p.Path, 1, false)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer f.close()
	out, err := r.drive(ctx, p, trial{
		test: testAppend, what: "buffered appends of 4 KiB, 200 a second", duration: r.t.appends, givesWay: true,
		workers: []worker{paced(f[0], 4*kib, p.SizeBytes, 200)},
	})
	return out.Result, err
}

// paced appends blocks to an empty file at a rate. What fills the size is written over from its beginning.
func paced(f *os.File, block int, size int64, perSecond float64) worker {
	data := newPool(block, size)
	return func(ctx context.Context, m *meter) error {
		if err := f.Truncate(0); err != nil {
			return err
		}
		at := -int64(block)
		return repeat(perSecond, func(m *meter, begin time.Time) error {
			if at += int64(block); at+int64(block) > size {
				at = 0
			}
			return m.write(begin, f, data.next(block), at)
		})(ctx, m)
	}
}
