package cluster

import (
	"math"
	"time"

	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// view puts the windows of all processes together, second by second, for a screen. What
// the run comes to is made of the run files and not of this.
type view struct {
	shown int                     // the last second that was shown
	last  map[partName]int        // the newest second of each process
	slots map[int]map[bool]*tally // by the second that windows end in, and by whether they are warm-up
	hosts map[string]*tally       // since the last tick
}

// tally is the windows of some processes as one.
type tally struct {
	sum    stats.Window
	lasted time.Duration // all of them, added up
	of     map[partName]bool
}

// add takes a window in that counts as so long; 0: it is late, and another one of the time
// that is shown is there or is not.
func (t *tally) add(name partName, w *stats.Window, lasted time.Duration) {
	t.sum.Add(w)
	if lasted > 0 {
		t.lasted += lasted
		t.of[name] = true
	}
}

// window is all of them. Processes do not begin their seconds together, so from the first
// start to the last end is longer than any of them counted, and rates over that would be too
// low: it lasts as long as those of one process do on average.
func (t *tally) window() stats.Window {
	w := t.sum
	w.End = w.Start // of what is late alone: it counts, and has no rate
	if n := len(t.of); n > 0 {
		w.End += t.lasted / time.Duration(n)
	}
	return w
}

// tallyOf is the tally of a key, which is made if it is not there.
func tallyOf[K comparable](m map[K]*tally, key K) *tally {
	if m[key] == nil {
		m[key] = &tally{of: make(map[partName]bool)}
	}
	return m[key]
}

type partName struct {
	host    string
	process int
}

func newView() *view {
	return &view{last: make(map[partName]int), slots: make(map[int]map[bool]*tally), hosts: make(map[string]*tally)}
}

// add takes in a window. One that is late, of a host that was away, counts in the next
// second that is shown, and nothing is shown twice. What was on its way when a stream
// broke is in the run files alone.
func (v *view) add(host string, process int, w stats.Window, elapsed time.Duration) {
	name := partName{host, process}
	// No window ends after now, whatever its process says.
	slot := min(int(math.Round(w.End.Seconds())), int(elapsed.Seconds())+1)
	if slot <= v.shown {
		w.Oldest = 0 // the age of then is not that of now
	}
	tallyOf(v.hosts, host).add(name, &w, w.End-w.Start)
	v.last[name] = max(v.last[name], slot)
	lasted := w.End - w.Start
	if lasted > time.Second*3/2 {
		lasted = time.Second // the rest of it was shown before, without it
	}
	if slot <= v.shown {
		slot, lasted = v.shown+1, 0
	}
	if from := time.Duration(v.shown) * time.Second; w.Start < from {
		w.Start, w.End = from, max(w.End, from)
	}
	if v.slots[slot] == nil {
		v.slots[slot] = make(map[bool]*tally)
	}
	tallyOf(v.slots[slot], w.Warmup).add(name, &w, lasted)
}

// take is the windows of one second, warm-up first.
func (v *view) take(second int) []stats.Window {
	var windows []stats.Window
	for _, warmup := range []bool{true, false} {
		if t := v.slots[second][warmup]; t != nil {
			windows = append(windows, t.window())
		}
	}
	delete(v.slots, second)
	return windows
}

// next is the next second that is complete: of which every process that should has told,
// or for which was waited long enough.
func (v *view) next(told func(v *view, second int) bool, elapsed time.Duration) ([]stats.Window, bool) {
	second := v.shown + 1
	if elapsed < time.Duration(second)*time.Second+patience && !told(v, second) {
		return nil, false
	}
	if elapsed < time.Duration(second)*time.Second {
		return nil, false
	}
	v.shown = second
	return v.take(second), true
}

// patience is how long a second waits for those that have not told of it.
const patience = 1500 * time.Millisecond

// rest is all that was not shown, at the end.
func (v *view) rest() []stats.Window {
	var all []stats.Window
	for _, second := range sortedKeys(v.slots) {
		for _, w := range v.take(second) {
			all = addPhase(all, w)
		}
	}
	return all
}

// show tells the screen how things are: of every second that is complete, and about once
// a second while there is none.
func (s *session) show(final bool) {
	if s.opts.Observe == nil {
		return
	}
	elapsed := s.elapsed()
	told := func(v *view, second int) bool {
		for _, l := range s.links {
			for i := range l.parts {
				if l.up && l.parts[i].state == partRunning && v.last[partName{l.peer.Name, i + 1}] < second {
					return false
				}
			}
		}
		return true
	}
	shown := false
	for s.stage == Running || s.stage == Collecting {
		windows, ok := s.view.next(told, elapsed)
		if !ok {
			break
		}
		if len(windows) > 0 {
			s.send(s.tick(windows))
			shown = true
		}
	}
	if final {
		s.send(s.tick(s.view.rest()))
		return
	}
	if !shown && time.Since(s.sent) >= time.Second {
		s.send(s.tick(nil))
	}
}

// send passes a tick on.
func (s *session) send(t Tick) {
	s.sent = time.Now()
	s.opts.Observe(t)
}

// tick is the state as it is now.
func (s *session) tick(windows []stats.Window) Tick {
	t := Tick{Stage: s.stage, At: s.elapsed(), Windows: windows}
	for _, l := range s.links {
		h := HostTick{Window: tallyOf(s.view.hosts, l.peer.Name).window(), Host: run.Host{
			Name: l.peer.Name, Role: l.peer.Role, Machine: l.machine(), Processes: len(l.parts), State: s.hostState(l),
			Vitals: l.vitals,
			CPU:    l.peer.CPU, Cores: l.peer.Cores, Offset: l.clock.offset, Bound: l.clock.bound(),
			Seen: l.silence(time.Now()), Until: l.until, Note: l.note(),
		}}
		for i := range l.parts {
			if p := &l.parts[i]; p.sample != nil {
				h.Samples = append(h.Samples, *p.sample)
			}
			if p := &l.parts[i]; p.state == partRunning && l.lost == "" {
				t.Buffered += p.buffered
				t.InFlight += p.inFlight
				t.ConsumerLag += p.consumerLag
			}
		}
		if l.vitals != nil {
			h.CPU, h.Cores = l.vitals.CPU, l.vitals.Cores
		}
		t.Hosts = append(t.Hosts, h)
	}
	clear(s.view.hosts)
	return t
}

// note is what is to be said of a host.
func (l *link) note() string {
	switch moved := l.drift(); {
	case l.lost != "":
		return l.lost
	case l.trouble != "":
		return l.trouble
	case l.unwatched != "":
		return l.unwatched
	case moved != 0:
		return "its clock has moved by " + moved.Round(10*time.Microsecond).String() + " since the start"
	}
	return ""
}
