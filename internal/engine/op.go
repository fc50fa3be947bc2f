package engine

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// Op is one record on its way: due at one moment, handed to a worker at another.
// Ops are reused; a worker may keep what it needs for one in State.
type Op struct {
	Index int64         // the record's number in its shard, from 0
	Due   time.Duration // when it should go, from the start of the run
	Sent  time.Duration // when it was handed to the worker; one that has to wait first sets it anew
	Wall  time.Time     // Sent on the wall clock, for the record's timestamp
	Bytes int           // of key and value, set by the worker
	State any           // the worker's own, kept while the Op is reused

	shard       *Shard
	waits       time.Duration // since when, as oldest counts; guarded by the shard's mu
	phase       int8
	outstanding bool
}

// Warmup tells whether the record is part of the warm-up.
func (o *Op) Warmup() bool { return o.phase == stats.Warmup }

// Acknowledge reports that the broker took the record. at is when its answer
// arrived, from the start of the run. It tells whether that was counted: a record that
// was given up before is not.
func (o *Op) Acknowledge(partition int32, at time.Duration) (counted bool) {
	s := o.shard
	s.mu.Lock()
	if counted = o.outstanding; counted {
		at = max(at, o.Sent) // an answer cannot be older than its question
		if at != s.answered {
			s.answered = at
			s.run.answered(s, o, at)
		}
		s.rec.Acknowledged(int(o.phase), partition, o.Bytes, at-o.Sent, at-o.Due, at)
		s.free(o)
	}
	s.mu.Unlock()
	return counted
}

// Fail reports that the record was given up, with a Kafka error code by name, or
// "client:…" where the client gave up by itself. A negative partition is not known. It
// tells whether that was counted, as Acknowledge does.
func (o *Op) Fail(partition int32, code string) (counted bool) {
	s := o.shard
	at := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.outstanding {
		return false
	}
	s.rec.Failed(int(o.phase), code, at-o.Due)
	s.run.refused(s, o, partition, code, at)
	s.free(o)
	if s.run.plan.Load.OneAtATime {
		s.run.readers.arrived(1) // nobody will ever read it
	}
	return true
}
