package engine

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

const (
	// burstLen is the number of records that a sender hands over between two readings of the clock. At
	// half a microsecond a record, the last of a burst is stamped 30 µs early at most, and the
	// clock costs a nanosecond a record.
	burstLen = 64

	// Ops are made when they are needed, as many at once as there are, between these two: an idle client needs few.
	leastSlab, mostSlab = 16, 256

	// shortSleep is the longest sleep that a stop does not interrupt.
	shortSleep = 20 * time.Millisecond
)

// send hands each record to the worker as soon as it is due, until the load is over or stopped.
func (s *Shard) send() {
	defer s.finish()
	var end func() error
	s.sleeper, end = s.run.opts.NewSleeper()
	defer func() { _ = end() }()
	var index int64
	s.due, s.more = s.pacer.Next()
	for s.more && !s.stopped() {
		if s.run.plan.Load.OneAtATime && !s.awaitRead(index) {
			break
		}
		now := s.clock()
		if !s.more {
			break // at the rate of now
		}
		if s.due > now {
			s.behind = false // caught up
			s.sleep(s.due - now)
			continue
		}
		wall := s.run.started().Add(now)
		for room := burstLen; s.more && s.due <= now && room > 0; {
			if s.unlimited {
				s.due = now
			}
			taken, waited := s.handOver(index, s.due, now, wall)
			if taken == 0 {
				break
			}
			index += int64(taken)
			room -= taken
			s.due, s.more = s.pacer.Next()
			if waited || s.run.plan.Load.OneAtATime {
				break // the clock moves on
			}
		}
		s.publish(index, s.due)
	}
	if s.more && !s.unlimited {
		s.countUnsent(index)
	}
}

// handOver hands one op to the worker, once there is room for it. taken is the number of its records, 0
// if the run was stopped meanwhile. waited reports whether back-pressure held the sender up.
func (s *Shard) handOver(index int64, due, now time.Duration, wall time.Time) (taken int, waited bool) {
	phase := s.warm.phase(index, due)
	op := s.acquire()
	if op == nil {
		waited, s.behind = true, true
		s.publish(index, due)
		if op = s.await(); op == nil {
			if s.stopped() {
				return 0, true
			}
			return s.refuse(phase, index, due), true
		}
		now = s.clock()
		wall = s.run.started().Add(now)
	}
	n, last := 1, due
	if s.most > 1 {
		n, last = s.gather(index, due, now, min(s.most, s.run.opts.BufferRecords-int(s.sent.records-s.seen.records)))
	}
	op.Index, op.Records, op.Due, op.LastDue, op.Sent, op.Wall = index, n, due, last, now, wall
	op.phase, op.outstanding = int8(phase), true
	if s.worker.Do(op) {
		waited, s.behind = true, true
	}
	// The op may have its outcome by now, but only this goroutine reuses it.
	s.burst = append(s.burst, sentOp{
		op: op, due: due, last: last, delay: op.Sent - due, records: int32(n), phase: int8(phase), own: !s.behind && !s.unlimited,
	})
	s.sent.records += int64(n)
	s.sent.bytes += int64(op.Bytes)
	return n, waited
}

// gather takes records for an op whose first one is taken: those that are due by now and of its phase,
// up to most in all. It returns the number of records with the first, and the due time of the last.
func (s *Shard) gather(index int64, due, now time.Duration, most int) (n int, last time.Duration) {
	switch w := s.warm; {
	case index < w.records:
		most = int(min(int64(most), w.records-index))
	case due < w.until:
		now = min(now, w.until-1)
	}
	if n, last = s.pacer.Take(now, most-1); n == 0 || s.unlimited {
		last = due
	}
	return n + 1, last
}

// full reports whether the buffer has no room, as of the last look.
func (s *Shard) full() bool {
	o := &s.run.opts
	return s.sent.bytes-s.seen.bytes >= o.BufferBytes || s.sent.records-s.seen.records >= int64(o.BufferRecords)
}

// acquire returns a free op, or nil if the buffer is full.
func (s *Shard) acquire() *Op {
	full := s.full()
	if full || len(s.local) == 0 {
		s.mu.Lock()
		s.look()
		s.mu.Unlock()
		full = s.full()
	}
	if full {
		return nil
	}
	if len(s.local) == 0 && !s.grow() {
		return nil
	}
	op := s.local[len(s.local)-1]
	s.local = s.local[:len(s.local)-1]
	return op
}

// look takes the ops returned since the last look. The caller holds mu.
func (s *Shard) look() {
	s.seen = s.settled
	if len(s.local) == 0 {
		s.local, s.returned = s.returned, s.local
		return
	}
	s.local = append(s.local, s.returned...)
	s.returned = s.returned[:0]
}

// grow makes another slab of ops. It reports whether more were allowed.
func (s *Shard) grow() bool {
	n := min(max(leastSlab, min(s.ops, mostSlab)), s.run.opts.BufferRecords-s.ops)
	if n <= 0 {
		return false
	}
	slab := make([]Op, n)
	for i := range slab {
		slab[i].shard, slab[i].waits = s, never
		s.local = append(s.local, &slab[i])
	}
	s.ops += n
	s.mu.Lock()
	s.slabs = append(s.slabs, slab)
	s.mu.Unlock()
	return true
}

// await waits until a sixteenth of the buffer is free, so that the sender does not wake for each record. It
// returns nil after max.block.ms, or when the run is stopped.
func (s *Shard) await() *Op {
	o := &s.run.opts
	room := max(1, o.BufferRecords/16)
	s.mu.Lock()
	s.look()
	s.waiting = gauge{
		records: s.sent.records - int64(o.BufferRecords-room),
		bytes:   s.sent.bytes - o.BufferBytes*15/16,
	}
	if s.settled.records >= s.waiting.records && s.settled.bytes >= s.waiting.bytes {
		s.waiting = gauge{}
		s.mu.Unlock()
		return s.acquire()
	}
	s.blocked, s.waitFrom = true, s.Now()
	s.mu.Unlock()

	timer := time.NewTimer(o.MaxBlock)
	defer timer.Stop()
	woken := false
	select {
	case <-s.wake:
		woken = true
	case <-timer.C:
	case <-s.run.stop:
	}

	s.mu.Lock()
	s.waiting, s.blocked = gauge{}, false
	s.rec.Window(s.phase).BufferFull += s.Now() - s.waitFrom
	select {
	case <-s.wake: // it came too late
	default:
	}
	s.mu.Unlock()
	if !woken {
		return nil
	}
	return s.acquire()
}

// errBufferFull is the code of a record without room within max.block.ms: Kafka's Java client throws a BufferExhaustedException.
const errBufferFull = "client:BUFFER_EXHAUSTED"

// refuse counts the records of an op that found no room as offered and failed, and returns their number.
func (s *Shard) refuse(phase int, index int64, due time.Duration) (refused int) {
	now := s.clock()
	n, last := 1, due
	if s.most > 1 {
		n, last = s.gather(index, due, now, s.most)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec.Sent(phase, int64(n), due, last, now-due, false)
	s.rec.Failed(phase, int64(n), errBufferFull)
	return n
}

// publish counts the ops of the last burst. next and due are the number and due time of the next record.
func (s *Shard) publish(next int64, due time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.unlimited:
		due = s.Now()
	case !s.more:
		due = never // the pacer gives 0 after the last record
	}
	first := due // of the measured records, while there was none before
	for i := range s.burst {
		b := &s.burst[i]
		if b.phase == stats.Measured {
			first = min(first, b.due)
		}
		s.rec.Sent(int(b.phase), int64(b.records), b.due, b.last, b.delay, b.own)
		if b.op.outstanding {
			b.op.waits = b.due
		}
	}
	if len(s.burst) > 0 && s.handed.records <= s.settled.records {
		s.asked = s.burst[0].due + s.burst[0].delay
	}
	s.burst = s.burst[:0]
	s.handed = s.sent
	s.next = due
	if phase := s.warm.phase(next, due); phase != s.phase {
		s.phase, s.measured = phase, first
	}
}

// countUnsent counts the records that were due before the stop and never handed over.
func (s *Shard) countUnsent(index int64) {
	until := s.run.stopped
	if d := s.run.plan.Load.Duration.Std(); d > 0 {
		until = min(until, d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.more && s.due <= until; s.due, s.more = s.pacer.Next() {
		s.rec.Unsent(s.warm.phase(index, s.due), s.due)
		index++
	}
}

func (s *Shard) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = false
}

func (s *Shard) stopped() bool {
	select {
	case <-s.run.stop:
		return true
	default:
		return false
	}
}

// sleep waits for d. A stop ends it within shortSleep, and so does a change of the rate.
func (s *Shard) sleep(d time.Duration) {
	if d <= shortSleep {
		s.sleeper(max(d, time.Duration(s.run.nap.Load())))
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.posted:
	case <-s.run.stop:
	}
}
