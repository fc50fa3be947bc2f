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

// worker does one operation after another until the context ends, or until it has
// done all there is to do. Each has a thread of its own: as many operations are
// under way as there are workers.
type worker func(ctx context.Context, m *meter) error

// meter holds the counters of one worker.
type meter struct {
	recorder
	from time.Time     // the end of the warm-up
	done *atomic.Int64 // bytes, of all workers of the trial that count
}

// time does one operation of n bytes and records how long it took.
func (m *meter) time(n int, operation func() error) error {
	return m.since(time.Now(), n, operation)
}

// since does the same for an operation that should have begun earlier.
func (m *meter) since(begin time.Time, n int, operation func() error) error {
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

// outcome is the measurements of a trial.
type outcome struct {
	*recorder
	seconds  []Second
	readings []reading
	length   time.Duration // that counts
	moved    int64         // bytes in that time, by calls that returned
	device   int64         // in that time; below 0: not known
	cpu      time.Duration // that kt used in that time
}

// from returns the seconds after so many bytes were written.
func (o outcome) from(bytes int64) []Second {
	if bytes == 0 {
		return o.seconds
	}
	return series(beyond(o.readings, bytes))
}

// tick is the time between two looks at a trial.
const tick = 250 * time.Millisecond

// drive runs a trial to its end. When the context ends it returns the outcome so far and the
// context's error.
func (r *runner) drive(ctx context.Context, p *place, t trial) (outcome, error) {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	start := time.Now()
	crew := launch(inner, t, start.Add(t.warmup), &done)

	read := func() reading {
		return reading{at: time.Since(start) - t.warmup, bytes: done.Load(), device: p.count.moved(t.read)}
	}
	seen := []reading{read()}
	cpu := cpuTime()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	warm := t.warmup == 0
	var err error
	for running := true; running; {
		select {
		case <-crew.ended:
			running = false
		case <-ctx.Done():
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
	stop()
	out := outcome{recorder: crew.wait(), readings: seen, seconds: series(seen), cpu: cpu, device: -1}
	first, last := seen[0], seen[len(seen)-1]
	out.length, out.moved = last.at-first.at, last.bytes-first.bytes
	if first.device >= 0 && last.device >= 0 {
		out.device = last.device - first.device
	}
	if failed := crew.err(); failed != nil {
		return out, explain(p.Path, failed)
	}
	return out, errors.Join(err, ctx.Err())
}

// crew is the workers of a trial.
type crew struct {
	ended  chan struct{} // closed when all have ended, or one failed
	group  sync.WaitGroup
	meters []*meter
	errs   []error // of each worker; read after wait
}

func launch(ctx context.Context, t trial, from time.Time, done *atomic.Int64) *crew {
	c := &crew{ended: make(chan struct{}), errs: make([]error, len(t.workers))}
	var left atomic.Int64
	left.Store(int64(len(t.workers)))
	over := sync.OnceFunc(func() { close(c.ended) })
	for i, work := range t.workers {
		m := &meter{recorder: *newRecorder(), from: from, done: done}
		c.meters = append(c.meters, m)
		c.group.Go(func() {
			runtime.LockOSThread()
			if t.givesWay {
				giveWay() // and never unlock: the thread ends with its worker, and its priority too
			} else {
				defer runtime.UnlockOSThread()
			}
			if c.errs[i] = work(ctx, m); c.errs[i] != nil || left.Add(-1) == 0 {
				over()
			}
		})
	}
	return c
}

// wait waits for the operations under way, and merges what the workers recorded.
func (c *crew) wait() *recorder {
	c.group.Wait()
	all := make([]*recorder, len(c.meters))
	for i, m := range c.meters {
		all[i] = &m.recorder
	}
	return merge(all)
}

func (c *crew) err() error {
	for _, err := range c.errs {
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

// result returns an outcome as the report has it.
func (t trial) result(o outcome) Result {
	out := Result{
		Test: t.test, What: t.what, Seconds: o.length.Seconds(), Bytes: o.bytes, Operations: o.count,
		Latency: o.latency(), Stalls: o.stalls, Series: o.seconds, CPU: o.cpu.Seconds(), Spread: spread(rates(o.seconds)),
	}
	const busy = 0.85
	if cores := float64(runtime.NumCPU()); o.length > 0 && o.cpu.Seconds() > busy*cores*o.length.Seconds() {
		out.Notes = append(out.Notes, fmt.Sprintf("kt kept %.1f of %.0f processors busy: they may be the limit, and not the disk",
			o.cpu.Seconds()/o.length.Seconds(), cores))
	}
	if s := o.length.Seconds(); s > 0 {
		out.MiBPerSecond = float64(o.moved) / mib / s
		if o.device >= 0 {
			d := float64(o.device) / mib / s
			out.DeviceMiBPerSecond = &d
		}
	}
	return out
}

// guard ends a probe that would do harm: when something else fills the disk, and
// beside a broker also when everything waits for disks.
func (r *runner) guard(p *place) error {
	s, err := readSpace(p.Path)
	if err != nil {
		return err
	}
	if s.free < mustStay(r.o.Mode, s.total)/2 {
		return fmt.Errorf("%s: only %s are free by now, something else fills the disk: stopped, and gave back what kt took",
			p.Path, theme.Bytes(s.free))
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

// direct opens a nameless file that bypasses the page cache, or one that does not where the file
// system has no direct I/O.
func direct(p *place) (f *os.File, isDirect bool, err error) {
	f, err = nameless(p.Path, true)
	if errors.Is(err, errNoDirect) {
		f, err = nameless(p.Path, false)
		return f, false, err
	}
	return f, err == nil, err
}

// recorder holds what one worker timed. kt's histogram of a run counts in
// microseconds, which is too coarse for a write to the page cache: this one counts
// in nanoseconds. It is not safe for concurrent use.
type recorder struct {
	hdr    *hdrhistogram.Histogram
	count  int64
	sum    time.Duration
	max    time.Duration
	stalls Stalls
	bytes  int64 // of the operations that were recorded
}

const longest = time.Hour // that a histogram holds; a longer one counts as this

func newRecorder() *recorder {
	return &recorder{hdr: hdrhistogram.New(1, int64(longest), 3)}
}

// record adds one operation.
func (r *recorder) record(d time.Duration, bytes int) {
	_ = r.hdr.RecordValue(int64(min(max(d, 1), longest))) // always in range
	r.count++
	r.sum += d
	r.max = max(r.max, d)
	r.bytes += int64(bytes)
	if d <= 10*time.Millisecond {
		return
	}
	r.stalls.Over10ms++
	if d > 50*time.Millisecond {
		r.stalls.Over50ms++
	}
	if d > 500*time.Millisecond {
		r.stalls.Over500ms++
	}
}

// merge adds what other workers timed.
func merge(all []*recorder) *recorder {
	sum := newRecorder()
	for _, r := range all {
		sum.hdr.Merge(r.hdr)
		sum.count += r.count
		sum.sum += r.sum
		sum.max = max(sum.max, r.max)
		sum.bytes += r.bytes
		sum.stalls.Over10ms += r.stalls.Over10ms
		sum.stalls.Over50ms += r.stalls.Over50ms
		sum.stalls.Over500ms += r.stalls.Over500ms
	}
	return sum
}

// latency is the percentiles; all 0 when nothing was timed.
func (r *recorder) latency() Latency {
	if r.count == 0 {
		return Latency{}
	}
	at := func(percent float64) float64 {
		return micros(min(time.Duration(r.hdr.ValueAtPercentile(percent)), r.max))
	}
	return Latency{
		Count: r.count, Mean: micros(r.sum / time.Duration(r.count)),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: micros(r.max),
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// pacer spreads operations evenly over time.
type pacer struct {
	interval time.Duration
	due      time.Time // of the next operation
}

func newPacer(perSecond float64) *pacer {
	return &pacer{interval: time.Duration(float64(time.Second) / perSecond)}
}

// wait waits for the next operation to be due, and returns when it should begin:
// for one that the operation before held up, when it was due, so that a stall
// counts for all that it delays; else the moment itself, since a timer that is
// late is not the disk's.
func (p *pacer) wait(ctx context.Context) (begin time.Time, err error) {
	now := time.Now()
	if p.due.IsZero() {
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
