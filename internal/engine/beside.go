package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// beside is the state that all shards of a run share: the time of the newest answer, and the events.
type beside struct {
	Events
	failing atomic.Bool // the last record with an outcome failed; set with mu held
	said    sync.Map    // by error code: the first message of a broker with it
	codes   sync.Map    // of records that failed

	mu        sync.Mutex // guards the rest; a shard's mu may be held
	wait      stats.Wait
	states    states
	paused    time.Duration // since the last window
	reasons   []string      // why clients are throttled, of the events since that began; none: they are not
	throttled time.Duration // when a client was throttled last
}

// shareEvery is the shortest interval at which a shard shares its newest answer with the others. It keeps
// shards from waiting for one lock, and is the error of a gap.
const shareEvery = time.Millisecond

// answered notes an answer, and the gap that it ends, in which o waited. The gap counts in the phase of the
// run, because records of both phases waited. The caller holds the shard's mu.
func (r *run) answered(s *Shard, o *Op, partition int32, at time.Duration) {
	b, before := &r.beside, s.answered
	s.answered = at
	if s.shared != 0 && at-s.shared < shareEvery && !b.failing.Load() {
		return
	}
	s.shared = at
	b.mu.Lock()
	b.wait.Answered(before)
	gap := b.wait.Acknowledged(o.Sent, at)
	b.failing.Store(false)
	b.recovered(partition, at)
	b.mu.Unlock()
	s.noteOutage(gap)
}

// recovered notes that a record of a partition is acknowledged. The caller holds mu.
func (b *beside) recovered(partition int32, at time.Duration) {
	if len(b.states.of) == 0 {
		return
	}
	for _, p := range []int32{partition, -1} { // -1: of records that failed before they had a partition
		b.states.note(stats.Event{At: at, Kind: stats.FirstSuccess, Broker: -1, To: -1, Text: "records are acknowledged again"}, p)
	}
}

// refused notes a record that failed. The caller holds the shard's mu.
func (r *run) refused(s *Shard, o *Op, partition int32, code string, at time.Duration) {
	b := &r.beside
	b.mu.Lock()
	b.wait.Answered(s.answered)
	gap := b.wait.Failed(o.Sent, at)
	b.failing.Store(true)
	b.failed(partition, code, at)
	b.mu.Unlock()
	s.noteOutage(gap)
	s.failed[partition] = true
	if partition >= 0 {
		s.rec.FailedIn(int(o.phase), partition, o.Sent, at)
	}
}

// failed notes a record that failed. The first one with a code is an event although its partition fails already. The caller holds mu.
func (b *beside) failed(partition int32, code string, at time.Duration) {
	old := b.states.of[stateKey{stats.FirstError, -1, partition}]
	_, known := b.codes.LoadOrStore(code, true)
	if old != nil && !old.over && known {
		return
	}
	e := stats.Event{At: at, Kind: stats.FirstError, Broker: -1, To: -1, Text: stats.RecordsFail + code}
	if said, ok := b.said.Load(code); ok {
		e.Text += ": " + said.(string)
	}
	if b.states.note(e, partition); old != nil && !known {
		b.Add(e)
	}
}

// recovered notes an acknowledgement, in case records of its partition have failed. The caller holds mu.
func (s *Shard) recovered(partition int32, at time.Duration) {
	if len(s.failed) > 0 && (s.failed[partition] || s.failed[-1]) { // nearly always none has failed
		delete(s.failed, partition)
		delete(s.failed, -1)
		s.run.beside.mu.Lock()
		defer s.run.beside.mu.Unlock()
		s.run.beside.recovered(partition, at)
	}
}

// outage notes the open gap of a record of the shard, sent at sent. The caller holds the shard's mu.
func (r *run) outage(s *Shard, at, sent time.Duration) {
	b := &r.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wait.Answered(s.answered)
	s.noteOutage(b.wait.Open(sent, at))
}

// Said keeps the first message of a broker with an error code. The code alone names only a kind of error.
func (s *Shard) Said(code, message string) {
	s.run.beside.said.LoadOrStore(code, message)
}

// Throttled notes that a broker lets the client wait for d. That is no stall, and a reader is not idle meanwhile. It returns the part of
// d that was not noted before: several answers of a broker may tell of one wait.
func (s *Shard) Throttled(broker int32, d time.Duration) (fresh time.Duration) {
	now := s.Now()
	until := now + d
	s.mu.Lock()
	s.turn(s.activity, now)
	if s.waits == nil {
		s.waits = make(map[int32]time.Duration)
	}
	fresh = max(0, until-max(now, s.waits[broker]))
	s.waits[broker] = max(s.waits[broker], until)
	s.throttled = max(s.throttled, until)
	s.mu.Unlock()
	s.run.readers.busy(until)
	s.run.beside.mu.Lock()
	s.run.beside.wait.Answered(until)
	s.run.beside.mu.Unlock()
	return fresh
}

// pauseShows is the time without a tick from which on kt itself stood still. A busy machine delays one for less.
const (
	pauseShows = time.Second
	pauseTick  = pauseShows / 10
)

// notePauses finds the times in which the whole process stood still: it was stopped, or its machine was.
func (r *run) notePauses(ctx context.Context) {
	last := r.now()
	Every(ctx, pauseTick, func() {
		now := r.now()
		r.beside.tick(last, now)
		last = now
	})
}

// tick notes the time between two ticks if that is a pause.
func (b *beside) tick(last, now time.Duration) {
	if late := now - last; late >= pauseShows {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.paused += late
		b.Add(stats.Event{At: last, Kind: stats.Paused, Broker: -1, To: -1, Text: fmt.Sprintf("kt itself stood still for %.1f s", late.Seconds())})
	}
}

// Event reports an event of now.
func (s *Shard) Event(e stats.Event) {
	if !s.run.begun.Load() {
		return // the load has not begun
	}
	e.At = s.Now()
	s.run.beside.Add(e)
}

// takeBeside returns what was found beside the load since the last window, and the changes of its rate and its stages.
func (r *run) takeBeside(start, end time.Duration) stats.Window {
	var w stats.Window
	for _, source := range r.opts.Sources {
		found := source.Take()
		found.FoldPartitions(r.opts.Rows)
		w.Add(&found)
	}
	found := r.beside.Take()
	w.Add(&found)
	r.beside.mu.Lock()
	w.PausedNS, r.beside.paused = int64(r.beside.paused), 0
	w.Events = slices.DeleteFunc(w.Events, func(e stats.Event) bool { // it is the window's own list
		return e.Kind != stats.FirstError && r.beside.states.note(e, -1)
	})
	w.Add(&stats.Window{Events: r.beside.states.settle(end, r.stage() == Finished)})
	r.beside.mu.Unlock()
	w.Add(&stats.Window{Events: r.rates.take(end)})
	w.Add(&stats.Window{Events: r.stagesBegun(start, end)})
	return w
}

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
