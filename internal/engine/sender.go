package engine

import (
	"time"
)

const (
	// minSleep is the shortest sleep of a sender. Go rounds shorter ones up to
	// it on Linux (netpoll counts milliseconds, golang/go#53824).
	minSleep = time.Millisecond

	// burstLen is how many records a sender hands over between two looks at the
	// clock: at half a microsecond a record, the last of a burst is stamped 30 µs
	// early at most, and the clock costs a nanosecond a record.
	burstLen = 64

	// slabLen is how many ops are made at once, as they are needed.
	slabLen = 256

	// shortSleep is the longest sleep that a stop may have to wait for.
	shortSleep = 20 * time.Millisecond
)

// send hands records to the worker, each as soon as it is due, until the load is
// over or the run is told to stop.
func (s *Shard) send() {
	defer s.finish()
	var index int64
	due, ok := s.pacer.Next()
	for ok && !s.stopped() {
		if s.run.plan.Load.OneAtATime && !s.awaitRead(index) {
			break
		}
		now := s.Now()
		if due > now {
			s.debt = false // caught up
			s.sleep(due - now)
			continue
		}
		wall := s.run.started().Add(now)
		for ok && due <= now && len(s.burst) < burstLen {
			if s.closed {
				due = now
			}
			taken, waited := s.handOver(index, due, now, wall)
			if !taken {
				break
			}
			index++
			due, ok = s.pacer.Next()
			if waited || s.run.plan.Load.OneAtATime {
				break // the clock moves on
			}
		}
		s.publish(index, due)
	}
	if ok && !s.closed {
		s.countUnsent(index, due)
	}
}

// handOver gives one record to the worker, once there is room for it. taken is
// false when the run was stopped meanwhile; waited tells that something held the
// sender up.
func (s *Shard) handOver(index int64, due, now time.Duration, wall time.Time) (taken, waited bool) {
	phase := s.warm.phase(index, due)
	op := s.acquire()
	if op == nil {
		waited, s.debt = true, true
		s.publish(index, due)
		if op = s.await(); op == nil {
			if s.stopped() {
				return false, true
			}
			s.refuse(phase, due)
			return true, true
		}
		now = s.Now()
		wall = s.run.started().Add(now)
	}
	op.Index, op.Due, op.Sent, op.Wall, op.phase, op.outstanding = index, due, now, wall, int8(phase), true
	if s.worker.Do(op) {
		waited, s.debt = true, true
	}
	// The op may have its outcome by now, but only this goroutine uses it again.
	s.burst = append(s.burst, sentRecord{op: op, due: due, delay: op.Sent - due, phase: int8(phase), own: !s.debt && !s.closed})
	s.sent.ops++
	s.sent.bytes += int64(op.Bytes)
	return true, waited
}

// acquire returns a free op, or nil when as many records or bytes wait for acks
// as the buffer takes.
func (s *Shard) acquire() *Op {
	full := s.sent.bytes-s.seen.bytes >= s.run.opts.BufferBytes
	if full || len(s.local) == 0 {
		s.mu.Lock()
		s.look()
		s.mu.Unlock()
		full = s.sent.bytes-s.seen.bytes >= s.run.opts.BufferBytes
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

// look takes what has been returned since the last look. The caller holds mu.
func (s *Shard) look() {
	s.seen = s.settled
	if len(s.local) == 0 {
		s.local, s.returned = s.returned, s.local
		return
	}
	s.local = append(s.local, s.returned...)
	s.returned = s.returned[:0]
}

// grow makes another slab of ops, unless there are as many as allowed.
func (s *Shard) grow() bool {
	n := min(slabLen, s.run.opts.BufferOps-slabLen*len(s.slabs))
	if n <= 0 {
		return false
	}
	slab := make([]Op, n)
	for i := range slab {
		slab[i].shard, slab[i].waits = s, never
		s.local = append(s.local, &slab[i])
	}
	s.mu.Lock()
	s.slabs = append(s.slabs, slab)
	s.mu.Unlock()
	return true
}

// await waits until a sixteenth of the buffer is free again, so that the sender
// wakes for many records and not for each. It returns nil after max.block.ms, or
// when the run is stopped.
func (s *Shard) await() *Op {
	o := &s.run.opts
	room := max(1, o.BufferOps/16)
	s.mu.Lock()
	s.look()
	s.waiting = gauge{
		ops:   s.sent.ops - int64(o.BufferOps-room),
		bytes: s.sent.bytes - o.BufferBytes*15/16,
	}
	if s.settled.ops >= s.waiting.ops && s.settled.bytes >= s.waiting.bytes {
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
	s.rec.BufferFull(s.phase, s.Now()-s.waitFrom)
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

// errBufferFull is the error code of a record for which there was no room within
// max.block.ms. Kafka's Java client throws a BufferExhaustedException.
const errBufferFull = "client:BUFFER_EXHAUSTED"

// refuse counts a record that found no room as offered and failed.
func (s *Shard) refuse(phase int, due time.Duration) {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec.Sent(phase, due, now-due, false)
	s.rec.Failed(phase, errBufferFull, now-due)
}

// publish counts the records of the last burst. next is the record to come.
func (s *Shard) publish(next int64, due time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.burst {
		b := &s.burst[i]
		s.rec.Sent(int(b.phase), b.due, b.delay, b.own)
		if b.op.outstanding {
			b.op.waits = b.due
		}
	}
	if len(s.burst) > 0 && s.handed.ops <= s.settled.ops {
		s.asked = s.burst[0].due + s.burst[0].delay
	}
	s.burst = s.burst[:0]
	s.handed = s.sent
	if s.closed {
		due = s.Now()
	}
	s.next = due
	s.phase = s.warm.phase(next, due)
}

// countUnsent counts what was due before the run was stopped and was never
// handed over, with its age.
func (s *Shard) countUnsent(index int64, due time.Duration) {
	now := s.Now()
	until := s.run.stopped
	if d := s.run.plan.Load.Duration.Std(); d > 0 {
		until = min(until, d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for ok := true; ok && due <= until; due, ok = s.pacer.Next() {
		s.rec.Unsent(s.warm.phase(index, due), due, now-due)
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

// sleep waits for d, or at most shortly after the run was stopped.
func (s *Shard) sleep(d time.Duration) {
	if d <= shortSleep {
		time.Sleep(max(d, minSleep))
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.run.stop:
	}
}
