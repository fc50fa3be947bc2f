package engine

import (
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

const (
	throttleHolds = 3 * time.Second // for which a look at a client tells of the present
	mostReasons   = 16              // that are kept: a system may write anything
)

// LookThrottled counts the time since the last look, about a second ago, if the broker throttles the client, and does not tell for how long.
// why is empty if it does not throttle it.
func (s *Shard) LookThrottled(broker int32, why string) {
	now, b := s.Now(), &s.run.beside
	since := min(max(0, now-s.looked), throttleHolds) // looks may have failed
	s.looked = now
	if why != "" {
		s.Throttled(max(0, broker), throttleHolds)
		s.Record(func(rec *stats.Recorder, phase int) {
			b := rec.Broker(phase, max(0, broker))
			of := &b.Traffic
			if s.pacer == nil { // it reads
				of = &b.Fetch
			}
			of.Throttle += since
		})
	}
	e := stats.Event{At: now, Kind: stats.AlarmOn, Broker: -1, To: -1, Text: stats.KtIsThrottled + why}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case why != "":
		if b.throttled = now; slices.Contains(b.reasons, why) || len(b.reasons) == mostReasons {
			return
		}
		b.reasons = append(b.reasons, why)
	case len(b.reasons) > 0 && now-b.throttled >= throttleHolds:
		b.reasons, e.Kind, e.Text = nil, stats.AlarmOff, "kt is not throttled any more"
	default:
		return
	}
	if !b.states.note(e, -1) {
		b.Add(e)
	}
}
