package engine

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// Op is some records that are handed to a worker together and have one outcome. Worker.OpRecords bounds their
// number. All have the phase of the first. Ops are reused, and a worker may keep its own data in State.
type Op struct {
	Index   int64         // the first record's number in its shard, from 0
	Records int           // 1 or more
	Due     time.Duration // when the first record should go, from the start of the run
	LastDue time.Duration // the same of the last one
	Sent    time.Duration // when it was handed to the worker; a worker that waits first sets it again
	Wall    time.Time     // Sent on the wall clock, for the records' timestamps
	Bytes   int           // of keys and values, set by the worker
	State   any           // the worker's own, kept while the Op is reused

	shard       *Shard
	waits       time.Duration // since when its first record has waited; guarded by the shard's mu
	phase       int8
	outstanding bool
}

// Warmup reports whether the records are part of the warm-up.
func (o *Op) Warmup() bool { return o.phase == stats.Warmup }

// Acknowledge reports that the broker took the records. at is the time of its answer, from the start of the
// run. counted is false if the op already has its outcome.
func (o *Op) Acknowledge(partition int32, at time.Duration) (counted bool) {
	s := o.shard
	s.mu.Lock()
	if counted = o.outstanding; counted {
		at = max(at, o.Sent) // an answer is not before its record
		if at != s.answered {
			s.run.answered(s, o, partition, at)
		}
		s.recovered(partition, at)
		s.rec.Acknowledged(int(o.phase), int64(o.Records), partition, o.Bytes, at-o.Sent, at-o.Due, at)
		s.free(o)
	}
	s.mu.Unlock()
	return counted
}

// Fail reports that the records were given up, with the name of a Kafka error code, or "client:…" if the client
// gave up by itself. A negative partition is not known. counted is as for Acknowledge.
func (o *Op) Fail(partition int32, code string) (counted bool) {
	s := o.shard
	at := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.outstanding {
		return false
	}
	s.rec.Failed(int(o.phase), int64(o.Records), code)
	s.run.refused(s, o, partition, code, at)
	s.free(o)
	if s.run.plan.Load.OneAtATime {
		s.run.readers.arrived(o.Records) // no reader will ever get them
	}
	return true
}
