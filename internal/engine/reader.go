package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// ReadEnd is the reason why reading ended.
type ReadEnd string

// The ways in which reading ends.
const (
	ReadCount    ReadEnd = "count"    // as many records as wanted
	ReadAll      ReadEnd = "end"      // everything up to the end offsets
	ReadDuration ReadEnd = "duration" // the time was over
	ReadIdle     ReadEnd = "timeout"  // no record came for too long
	ReadStopped  ReadEnd = "stopped"  // by Options.Stop or ctx
	ReadFailed   ReadEnd = "failed"   // it could not go on
)

// readers are all consumers of a run.
type readers struct {
	driver  ReadDriver
	shards  []*Shard
	readers []Reader // by shard
	done    <-chan struct{}
	cancel  context.CancelFunc

	counted bool         // only so many records are wanted
	budget  atomic.Int64 // of them, neither read nor reserved for a poll
	unread  atomic.Int64 // of them, not read
	last    atomic.Int64 // until when a reader was busy, from the start of the run

	mu   sync.Mutex // guards the rest
	end  ReadEnd
	err  error
	read int64         // records read or failed, of a load of one at a time
	pace pace          // of a load that only reads, at a rate
	news chan struct{} // holds one value: read has changed
}

func newReaders(d ReadDriver) *readers {
	return &readers{driver: d, news: make(chan struct{}, 1)}
}

func (r *run) openReaders(ctx context.Context, abort func()) error {
	p := &r.plan
	rs := r.readers
	if n := p.RecordsToRead(); n > 0 && !p.Writes() {
		rs.counted = true
		rs.budget.Store(n)
		rs.unread.Store(n)
	}
	n := p.Read.Clients()
	for i := range n {
		rs.shards = append(rs.shards, newReadShard(r, i, n))
	}
	r.share(rs.shards)
	if p.Read.ToEnd {
		if err := rs.driver.SetEndOffsets(ctx); err != nil {
			return err
		}
	}
	rs.readers = make([]Reader, n)
	return openAll(rs.shards, abort, func(s *Shard) error {
		reader, err := rs.driver.OpenReader(ctx, s)
		if err != nil {
			return fmt.Errorf("open consumer %d: %w", s.Index+1, err)
		}
		rs.readers[s.Index] = reader
		return nil
	})
}

// newReadShard makes a shard that sends nothing.
func newReadShard(r *run, index, count int) *Shard {
	records := r.plan.Load.WarmupShare(r.plan.Reader(index))
	s := &Shard{
		Index: index, Count: count, run: r,
		warm:  warmup{until: r.plan.Load.Warmup.Duration.Std(), records: records},
		phase: stats.PhaseOf(r.plan.Load.Warmup != plan.Warmup{}),
	}
	s.desk = newDesk(s, &r.plan)
	return s
}

// stop ends reading. The first reason counts.
func (rs *readers) stop(why ReadEnd, err error) {
	if errors.Is(err, context.Canceled) {
		why, err = ReadStopped, nil
	}
	rs.mu.Lock()
	if rs.end == "" {
		rs.end, rs.err = why, err
	}
	rs.mu.Unlock()
	rs.cancel()
}

// arrived notes records that were read, for a sender that waits for them.
func (rs *readers) arrived(n int) {
	rs.mu.Lock()
	rs.read += int64(n)
	rs.mu.Unlock()
	select {
	case rs.news <- struct{}{}:
	default: // the sender has not looked since the last value
	}
}

// awaitRead waits until n records have been read, failed, or not come in time. It reports whether the sender goes on.
func (s *Shard) awaitRead(n int64) bool {
	rs := s.run.readers
	var late <-chan time.Time
	if d := s.run.plan.Read.Timeout.Std(); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		late = timer.C
	}
	for {
		rs.mu.Lock()
		read := rs.read
		rs.mu.Unlock()
		if read >= n {
			return true
		}
		select {
		case <-rs.news:
		case <-late:
			rs.arrived(1)
		case <-s.run.stop:
			return false
		}
	}
}

// startReading starts every reader.
func (r *run) startReading(ctx context.Context) {
	rs := r.readers
	ctx, rs.cancel = context.WithCancel(ctx)
	rs.done = done(func() { atOnce(rs.shards, func(s *Shard) { r.read(ctx, s, rs.readers[s.Index]) }) })
}

// finishReading waits until reading is over: all records sent are read, or all that the plan asks for.
func (r *run) finishReading(ctx context.Context, end *End) {
	rs := r.readers
	timeout := r.plan.Read.Timeout.Std()
	var cutoff time.Duration
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go r.readToEnd(asking)
	if r.plan.Writes() {
		if end.Stopped && (timeout == 0 || timeout > r.opts.StopTimeout) {
			timeout = r.opts.StopTimeout
		}
	} else {
		cutoff = r.plan.Load.Duration.Std()
	}
	go r.watch(timeout)
	stop := r.opts.Stop
	if end.Stopped {
		stop = nil // it was seen already
	}
	stopped := r.collectUntil(ctx, rs.done, stop, cutoff, func() {
		why := ReadStopped
		if cutoff > 0 && r.now() >= cutoff {
			why = ReadDuration
		}
		rs.stop(why, nil)
	})
	end.Stopped = end.Stopped || stopped
	if !r.plan.Writes() {
		end.Sending = r.now()
	}
	rs.cancel()
	r.collectUntil(ctx, done(func() { atOnce(rs.readers, func(from Reader) { from.Flush(ctx) }) }), nil, 0, func() {})
	rs.mu.Lock()
	end.ReadEnd, end.ReadErr = rs.end, rs.err
	rs.mu.Unlock()
}

// readToEnd makes reading end at the end offsets after the senders: those of this load, or of the one that it follows. It waits for
// brokers that are away.
func (r *run) readToEnd(ctx context.Context) {
	if !r.plan.Writes() {
		select {
		case <-r.opts.Until:
		case <-ctx.Done():
			return
		}
	}
	if err := r.readers.driver.SetEndOffsets(ctx); err != nil {
		r.readers.stop(ReadFailed, err)
		return
	}
	r.over()
}

// idlePoll is the interval at which watch looks for progress.
const idlePoll = 50 * time.Millisecond

// busy notes that a reader is busy until then: that no record comes meanwhile does not mean that none is left.
func (rs *readers) busy(until time.Duration) {
	for {
		last := rs.last.Load()
		if last >= int64(until) || rs.last.CompareAndSwap(last, int64(until)) {
			return
		}
	}
}

// watch ends reading in two cases that no record announces: none has come for the timeout, in any process, or the end offsets are
// reached, by a transaction's marker or by another process.
func (r *run) watch(timeout time.Duration) {
	rs, from := r.readers, r.now()
	progress := rs.driver.Progress()
	ticker := time.NewTicker(idlePoll)
	defer ticker.Stop()
	looked := from
	for {
		select {
		case <-rs.done:
			return
		case <-ticker.C:
			if n, late := rs.driver.Progress(), r.now()-looked >= pauseShows; n != progress || late { // late: kt stood still
				progress = n
				rs.busy(r.now()) // the readers of this process may have read all of theirs
			}
			looked = r.now()
			quiet := looked - max(from, time.Duration(rs.last.Load()))
			switch {
			case r.over():
				return
			case timeout > 0 && quiet > timeout:
				rs.stop(ReadIdle, nil)
				return
			}
		}
	}
}

// maxHold is the longest sleep of a reader that a rate holds back.
const maxHold = 20 * time.Millisecond

// read reads until ctx ends or all is read.
func (r *run) read(ctx context.Context, s *Shard, from Reader) {
	rs := r.readers
	s.become(working)
	defer s.become(idle)
	var count int64
	for ctx.Err() == nil && !r.over() {
		now := s.Now()
		s.mu.Lock()
		s.count = count
		s.rephase(now)
		s.mu.Unlock()
		limit, hold := r.allowance(now)
		if r.backlog.held.Load() {
			hold = maxHold
		}
		if s.desk != nil {
			limit = min(limit, s.desk.room(now))
		}
		if hold > 0 {
			s.become(held)
			rs.busy(now + hold)
			s.pause(ctx, hold)
			continue
		}
		if limit = rs.reserve(limit); limit == 0 {
			if rs.unread.Load() <= 0 {
				s.pause(ctx, time.Duration(rs.last.Load())-s.Now()) // what others work on counts too
				rs.stop(ReadCount, nil)
				return
			}
			s.pause(ctx, mostNap) // other readers may return some
			continue
		}
		s.become(waiting)
		asked := s.Now()
		n, err := from.Read(ctx, limit, rs.patience())
		rs.settle(limit, n)
		if err != nil {
			rs.stop(ReadFailed, err)
			r.stopSending() // nothing would read the records
			return
		}
		if n == 0 {
			if rs.shared() {
				s.pause(ctx, 3*mostNap) // another reader may find what this one does not
			}
			continue
		}
		count += int64(n)
		r.backlog.read.Add(int64(n))
		r.took(n, s.Now())
		rs.busy(s.Now())
		if r.plan.Load.OneAtATime {
			rs.arrived(n)
		}
		if s.desk != nil {
			again := s.desk.take(n, asked, s.Now())
			rs.busy(again)
			if left := again - s.Now(); left > 0 {
				s.become(held)
				s.pause(ctx, left)
			}
		}
	}
}

// rephase ends the warm-up of a reader if it is over. The caller holds mu.
func (s *Shard) rephase(now time.Duration) {
	if s.phase == stats.Warmup && s.warm.phase(s.count, now) == stats.Measured {
		s.turn(s.activity, now)
		s.phase, s.measured = stats.Measured, now
	}
}

// over reports whether the end offsets have been reached, and ends reading if so.
func (r *run) over() bool {
	if !r.readers.driver.AtEndOffsets() {
		return false
	}
	r.readers.stop(ReadAll, nil)
	return true
}

const (
	// pollLimit is the most records that one of several readers sets aside.
	pollLimit = 10_000

	// maxKeep is the longest time for which it keeps them without a record to read.
	maxKeep = 100 * time.Millisecond
)

// reserve sets records of the budget aside, at most limit. It returns their number, 0 if none are left.
func (rs *readers) reserve(limit int) int {
	if !rs.counted {
		return limit
	}
	for {
		left := rs.budget.Load()
		take := min(int64(limit), left)
		if rs.shared() {
			take = min(take, pollLimit, max(1, left/int64(len(rs.readers))))
		}
		if take <= 0 {
			return 0
		}
		if rs.budget.CompareAndSwap(left, left-take) {
			return int(take)
		}
	}
}

// shared reports whether readers share a number of records.
func (rs *readers) shared() bool { return rs.counted && len(rs.readers) > 1 }

// patience returns the longest time that a reader may wait for records; 0: no limit. Readers that share a
// number of records must not keep reserved ones for long.
func (rs *readers) patience() time.Duration {
	if rs.shared() {
		return maxKeep
	}
	return 0
}

// settle returns the records that were reserved and not read.
func (rs *readers) settle(reserved, read int) {
	if rs.counted {
		rs.budget.Add(int64(reserved - read))
		rs.unread.Add(-int64(read))
	}
}
