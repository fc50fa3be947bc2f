package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// fake is a driver that does as it is told. Its workers answer in order; the zero
// value answers at once.
type fake struct {
	Driver                                   // nothing is asked of what it wrote
	latency  time.Duration                   // from Do to the answer
	stall    [2]time.Duration                // what would be answered in between is answered at the end of it
	silent   bool                            // it never answers
	place    func(*Op) int32                 // its partition; nil: one of three, and that of a record that fails is not known
	fails    func(*Op) string                // the error code of an op; "": it is acknowledged
	holdUp   func(*Op) time.Duration         // how long Do takes, because the broker says so
	most     int                             // records of an op; 0: 1
	size     func(*Op) int                   // bytes of an op; nil: 100
	saw      func(now time.Duration, op *Op) // called by Do
	opening  time.Duration                   // how long Open takes
	ending   time.Duration                   // how long Close takes
	failOpen int                             // the number of the producer that does not open, from 1

	workers []*fakeWorker // by shard, of those that have opened
}

var opening sync.Mutex // held to add to the workers of a fake

var errOpen = errors.New("no such broker")

func (f *fake) Open(_ context.Context, s *Shard) (Worker, error) {
	time.Sleep(f.opening)
	if s.Index+1 == f.failOpen {
		return nil, errOpen
	}
	w := &fakeWorker{fake: f, shard: s, queue: make(chan pending, 1<<17), closing: make(chan struct{}), distinct: make(map[*Op]bool)}
	w.answering.Go(w.answer)
	opening.Lock()
	defer opening.Unlock()
	f.workers = append(f.workers, w)
	slices.SortFunc(f.workers, func(a, b *fakeWorker) int { return a.shard.Index - b.shard.Index })
	return w, nil
}

// fakeWorker is the worker of one shard.
type fakeWorker struct {
	fake  *fake
	shard *Shard
	queue chan pending

	closing   chan struct{}
	answering sync.WaitGroup
	closed    bool

	// The sender's own.
	distinct map[*Op]bool
	took     []taken

	mu                   sync.Mutex // guards the rest
	bytes, mostBytes     int64      // without an outcome, and the most there were
	records, mostRecords int
}

// taken is what an op was when it was handed over.
type taken struct {
	index           int64
	records         int
	due, last, sent time.Duration
}

// pending is an op to answer, or a flush to confirm.
type pending struct {
	op    *Op
	at    time.Duration
	flush chan struct{}
}

func (w *fakeWorker) Do(op *Op) (waited bool) {
	f := w.fake
	if f.holdUp != nil {
		if d := f.holdUp(op); d > 0 {
			time.Sleep(d)
			op.Sent, waited = w.shard.Now(), true
		}
	}
	now := w.shard.Now()
	if f.saw != nil {
		f.saw(now, op)
	}
	op.Bytes = 100
	if f.size != nil {
		op.Bytes = f.size(op)
	}
	w.distinct[op] = true
	w.took = append(w.took, taken{op.Index, op.Records, op.Due, op.LastDue, op.Sent})
	w.mu.Lock()
	w.records += op.Records
	w.bytes += int64(op.Bytes)
	w.mostRecords, w.mostBytes = max(w.mostRecords, w.records), max(w.mostBytes, w.bytes)
	w.mu.Unlock()
	at := now + f.latency
	if f.stall[0] <= at && at < f.stall[1] {
		at = f.stall[1]
	}
	w.queue <- pending{op: op, at: at}
	return waited
}

// answer settles one op after the other until the worker is closed; then it
// settles what is left, which nobody should count any more.
func (w *fakeWorker) answer() {
	for p := range w.queue {
		switch {
		case p.flush != nil:
			close(p.flush)
			continue
		case w.fake.silent:
			<-w.closing
		}
		if d := p.at - w.shard.Now(); d > 0 {
			select {
			case <-time.After(d):
			case <-w.closing:
			}
		}
		w.mu.Lock()
		w.records -= p.op.Records
		w.bytes -= int64(p.op.Bytes)
		w.mu.Unlock()
		if w.fake.fails != nil {
			if code := w.fake.fails(p.op); code != "" {
				at := int32(-1)
				if w.fake.place != nil {
					at = w.fake.place(p.op)
				}
				p.op.Fail(at, code)
				continue
			}
		}
		p.op.Acknowledge(w.Place(p.op), w.shard.Now())
	}
}

func (w *fakeWorker) OpRecords() int { return max(1, w.fake.most) }

func (w *fakeWorker) Place(op *Op) int32 {
	if w.fake.place != nil {
		return w.fake.place(op)
	}
	return int32(op.Index % 3)
}

func (w *fakeWorker) Flush(ctx context.Context) error {
	flush := make(chan struct{})
	w.queue <- pending{flush: flush}
	select {
	case <-flush:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *fakeWorker) Close() error {
	w.closed = true
	close(w.closing)
	close(w.queue)
	w.answering.Wait()
	time.Sleep(w.fake.ending)
	return nil
}

// collector is a sink that keeps all it gets.
type collector struct {
	calls [][]stats.Window
	total stats.Phases
}

func (c *collector) Observe(windows []stats.Window) {
	c.calls = append(c.calls, windows)
	for i := range windows {
		c.total[stats.PhaseOf(windows[i].Warmup)].Add(&windows[i])
	}
}

// all is both phases together.
func (c *collector) all() stats.Window {
	return stats.Merge(c.total[stats.Warmup], c.total[stats.Measured])
}

// producing is a plan with the load.
func producing(l plan.Load) plan.Plan {
	if l.Arrivals == "" {
		l.Arrivals = plan.Uniform
	}
	return plan.Plan{
		Producers: 1,
		Load:      l,
		Payload:   plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
	}
}

func perSecond(n float64) plan.Rate { return plan.Rate{PerSecond: n} }

func seconds(n float64) plan.Duration { return plan.Duration(n * float64(time.Second)) }

// mustRun runs the plan and checks what holds for every run, however it ends.
func mustRun(ctx context.Context, t *testing.T, p plan.Plan, f *fake, o Options) (End, *collector) {
	t.Helper()
	c := new(collector)
	end := must.Have(Run(ctx, p, Drivers{Send: f}, o, c))(t)
	checkWindows(t, c.calls, end)
	for _, w := range c.total {
		must.True(t, w.Offered == w.Acknowledged+w.Failed+w.Unknown,
			"offered %d, but acknowledged %d, failed %d, unknown %d", w.Offered, w.Acknowledged, w.Failed, w.Unknown)
		if n := w.Response.Ranked() + w.Response.OutOfRange(); n != w.Offered+w.Unsent {
			t.Errorf("%d response times for %d records offered and %d unsent", n, w.Offered, w.Unsent)
		}
		must.True(t, w.Service.Count() == w.Acknowledged && w.SendDelay.Count() == w.Offered,
			"%d service times for %d acknowledged, %d send delays for %d offered", w.Service.Count(), w.Acknowledged, w.SendDelay.Count(), w.Offered)
		var failed int64
		for _, n := range w.Errors {
			failed += n
		}
		must.True(t, failed == w.Failed, "%d errors by code, %d failed", failed, w.Failed)
	}
	for _, w := range f.workers {
		must.True(t, w.closed, "the worker of shard %d was not closed", w.shard.Index)
		next := int64(0)
		for k, op := range w.took {
			if op.index != next && !o.refuses() || op.due > op.last || op.last > op.sent || op.records < 1 || op.records > w.OpRecords() {
				t.Fatalf("shard %d handed over %+v as op %d, want record %d", w.shard.Index, op, k, next)
			}
			next = op.index + int64(op.records)
		}
		late := w.shard.rec.Take(new(stats.Phases), 0, 0)
		if m := stats.Merge(late[0], late[1]); m.Acknowledged+m.Failed+m.Unknown != 0 {
			t.Errorf("shard %d counted %d records after the end", w.shard.Index, m.Acknowledged+m.Failed+m.Unknown)
		}
	}
	return end, c
}

// refuses tells that the test wants records to be refused.
func (o Options) refuses() bool { return o.MaxBlock != 0 }

// checkWindows wants the windows to cover the run from 0 to its end, each where
// the one before it ended, warm-up before measured.
func checkWindows(t *testing.T, calls [][]stats.Window, end End) {
	t.Helper()
	var until time.Duration
	for i, windows := range calls {
		must.Hold(t, len(windows) != 0 && len(windows) <= 2, "call %d has %d windows", i, len(windows))
		must.True(t, len(windows) != 2 || windows[0].Warmup && !windows[1].Warmup, "call %d: want warm-up before measured", i)
		for _, w := range windows {
			must.True(t, w.Start == until && w.End >= w.Start && w.End == windows[0].End,
				"call %d has a window from %v to %v, the one before ended at %v", i, w.Start, w.End, until)
		}
		until = windows[0].End
		must.True(t, i >= len(calls)-1 || until == time.Duration(i+1)*time.Second, "window %d ends at %v, want each second", i, until)
	}
	must.True(t, until == end.Elapsed, "the windows end at %v, the run at %v", until, end.Elapsed)
}

// inBubble runs a subtest with a clock of its own.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
