package engine

import (
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Shard is one producer's part of a run: what its worker sees of the engine.
type Shard struct {
	Index, Count int // this shard, of how many

	run    *run
	worker Worker // of a sender

	// The sender's own; no other goroutine looks.
	pacer  plan.Pacer
	warm   warmup
	closed bool   // no schedule: a record is due when it can go
	debt   bool   // behind because something held the sender up, and not caught up since
	local  []*Op  // free ops
	slabs  [][]Op // every op there is; it grows with mu held, because oldest looks at it
	burst  []sentOp
	most   int   // records of one op
	sent   gauge // records handed to the worker
	seen   gauge // records with an outcome, as of the last look

	// mu guards everything below: it is taken once for each outcome and once for
	// each burst of the sender.
	mu       sync.Mutex
	rec      *stats.Recorder
	phase    int   // of the next record to send
	sending  bool  // the sender has not finished
	handed   gauge // records handed to the worker, as of the last burst
	settled  gauge // records with an outcome
	returned []*Op
	next     time.Duration // when the record is due that comes next
	waiting  gauge         // the sender waits until settled reaches this; zero: it does not wait
	blocked  bool          // the sender is held up by a full buffer, until it has woken
	waitFrom time.Duration // since when, or since the last window
	wake     chan struct{}
	answered time.Duration // when the newest answer came
	shared   time.Duration // when the newest answer came that the other shards know of
	asked    time.Duration // when a record was handed over while none was outstanding

	// Of a reader.
	activity activity
	since    time.Duration // it began, or the last window
}

// gauge counts records and their bytes.
type gauge struct {
	records int64
	bytes   int64
}

// warmup tells the phase of each record.
type warmup struct {
	until time.Duration
	ops   int64
}

func (w warmup) phase(index int64, due time.Duration) int {
	return stats.PhaseOf(index < w.ops || due < w.until)
}

// sentOp is one op that was handed over and has not been counted. It is a copy, because
// the op may have its outcome by now and be on its way again.
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
		Index:  index,
		Count:  n,
		run:    r,
		pacer:  p.Pacer(index),
		warm:   warmup{until: p.Load.Warmup.Duration.Std(), ops: p.WarmupShare(index)},
		closed: p.Load.Rate.IsUnlimited(),
		burst:  make([]sentOp, 0, burstLen),
		most:   1,
		rec:    stats.NewRecorder(),
		wake:   make(chan struct{}, 1),

		sending: true,
	}
	s.phase = s.warm.phase(0, 0)
	return s
}

// Now is the time since the start of the run, by the monotonic clock.
func (s *Shard) Now() time.Duration { return s.run.now() }

// Started is the moment that Now counts from.
func (s *Shard) Started() time.Time { return s.run.started() }

// Record lets a worker count what it knows beside the records' outcomes: requests,
// batches, throttling, transactions. f gets the phase that the run is in.
func (s *Shard) Record(f func(rec *stats.Recorder, phase int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.rec, s.phase)
}

// Requests tells by how many the requests in flight have changed.
func (s *Shard) Requests(change int) { s.run.opts.Status.Requests.Add(int64(change)) }

// free takes back an op that has its outcome. The caller holds mu.
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
		default: // the sender has just stopped waiting by itself
		}
	}
}

// take hands over what was recorded since start, and the bytes that wait for acks.
func (s *Shard) take(fresh *stats.Phases, start, end time.Duration) (*stats.Phases, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocked && end > s.waitFrom {
		s.rec.BufferFull(s.phase, end-s.waitFrom)
		s.waitFrom = end
	}
	s.turn(s.activity, end)
	if s.handed.records > s.settled.records { // a gap counts while it is open
		s.rec.Outage(s.phase, s.run.outage(s, end, s.asked))
	}
	var sending time.Duration
	if s.sending {
		sending = end - start
	}
	s.rec.Oldest(s.phase, max(0, end-s.oldest()))
	return s.rec.Take(fresh, s.phase, start, end, sending), max(0, s.handed.bytes-s.settled.bytes)
}

// giveUp counts the records of every op that is still outstanding as unknown. The
// sender has finished.
func (s *Shard) giveUp() {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slab := range s.slabs {
		for i := range slab {
			if o := &slab[i]; o.outstanding {
				o.outstanding = false
				o.waits = never
				s.rec.Unknown(int(o.phase), int64(o.Records), now-o.Due)
				s.rec.Outage(s.phase, s.run.outage(s, now, o.Sent))
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
