package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// holds is how long the end of a state has to hold. A state that comes back before flaps: it is told once, and its end with a count.
const holds = 5 * time.Second

// states are what goes on in a run: records of a partition fail, a broker is gone, an alarm is on. The zero value is ready to use.
type states struct{ of map[stateKey]*state }

type stateKey struct {
	begins            stats.EventKind
	broker, partition int32
}

type state struct {
	begin, end stats.Event // the newest ones
	again      int         // how often it came back
	told, over bool
}

// note takes an event of a partition, -1 for none. It reports whether the event is of a state: settle returns such events.
func (s *states) note(e stats.Event, partition int32) bool {
	begins, ends := e.Kind.State()
	key := stateKey{begins, e.Broker, partition}
	switch old := s.of[key]; {
	case begins == "" || old == nil && ends: // it began before the load
		return false
	case old == nil:
		if s.of == nil {
			s.of = make(map[stateKey]*state)
		}
		s.of[key] = &state{begin: e}
	case ends && old.over || ends && e.At < old.begin.At:
	case ends:
		old.over, old.end = true, e
	case old.over:
		old.over, old.begin = false, e
		old.again++
	default:
		return e.Kind == stats.FirstError // another host may be gone beside one without a number
	}
	return true
}

// settle returns the beginnings of states, and the ends that have held or are those of a run. Partitions with the same event share it.
func (s *states) settle(now time.Duration, final bool) (told []stats.Event) {
	var flaps []int // of each told event
	tell := func(e stats.Event, partition int32, n int) {
		i := slices.IndexFunc(told, func(o stats.Event) bool { return o.Kind == e.Kind && o.Broker == e.Broker && o.Text == e.Text })
		if i < 0 {
			i, told, flaps = len(told), append(told, e), append(flaps, 0)
		}
		all := &told[i]
		all.At, flaps[i] = min(all.At, e.At), flaps[i]+n
		if partition < 0 {
			return
		}
		if all.Count++; len(all.Partitions) < stats.MaxEventPartitions {
			all.Partitions = append(all.Partitions, partition)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.of), func(a, b stateKey) int { return cmp.Compare(a.partition, b.partition) }) {
		old, again := s.of[key], 0
		if final && !old.over {
			again = old.again
		}
		if !old.told || again > 0 {
			old.told = true
			tell(old.begin, key.partition, again)
		}
		if old.over && (final || now-old.end.At >= holds) {
			tell(old.end, key.partition, old.again)
			delete(s.of, key)
		}
	}
	for i, n := range flaps {
		if n > 0 {
			told[i].Text += fmt.Sprintf(" (flapping: %d more)", n)
		}
	}
	return told
}
