package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Stage is the stage of a run.
type Stage int32

// The stages of a run, in order.
const (
	Opening Stage = iota
	WarmingUp
	Running
	Draining
	Finished
)

// Status is the state of a live run between two windows.
type Status struct {
	Stage    atomic.Int32 // a Stage
	Buffered atomic.Int64 // bytes waiting for acks, at the last tick
	Requests atomic.Int64 // in flight, of all shards

	run atomic.Pointer[run] // nil: no run is live
}

// End describes the end of a run.
type End struct {
	Elapsed  time.Duration // until the last record had its outcome, or was given up
	Sending  time.Duration // until the last record was handed over
	Stopped  bool          // by Options.Stop or ctx, before the load was over
	TimedOut bool          // outstanding records were given up at the drain timeout
	ReadEnd  ReadEnd       // "": the run does not read
	ReadErr  error         // of ReadFailed
}

// windowLength is the length of a window. They end at whole seconds of the load, so that those of many processes line up.
const windowLength = time.Second

// Run makes the load of p with workers from d and gives the sinks the windows of
// each second. It returns when every record has its outcome or was given up. When ctx
// ends, it stops at once, and outstanding records are counted as unknown. An error means
// that no load was made.
func Run(ctx context.Context, p plan.Plan, d Drivers, o Options, sinks ...Sink) (End, error) {
	o = o.withDefaults()
	r := &run{plan: p, opts: o, sinks: sinks, made: time.Now(), stop: make(chan struct{}), readers: newReaders(d.Read), rates: newRates(&p)}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	defer r.close()
	if p.Read.Backlog > 0 { // only the backlog tells when the load ends
		r.backlog.rest, r.plan.Load.Duration = p.Load.Duration.Std()-p.Load.Warmup.Duration.Std(), 0
	}
	if p.Reads() {
		if err := r.openReaders(ctx, abort); err != nil {
			return End{}, err
		}
	}
	if p.Writes() {
		for i := range p.Producers {
			r.shards = append(r.shards, newShard(r, i))
		}
		r.share(r.shards)
	}
	if err := openAll(r.shards, abort, func(s *Shard) error {
		w, err := d.Send.Open(ctx, s)
		if err != nil {
			return fmt.Errorf("open producer %d: %w", s.Index+1, err)
		}
		s.worker = w
		if !p.Load.OneAtATime {
			s.most = w.OpRecords()
		}
		return nil
	}); err != nil {
		return End{}, err
	}
	if o.Ready != nil {
		if err := o.Ready(ctx); err != nil {
			return End{}, err
		}
	}
	return r.run(ctx), nil
}

// run is one run while it lasts.
type run struct {
	plan    plan.Plan
	opts    Options
	sinks   []Sink
	shards  []*Shard
	tallies []*tally // of senders and readers
	readers *readers
	beside  beside
	rates   rates
	backlog backlog

	made     time.Time     // before anything was opened
	began    atomic.Int64  // start of the load, in nanoseconds after made
	begun    atomic.Bool   // the load has begun
	stop     chan struct{} // closed: senders finish
	stopOnce sync.Once
	stopped  time.Duration // when stop was closed
	sent     time.Duration // when the senders had finished; 0: not yet
	feed     *Feed[[]stats.Window]
	ticker   *time.Ticker
	taken    time.Duration // the end of the last window
	nap      atomic.Int64  // the shortest sleep of a sender, in nanoseconds
	spare    *stats.Phases
}

// now returns the time since the start of the load. Before that it counts from made, because clients may
// report events while they are opened.
func (r *run) now() time.Duration { return time.Since(r.made) - time.Duration(r.began.Load()) }

// started returns the time at which now is 0.
func (r *run) started() time.Time { return r.made.Add(time.Duration(r.began.Load())) }

// forget drops what was counted while clients were opened: each member that joins a group causes a rebalance, for instance.
func (r *run) forget() {
	for _, t := range r.tallies {
		t.mu.Lock()
		t.rec = r.recorder()
		t.mu.Unlock()
	}
}

func (r *run) recorder() *stats.Recorder {
	rec := stats.NewRecorder()
	rec.Read, rec.Row = r.plan.Reads(), r.opts.Rows
	return rec
}

func (r *run) stopSending() {
	r.stopOnce.Do(func() {
		r.stopped = r.now()
		close(r.stop)
	})
}

func (r *run) run(ctx context.Context) End {
	r.began.Store(int64(time.Since(r.made)))
	r.begun.Store(true)
	r.forget()
	r.ticker = time.NewTicker(windowLength)
	defer r.ticker.Stop()
	r.spare = new(stats.Phases)
	if r.plan.Load.Warmup != (plan.Warmup{}) {
		r.setStage(WarmingUp)
	} else {
		r.setStage(Running)
	}

	r.feed = NewFeed(func(windows []stats.Window) {
		for _, sink := range r.sinks {
			sink.Observe(windows)
		}
	}, r.mergeWindows)
	r.opts.Status.run.Store(r)
	defer r.opts.Status.run.Store(nil)
	if r.opts.Started != nil {
		r.opts.Started()
	}
	looking, lookAway := context.WithCancel(ctx)
	defer lookAway()
	for _, source := range r.opts.Sources {
		source.Start(looking, r.now)
	}
	var pauses sync.WaitGroup
	pauses.Go(func() { r.notePauses(looking) })
	r.startReading(ctx)
	pauses.Go(func() { r.makeBacklog(looking) })
	var end End
	if r.plan.Writes() {
		r.send(ctx, &end)
	}
	if r.plan.Reads() {
		r.finishReading(ctx, &end)
	}
	end.Elapsed = r.now()
	r.setStage(Finished)
	lookAway()
	pauses.Wait()
	for _, source := range r.opts.Sources {
		source.Wait()
	}
	r.cutLast(end.Elapsed)
	<-r.feed.Close()
	return end
}

// send makes the load of the senders and waits for its outcome.
func (r *run) send(ctx context.Context, end *End) {
	r.takeNap(new(stats.Phases))
	end.Stopped = r.collectUntil(ctx, done(func() { atOnce(r.shards, (*Shard).send); r.pause() }), r.opts.Stop, r.cutoff(), r.stopSending)
	r.sent = r.now()
	end.Sending = r.sent

	r.setStage(Draining)
	end.TimedOut, end.Stopped = r.drain(ctx, end.Stopped)
	for _, s := range r.shards {
		s.giveUp()
	}
}

// pause waits for the end of a load whose last stage is a pause.
func (r *run) pause() {
	l := &r.plan.Load
	if end := l.Duration.Std(); len(l.Rate.Stages) > 0 && l.Records == 0 && end > 0 && l.Rate.Schedule(1).Rate(end-1) == 0 {
		select {
		case <-time.After(end - r.now()):
		case <-r.stop:
		}
	}
}

// sendGrace is the time after its planned end in which a load at a fixed rate may still send records that
// are due: a few ticks of the senders. After that they count as unsent.
const sendGrace = 100 * time.Millisecond

// cutoff returns the time at which senders are stopped; 0: never.
func (r *run) cutoff() time.Duration {
	d := r.plan.Load.Duration.Std()
	if d > 0 && !r.plan.Load.Rate.IsUnlimited() {
		d += sendGrace
	}
	return d
}

// collectUntil takes a window a second until done is closed. It calls halt when stop is closed, ctx ends or
// the cutoff has passed. stopped reports whether stop or ctx came before done.
func (r *run) collectUntil(ctx context.Context, done, stop <-chan struct{}, cutoff time.Duration, halt func()) (stopped bool) {
	var over <-chan time.Time
	if cutoff > 0 {
		timer := time.NewTimer(cutoff - r.now())
		defer timer.Stop()
		over = timer.C
	}
	cancelled := ctx.Done()
	for {
		select {
		case <-done:
			return stopped || ctx.Err() != nil // ctx may have closed done
		case <-r.ticker.C:
			r.cut(r.now())
		case perSecond := <-r.opts.Rates:
			r.changeRate(perSecond)
		case <-over:
			halt()
		case <-stop:
			stop, stopped = nil, true
			halt()
		case <-cancelled:
			cancelled, stopped = nil, true
			halt()
		}
	}
}

// drain waits for outstanding records. It reports whether it gave up, and whether the run was stopped by then.
func (r *run) drain(ctx context.Context, stopped bool) (timedOut, stoppedNow bool) {
	timeout := r.opts.DrainTimeout
	if stopped {
		timeout = min(timeout, r.opts.StopTimeout)
	}
	flushing, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var incomplete atomic.Bool
	flush := func(s *Shard) {
		if err := s.worker.Flush(flushing); err != nil {
			incomplete.Store(true)
		}
	}
	stop := r.opts.Stop
	if stopped {
		stop = nil // it was seen already
	}
	asked := r.collectUntil(ctx, done(func() { atOnce(r.shards, flush) }), shorten(flushing, stop, r.opts.StopTimeout, cancel), 0, r.stopSending)
	return incomplete.Load(), stopped || asked
}

// shorten passes stop on, and ends the drain soon after it: a user who stops a run does not want to wait for a long one.
func shorten(ctx context.Context, stop <-chan struct{}, timeout time.Duration, cancel context.CancelFunc) <-chan struct{} {
	if stop == nil {
		return nil
	}
	seen := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-stop:
			close(seen)
			time.AfterFunc(timeout, cancel)
		}
	}()
	return seen
}

// cut ends the window at the last whole second up to now: of several seconds if a tick was missed, but of one stage of the target.
// Counts made between the end of a second and a late tick belong to that second.
func (r *run) cut(now time.Duration) {
	end := now.Truncate(windowLength)
	for _, bound := range r.plan.Load.Rate.Bounds() {
		if r.taken < bound && bound < end {
			r.take(bound)
		}
	}
	if end > r.taken {
		r.take(end)
	}
}

// cutLast ends the last window at the end of the run, after a window for each whole second before.
func (r *run) cutLast(end time.Duration) {
	r.cut(end - 1)
	r.take(end)
}

// take hands the windows of all shards up to end, merged into one for each phase, to the sinks.
func (r *run) take(end time.Duration) {
	start := r.taken
	r.taken = end
	var merged stats.Phases
	var buffered int64
	for _, t := range r.tallies {
		phases, bytes := t.take(r.spare, start, end)
		buffered += bytes
		for i := range phases {
			merged[i].Add(&phases[i])
		}
		phases.Reset()
		r.spare = phases
	}
	r.opts.Status.Buffered.Store(buffered)
	r.takeNap(&merged)
	if m := &merged[stats.Measured]; r.stage() == WarmingUp && (m.Offered > 0 || m.Consumed > 0) {
		r.setStage(Running)
	}
	var windows []stats.Window
	current := stats.PhaseOf(r.stage() == WarmingUp)
	found := r.takeBeside(start, end)
	found.Start, found.End, found.Warmup = start, end, current == stats.Warmup
	merged[current].Add(&found)
	for _, phase := range []int{stats.Warmup, stats.Measured} {
		if phase != current && merged[phase].Empty() {
			continue
		}
		merged[phase].LagUnknown = found.LagUnknown // of both parts of a divided window
		windows = append(windows, merged[phase])
	}
	r.feed.Send(windows)
}

// close frees all clients at once, because each may wait for a broker.
func (r *run) close() {
	atOnce(r.shards, func(s *Shard) {
		if s.worker != nil {
			_ = s.worker.Close() // every outcome is counted
		}
	})
	atOnce(r.readers.readers, func(from Reader) {
		if from != nil {
			_ = from.Close() // all reads are counted
		}
	})
}

func (r *run) stage() Stage     { return Stage(r.opts.Status.Stage.Load()) }
func (r *run) setStage(s Stage) { r.opts.Status.Stage.Store(int32(s)) }
