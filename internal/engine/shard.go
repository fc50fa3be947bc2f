package engine

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Shard is one producer or one reader of a run, as its worker or Reader sees it.
type Shard struct {
	Index, Count int // this shard, of how many

	run    *run
	worker Worker // of a sender

	// The sender's own; no other goroutine looks.
	pacer     plan.Pacer
	due       time.Duration   // of the record that the pacer gave last
	more      bool            // there is such a record
	posted    <-chan struct{} // closed: the rate has been changed once more
	paced     int             // changes of the rate that the pacer knows
	warm      warmup
	unlimited bool // no schedule: a record is due when it can go
	sleeper   func(time.Duration)
	behind    bool   // back-pressure held the sender up, and it has not caught up since
	local     []*Op  // free ops
	slabs     [][]Op // all ops; it grows with mu held, because oldest reads it
	ops       int    // in slabs
	burst     []sentOp
	most      int   // most records of one op
	sent      gauge // records handed to the worker
	seen      gauge // records with an outcome, as of the last look

	// Its mu guards everything below: it is taken once for each outcome and once for each burst of the sender.
	*tally
	phase    int           // of the next record to send
	measured time.Duration // when the first measured record was due; of a reader, when its measured part began
	sending  bool          // the sender has not finished
	handed   gauge         // records handed to the worker, as of the last burst
	settled  gauge         // records with an outcome
	returned []*Op
	next     time.Duration // due time of the next record
	waiting  gauge         // the sender waits until settled reaches this; zero: it does not wait
	blocked  bool          // a full buffer holds the sender up
	waitFrom time.Duration // since when, or the end of the last window if that is later
	wake     chan struct{}
	answered time.Duration  // time of the newest answer
	shared   time.Duration  // time of the newest answer that other shards know of
	asked    time.Duration  // when a record was last handed over while none was outstanding
	failed   map[int32]bool // partitions of which a record failed and none was acknowledged since; -1: it had none

	throttled time.Duration           // until when a broker lets the client wait
	waits     map[int32]time.Duration // the same by broker
	looked    time.Duration           // at that, by LookThrottled

	// Of a reader.
	desk     *desk // nil: records take no time; no other goroutine looks
	count    int64 // records read, as of the last look
	activity activity
	since    time.Duration // start of the activity, or the end of the last window
}

// tally counts for a shard, or for several: a recorder takes about a megabyte, too much for each of a thousand clients.
type tally struct {
	mu     sync.Mutex // of all these shards
	rec    *stats.Recorder
	shards []*Shard
}

// mostTallies is the number of shards from which on they share tallies. There are at least 16 of those then, and one for each
// processor, so that shards seldom wait for one another.
const mostTallies = 64

// share gives shards their tallies.
func (r *run) share(shards []*Shard) {
	n := len(shards)
	if n > mostTallies {
		n = min(mostTallies, max(16, runtime.GOMAXPROCS(0)))
	}
	all := make([]*tally, n)
	for i := range all {
		all[i] = &tally{rec: r.recorder()}
	}
	for i, s := range shards {
		t := all[i%n]
		s.tally, t.shards = t, append(t.shards, s)
	}
	r.tallies = append(r.tallies, all...)
}

// gauge counts records and their bytes.
type gauge struct {
	records int64
	bytes   int64
}

// warmup decides the phase of each record.
type warmup struct {
	until   time.Duration
	records int64
}

func (w warmup) phase(index int64, due time.Duration) int {
	return stats.PhaseOf(index < w.records || due < w.until)
}

// sentOp is a copy of an op that is not counted yet: the op itself may have its outcome by now and be in use again.
type sentOp struct {
	op        *Op
	due, last time.Duration
	delay     time.Duration
	records   int32
	phase     int8
	own       bool // nothing but kt held it up
}

func newShard(r *run, index int) *Shard {
	p, n := &r.plan, r.plan.Producers
	s := &Shard{
		Index:     index,
		Count:     n,
		run:       r,
		pacer:     p.Pacer(index),
		warm:      warmup{until: p.Load.Warmup.Duration.Std(), records: p.WarmupShare(index)},
		unlimited: p.Load.Rate.IsUnlimited(),
		burst:     make([]sentOp, 0, burstLen),
		most:      1,
		wake:      make(chan struct{}, 1),
		posted:    r.rates.posted,
		failed:    make(map[int32]bool),

		sending: true,
	}
	s.phase = s.warm.phase(0, 0)
	return s
}

// NoRun returns a shard of no run, for reading alone. What it counts is lost.
func NoRun() *Shard {
	return &Shard{run: &run{made: time.Now()}, tally: &tally{rec: stats.NewRecorder()}}
}

// Now returns the time since the start of the run, by the monotonic clock.
func (s *Shard) Now() time.Duration { return s.run.now() }

// Started returns the time at which Now is 0.
func (s *Shard) Started() time.Time { return s.run.started() }

// Record calls f to count data other than outcomes of records: requests, batches, throttling,
// transactions. phase is the phase of the run.
func (s *Shard) Record(f func(rec *stats.Recorder, phase int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.rec, s.phase)
}

// Requests changes the number of requests in flight.
func (s *Shard) Requests(change int) { s.run.opts.Status.Requests.Add(int64(change)) }

// noteOutage notes a time in which records waited and no broker acknowledged any. The caller holds mu.
func (s *Shard) noteOutage(g stats.Gap) {
	w := s.rec.Window(s.phase)
	w.Outage = w.Outage.Longer(g)
}

// free takes back an op with its outcome. The caller holds mu.
func (s *Shard) free(o *Op) {
	o.outstanding = false
	o.waits = never
	s.returned = append(s.returned, o)
	s.settled.records += int64(o.Records)
	s.settled.bytes += int64(o.Bytes)
	if s.waiting != (gauge{}) && s.settled.records >= s.waiting.records && s.settled.bytes >= s.waiting.bytes {
		s.waiting = gauge{}
		select {
		case s.wake <- struct{}{}:
		default: // the sender has just stopped waiting
		}
	}
}

// take returns the windows recorded from start to end, and the bytes that wait for acks.
func (t *tally) take(fresh *stats.Phases, start, end time.Duration) (taken *stats.Phases, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.shards {
		s.settle(start, end)
		bytes += max(0, s.handed.bytes-s.settled.bytes)
	}
	return t.rec.Take(fresh, start, end), bytes
}

// settle counts what goes on at the end of a window. The caller holds mu.
func (s *Shard) settle(start, end time.Duration) {
	if s.blocked && end > s.waitFrom {
		s.rec.Window(s.phase).BufferFull += end - s.waitFrom
		s.waitFrom = end
	}
	s.turn(s.activity, end)
	if s.activity != idle {
		s.rephase(end) // it may wait for a long time
	}
	if s.handed.records > s.settled.records { // a gap counts while it is open
		s.run.outage(s, end, s.asked)
	}
	w := s.rec.Window(s.phase)
	w.Oldest = max(w.Oldest, end-s.oldest())
	if s.sending {
		phase := stats.PhaseOf(s.phase == stats.Warmup || s.measured >= end && s.measured > 0) // the next record may be due later
		s.rec.Window(phase).ShardTime += end - start
	}
}

// giveUp counts the records of every outstanding op as unknown. The sender must have finished.
func (s *Shard) giveUp() {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slab := range s.slabs {
		for i := range slab {
			if o := &slab[i]; o.outstanding {
				o.outstanding = false
				o.waits = never
				s.rec.Unknown(int(o.phase), int64(o.Records))
				s.run.outage(s, now, o.Sent)
				if s.answered == 0 {
					continue
				}
				if partition := s.worker.Place(o); partition >= 0 {
					s.rec.FailedIn(int(o.phase), partition, o.Sent, now)
				}
			}
		}
	}
}

// activity is an activity of a reader.
type activity int

// The activities of a reader.
const (
	idle    activity = iota
	waiting          // for records
	working          // on them
	held             // back, by a rate or a processing time
)

// Working reports that the records of a Read have arrived. From now on the client works on them.
func (s *Shard) Working() { s.become(working) }

// become ends one activity of the reader and begins another.
func (s *Shard) become(to activity) {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(to, now)
}

// turn counts the time of the activity so far. The caller holds mu.
func (s *Shard) turn(to activity, now time.Duration) {
	if took := max(0, now-s.since); s.activity != idle {
		w := s.rec.Window(s.phase)
		w.ReadTime += took
		switch s.activity {
		case waiting:
			w.ReadWait += max(0, now-max(s.since, s.throttled)) // no record could come before
		case held:
			w.ReadHeld += took
		}
	}
	s.activity, s.since = to, max(now, s.since)
}

// pause waits for d, or until ctx ends.
func (s *Shard) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(max(d, mostNap))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// never is the value of Op.waits without a waiting record.
const never time.Duration = math.MaxInt64

// oldest returns the time since which the oldest record of the shard waits for its outcome, or never: for one that the sender holds,
// or should have taken, since next, which may lie in the future. It reads all ops, up to 0.5 ms for 50,000, so that a record costs
// next to nothing. The caller holds mu.
func (s *Shard) oldest() time.Duration {
	since := never
	if s.sending {
		since = s.next
	}
	for _, slab := range s.slabs {
		for i := range slab {
			since = min(since, slab[i].waits)
		}
	}
	return since
}

// Oldest returns the time since which the oldest record without an outcome has waited, and the time now, both
// from the start of the run. waits is false if no record waits or no run is live. It takes the lock
// of each shard: call it a few times a second at most.
func (s *Status) Oldest() (since, now time.Duration, waits bool) {
	r := s.run.Load()
	if r == nil {
		return 0, 0, false
	}
	since = never
	for _, shard := range r.shards {
		shard.mu.Lock()
		since = min(since, max(shard.oldest(), shard.throttled)) // a quota is no stall
		shard.mu.Unlock()
	}
	now = r.now()
	return since, now, since < now
}
