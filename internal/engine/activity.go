package engine

import (
	"context"
	"time"
)

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
