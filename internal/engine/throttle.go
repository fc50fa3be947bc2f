package engine

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

const throttleHolds = 3 * time.Second // for which a look at a client tells of the present

// LookThrottled counts the time since the last look, about a second ago, if the broker throttles the client, and does not tell for how long.
// why is empty if it does not throttle it.
func (s *Shard) LookThrottled(broker int32, why string) {
	now, b := s.Now(), &s.run.beside
	since, e := max(0, now-s.looked), stats.Event{At: now, Kind: stats.AlarmOff, Broker: -1, To: -1, Text: "kt is not throttled any more"}
	s.looked = now
	if why != "" {
		e.Kind, e.Text = stats.AlarmOn, stats.KtIsThrottled+why
		s.Throttled(throttleHolds)
		s.Record(func(rec *stats.Recorder, phase int) {
			count := map[bool]func(int, int32, time.Duration){true: rec.FetchThrottle, false: rec.Throttle}[s.pacer == nil] // it reads
			count(phase, max(0, broker), since)
		})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if why != "" {
		b.throttled = now
	}
	if why != b.why && (why != "" || now-b.throttled >= throttleHolds) {
		b.why = why
		if !b.states.note(e, -1) {
			b.Add(e)
		}
	}
}
