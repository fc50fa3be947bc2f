package probe

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

const (
	appendBlock = 64 * kib
	appenders   = 4  // threads
	mostFiles   = 64 // as a broker has partitions in a directory
)

// appended is one file that grows, as a partition does. When it is full, what it
// holds goes to the device and it begins anew, as if a segment was rolled and an
// old one deleted. So no more than the size is in memory at any time, and the
// device's rate shows however much the kernel would let be dirty.
type appended struct {
	f        *os.File
	at       int64
	limit    int64 // where it is full now
	capacity int64 // where it is full from the next time on
}

// newAppended opens the files for a size. They become full one after the other,
// not all at once.
func newAppended(dir string, size int64) ([]*appended, func(), error) {
	n := int(min(max(size/(4*mib), appenders), mostFiles)) / appenders * appenders
	open, err := newFiles(dir, n, false)
	if err != nil {
		return nil, nil, err
	}
	all := make([]*appended, n)
	capacity := size / int64(n) / appendBlock * appendBlock
	turns := int64(n / appenders)
	for i, f := range open {
		turn := int64(i/appenders) + 1
		all[i] = &appended{f: f, capacity: capacity, limit: max(capacity*turn/turns, appendBlock)}
	}
	return all, open.close, nil
}

// makeRoom sees to it that n bytes fit, and tells how long that took.
func (a *appended) makeRoom(n int64) (time.Duration, error) {
	if a.at+n <= a.limit {
		return 0, nil
	}
	begin := time.Now()
	if err := settle(a.f); err != nil {
		return 0, err
	}
	if err := a.f.Truncate(0); err != nil {
		return 0, err
	}
	a.at, a.limit = 0, a.capacity
	return time.Since(begin), nil
}

// append adds a block, and records how long that took.
func (a *appended) append(m *meter, b []byte) error {
	err := m.time(len(b), func() error {
		_, err := a.f.WriteAt(b, a.at)
		return err
	})
	a.at += int64(len(b))
	return err
}

// appendWorkers write to the files in turn, each worker to its own. perSecond is
// how many appends all of them make; 0: as many as they can.
func appendWorkers(all []*appended, size int64, perSecond float64, waited *atomic.Int64) []worker {
	var workers []worker
	for i := range appenders {
		data := newPool(appendBlock, size)
		workers = append(workers, func(ctx context.Context, m *meter) error {
			var pace *pacer
			if perSecond > 0 {
				pace = newPacer(perSecond / appenders)
			}
			for at := i; ctx.Err() == nil; at = (at + appenders) % len(all) {
				if pace != nil {
					if _, err := pace.wait(ctx); err != nil {
						return err
					}
				}
				took, err := all[at].makeRoom(appendBlock)
				if err != nil {
					return err
				}
				waited.Add(int64(took))
				if err := all[at].append(m, data.next(appendBlock)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return workers
}

// appendAll writes as Kafka does: buffered, many files, no sync; until the rate at
// which the device takes it is steady.
func (r *runner) appendAll(ctx context.Context, p *place) (Result, error) {
	all, closeAll, err := newAppended(p.Path, p.SizeBytes)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer closeAll()
	var waited atomic.Int64
	t := trial{
		test: testAppend, what: fmt.Sprintf("buffered appends of 64 KiB to %d files, %d writers", len(all), appenders),
		duration: r.t.appends, steady: r.t.steady,
		workers: appendWorkers(all, p.SizeBytes, 0, &waited),
	}
	out, err := r.drive(ctx, p, t)
	result := t.result(out)
	result.Append = foundByAppend(out, r.t.steady)
	result.Append.WaitedSeconds = time.Duration(waited.Load()).Seconds()
	if result.Append.Limited {
		result.Spread = spread(reached(out.seconds[throttled(out.seconds):]))
	} else {
		result.Spread = spread(reached(out.seconds))
		result.Notes = append(result.Notes, "the device never held the writers back: a longer duration or a larger size may find its limit")
	}
	if limit := dirtyLimit(r.tree); result.Append.WaitedSeconds > 0 && p.SizeBytes <= limit {
		result.Notes = append(result.Notes, sizeWasMet(p.SizeBytes, limit))
	}
	if _, others := sustained(out.seconds, r.t.steady); others > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf(
			"other programs wrote %.0f %% of what the device took: the disk can do more than kt had of it", 100*others))
	}
	return result, err
}

// sizeWasMet says what the percentiles lack when the writers were held up by kt,
// so as not to fill more than the size, and not by the kernel.
func sizeWasMet(size, limit int64) string {
	const lacks = "what appends wait for at the kernel's limit of dirty memory is not in the percentiles"
	return fmt.Sprintf("%s: the limit is %s here, and the size of %s was full first; a size above the limit shows it",
		lacks, bytesText(limit), bytesText(size))
}

// foundByAppend reads burst and sustained rates from the seconds.
func foundByAppend(o outcome, n int) *Append {
	a := &Append{From: "writes", Steady: steady(o.seconds, max(n, 3))}
	if o.device >= 0 {
		a.From = "device"
	}
	if len(o.seconds) == 0 {
		return a
	}
	a.SustainedMiBPerSecond, _ = sustained(o.seconds, n)
	from := throttled(o.seconds)
	a.Limited = from < len(o.seconds)
	switch {
	case from > 0:
		a.BurstMiBPerSecond = mean(rates(o.seconds[:from]))
	case len(o.readings) > 1:
		a.BurstMiBPerSecond = second(o.readings[0], o.readings[1]).Rate
	}
	if from > 0 && a.Limited {
		a.ThrottledAfterSeconds = o.seconds[from-1].At
	}
	return a
}

// appendSlowly is what a running broker hardly notices: 4 KiB, 200 times a second,
// 0.8 MiB/s.
func (r *runner) appendSlowly(ctx context.Context, p *place) (Result, error) {
	const block, perSecond = 4 * kib, 200
	f, err := nameless(p.Path, false)
	if err != nil {
		return Result{}, explain(p.Path, err)
	}
	defer files{f}.close()
	data := newPool(block, p.SizeBytes)
	t := trial{
		test: testAppend, what: "buffered appends of 4 KiB, 200 a second", duration: r.t.appends, givesWay: true,
		workers: []worker{func(ctx context.Context, m *meter) error {
			pace := newPacer(perSecond)
			for at := int64(0); ; at += block {
				begin, err := pace.wait(ctx)
				if err != nil {
					return err
				}
				b := data.next(block)
				if err := m.since(begin, block, func() error { _, err := f.WriteAt(b, at); return err }); err != nil {
					return err
				}
			}
		}},
	}
	out, err := r.drive(ctx, p, t)
	return t.result(out), err
}
