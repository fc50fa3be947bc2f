package engine

import (
	"math"
	"time"
)

// never is the value of Op.waits without a waiting record.
const never time.Duration = math.MaxInt64

// oldest returns the time since which the oldest record of the shard has waited for its outcome, or never. A
// record that the sender holds, or should have taken, has waited since next, which may lie in the
// future. The caller holds mu.
//
// It reads all ops, up to 0.5 ms for 50,000 of them, so that a record costs next to nothing.
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
