package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// trial is one test in one directory, or a part of one.
type trial struct {
	test, what string
	read       bool          // the device's reads are counted, not its writes
	warmup     time.Duration // of which nothing counts
	duration   time.Duration // at most
	steady     int           // seconds of an even rate that end it; 0: it runs to its end
	fill       int64         // bytes before which no rate is that of the device; 0: any may be
	givesWay   bool          // its threads ask for the disk with a low priority
	quiet      bool          // its seconds are no result: it prepares another trial
	workers    []worker
}

// worker does one operation after another until the context ends, or until it has done all there is to do. Each has a thread of
// its own: as many operations are under way as there are workers.
type worker func(ctx context.Context, m *meter) error

// errDone is returned by a step of repeat after which there is nothing more to do.
var errDone = errors.New("done")

// repeat returns a worker that does a step again and again: so many a second, evenly; 0: one after the other. The step is told
// when it should have begun.
func repeat(perSecond float64, step func(m *meter, begin time.Time) error) worker {
	return func(ctx context.Context, m *meter) error {
		for pace := newPacer(perSecond); ; {
			begin, err := pace.wait(ctx)
			if err != nil {
				return err
			}
			if err := step(m, begin); err != nil {
				if err == errDone { //nolint:errorlint // it is never wrapped
					return nil
				}
				return err
			}
		}
	}
}

// meter counts what the workers of a trial do, in nanoseconds: a run's microseconds are too coarse for a write to the page cache.
type meter struct {
	from time.Time    // the end of the warm-up
	done atomic.Int64 // bytes

	mu     sync.Mutex // guards what follows, of the operations that began after the warm-up
	hdr    *hdrhistogram.Histogram
	sum    time.Duration
	max    time.Duration
	stalls Stalls
	bytes  int64
}

const longest = time.Hour // that a histogram holds; a longer one counts as this

func newMeter(from time.Time) *meter {
	return &meter{from: from, hdr: hdrhistogram.New(1, int64(longest), 3)}
}

// time does an operation of n bytes, and records how long it took from when it should have begun.
func (m *meter) time(begin time.Time, n int, operation func() error) error {
	if err := operation(); err != nil {
		return err
	}
	took := time.Since(begin)
	m.done.Add(int64(n))
	if !begin.Before(m.from) {
		m.record(took, n)
	}
	return nil
}

// write writes a block.
func (m *meter) write(begin time.Time, f *os.File, b []byte, at int64) error {
	return m.time(begin, len(b), func() error { _, err := f.WriteAt(b, at); return err })
}

// outcome is the result of a trial before it is judged, and the readings behind its series.
type outcome struct {
	Result
	readings []reading
}

// from returns the seconds after so many bytes were written.
func (o outcome) from(bytes int64) []Second {
	if bytes == 0 {
		return o.Series
	}
	return series(beyond(o.readings, bytes))
}

// tick is the time between two looks at a trial.
const tick = 250 * time.Millisecond

// drive runs a trial to its end. When the context ends it returns the outcome so far and the context's error.
func (r *runner) drive(ctx context.Context, p *place, t trial) (outcome, error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start := time.Now()
	m := newMeter(start.Add(t.warmup))
	var failed atomic.Pointer[error] // of the first worker that did, also by an operation that was under way at the end
	fail := func(err error) {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			failed.CompareAndSwap(nil, &err)
		}
		stop(err)
	}
	ended := t.launch(inner, fail, m)
	read := func() reading {
		return reading{at: time.Since(start) - t.warmup, bytes: m.done.Load(), device: p.count.moved(t.read)}
	}
	seen, cpu, warm := []reading{read()}, cpuTime(), t.warmup == 0
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var err error
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-inner.Done():
			running = false
		case <-ticker.C:
		}
		now := read()
		r.showProgress(p, t, seen[len(seen)-1], now)
		if seen = append(seen, now); !warm && now.at >= 0 {
			warm, seen, cpu = true, []reading{now}, cpuTime()
		}
		if err = r.guard(p); err != nil || now.at >= t.duration || t.steady > 0 && warm && steady(seconds(beyond(seen, t.fill), longest), t.steady) {
			running = false
		}
	}
	cpu = cpuTime() - cpu
	stop(nil)
	<-ended // operations under way are waited for
	out := outcome{t.result(m, seen, cpu), seen}
	if why := failed.Load(); why != nil && *why != context.Cause(ctx) { //nolint:errorlint // one and the same
		return out, explain(p.Path, *why)
	}
	return out, errors.Join(err, ctx.Err())
}

// beside drives a trial alone, and then with other workers too, whose operations are no part of the outcome.
func (r *runner) beside(ctx context.Context, p *place, t trial, others ...worker) (alone, out outcome, err error) {
	if alone, err = r.drive(ctx, p, t); err != nil {
		return alone, alone, err
	}
	t.workers = append(t.workers, others...)
	out, err = r.drive(ctx, p, t)
	out.Alone = &alone.Latency
	return alone, out, err
}

// launch starts the workers. The first that fails stops the others. ended is closed when all have ended.
func (t trial) launch(ctx context.Context, stop context.CancelCauseFunc, m *meter) (ended chan struct{}) {
	var group sync.WaitGroup
	for _, work := range t.workers {
		group.Go(func() {
			runtime.LockOSThread()
			if t.givesWay {
				giveWay() // and never unlock: the thread ends with its worker, and its priority too
			} else {
				defer runtime.UnlockOSThread()
			}
			if err := work(ctx, m); err != nil {
				stop(err)
			}
		})
	}
	ended = make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	return ended
}

// result returns what the workers recorded between the first and the last reading.
func (t trial) result(all *meter, seen []reading, cpu time.Duration) Result {
	first, last := seen[0], seen[len(seen)-1]
	length := (last.at - first.at).Seconds()
	out := Result{
		Test: t.test, What: t.what, Seconds: length, Bytes: all.bytes, Operations: all.hdr.TotalCount(),
		Latency: all.latency(), Stalls: all.stalls, Series: series(seen), CPU: cpu.Seconds(),
	}
	out.Spread = spread(rates(out.Series))
	if length <= 0 {
		return out
	}
	const busy = 0.85
	if cores := float64(runtime.NumCPU()); out.CPU > busy*cores*length {
		out.Notes = append(out.Notes, fmt.Sprintf("kt kept %.1f of %.0f processors busy: they may be the limit, and not the disk", out.CPU/length, cores))
	}
	whole := second(first, last)
	out.MiBPerSecond, out.DeviceMiBPerSecond = whole.Rate, whole.Device
	return out
}

// guard ends a probe when something else fills the disk, and beside a broker also when everything waits for disks.
func (r *runner) guard(p *place) error {
	s, err := readSpace(p.Path)
	if err != nil {
		return err
	}
	if s.Free < mustStay(r.o.Mode, s.Total)/2 {
		return fmt.Errorf("%s: only %s are free by now, something else fills the disk: stopped, and gave back what kt took",
			p.Path, theme.Bytes(s.Free))
	}
	if r.o.Mode != Live {
		return nil // kt itself makes everything wait
	}
	const most = 40
	if full, err := host.ParsePressure(pressure(r.tree), "full", "avg10"); err == nil && full > most {
		return fmt.Errorf("everything here waited for disks %.0f %% of the last ten seconds: stopped, so as not to add to it", full)
	}
	return nil
}

// cpuTime returns the processor time that kt has used.
func cpuTime() time.Duration {
	seconds, _ := host.ProcessCPU()
	return time.Duration(seconds * float64(time.Second))
}

func (m *meter) record(d time.Duration, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.hdr.RecordValue(int64(min(max(d, 1), longest))) // always in range
	m.sum += d
	m.max = max(m.max, d)
	m.bytes += int64(bytes)
	if d <= 10*time.Millisecond {
		return
	}
	m.stalls.Over10ms++
	if d > 50*time.Millisecond {
		m.stalls.Over50ms++
	}
	if d > 500*time.Millisecond {
		m.stalls.Over500ms++
	}
}

// latency returns the percentiles; all 0 when nothing was timed.
func (m *meter) latency() Latency {
	at := func(percent float64) float64 {
		return micros(min(time.Duration(m.hdr.ValueAtPercentile(percent)), m.max))
	}
	count := m.hdr.TotalCount()
	return Latency{
		Count: count, Mean: micros(m.sum / time.Duration(max(1, count))),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: micros(m.max),
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// pacer spreads operations evenly over time.
type pacer struct {
	interval time.Duration // 0: there is no pace
	due      time.Time     // of the next operation
}

func newPacer(perSecond float64) *pacer {
	if perSecond == 0 {
		return new(pacer)
	}
	return &pacer{interval: time.Duration(float64(time.Second) / perSecond)}
}

// wait waits for the next operation to be due, and returns when it should begin: for one that the operation before held up, when
// it was due, so that a stall counts for all that it delays; else the moment itself, since a timer that is late is not the disk's.
func (p *pacer) wait(ctx context.Context) (begin time.Time, err error) {
	now := time.Now()
	if p.due.IsZero() || p.interval == 0 {
		p.due = now
	}
	due := p.due
	p.due = due.Add(p.interval)
	if left := due.Sub(now); left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-timer.C:
			return time.Now(), nil
		}
	}
	return due, ctx.Err()
}
