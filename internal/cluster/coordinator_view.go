package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// view merges the seconds of all processes for observers while the run goes on. The result
// comes from the run files and not from the view.
type view struct {
	header  result.Header
	shown   int                              // number of the newest second that observers got
	last    map[partName]int                 // number of the newest second of each process
	seconds map[int]map[string]*stats.Phases // seconds that observers have not got, by number and host
	whole   *result.Fold
	hosts   map[string]*result.Fold
	watch   *result.Watch
	why     string // the condition of --abort-on that came true first; "": none did
}

type partName struct {
	host    string
	process int
}

func newView(h result.Header, abortOn ...string) *view {
	return &view{
		header: h, last: make(map[partName]int), seconds: make(map[int]map[string]*stats.Phases),
		whole: result.NewFold(h), hosts: make(map[string]*result.Fold), watch: result.NewWatch(abortOn),
	}
}

// learn takes the cluster and the topics from a process that has reached them. No second was added yet.
func (v *view) learn(h *result.Header) {
	of, env := &h.Environment, &v.header.Environment
	env.Cluster, env.Topic, env.Topics = of.Cluster, of.Topic, of.Topics
	v.whole = result.NewFold(v.header)
}

// secondOf returns the number of the second that contains the end of a window. An end at a whole
// second belongs to the second before it.
func secondOf(end time.Duration) int { return int((end + time.Second - 1) / time.Second) }

// add adds a window of a process. A window of a second that observers have already got counts
// in the next second. Windows that were lost with a broken stream are in the run files only.
func (v *view) add(host string, process int, w stats.Window, elapsed time.Duration) {
	name := partName{host, process}
	second := min(secondOf(w.End), int(elapsed/time.Second)+1) // not in the future, whatever the process sends
	v.last[name] = max(v.last[name], second)
	if second <= v.shown {
		w.Oldest = 0 // the age is outdated
		second = v.shown + 1
	}
	if from := time.Duration(v.shown) * time.Second; w.Start < from {
		w.Start, w.End = from, max(w.End, from)
	}
	if v.seconds[second] == nil {
		v.seconds[second] = make(map[string]*stats.Phases)
	}
	if v.seconds[second][host] == nil {
		v.seconds[second][host] = new(stats.Phases)
	}
	v.seconds[second][host][stats.PhaseOf(w.Warmup)].Add(&w)
}

// take removes and returns the windows of one second, warm-up first, and adds them to the folds
// of their hosts.
func (v *view) take(second int) []stats.Window {
	var sum stats.Phases
	for _, name := range slices.Sorted(maps.Keys(v.seconds[second])) {
		if v.hosts[name] == nil {
			v.hosts[name] = result.NewHostFold(v.header)
		}
		for _, phase := range []int{stats.Warmup, stats.Measured} {
			if w := &v.seconds[second][name][phase]; !w.IsZero() {
				v.hosts[name].AddWindow(*w)
				sum[phase].Add(w)
			}
		}
	}
	delete(v.seconds, second)
	var windows []stats.Window
	for _, phase := range []int{stats.Warmup, stats.Measured} {
		if !sum[phase].IsZero() {
			windows = append(windows, sum[phase])
		}
	}
	return windows
}

// next returns the windows of the next second if it is complete: all running processes have
// reported it, or its patience is over.
func (v *view) next(reported func(v *view, second int) bool, elapsed time.Duration) ([]stats.Window, bool) {
	second := v.shown + 1
	over := time.Duration(second) * time.Second
	if elapsed < over || elapsed < over+patience && !reported(v, second) {
		return nil, false
	}
	v.shown = second
	return v.take(second), true
}

// patience is the longest wait of a second for processes that have not reported it.
const patience = 1500 * time.Millisecond

// rest returns all windows that observers have not got, at the end of the run.
func (v *view) rest() []stats.Window {
	var all []stats.Window
	for _, second := range slices.Sorted(maps.Keys(v.seconds)) {
		all = engine.MergeWindows(all, v.take(second))
	}
	return all
}

// observe adds a second to the fold of the whole run and returns it for observers.
func (v *view) observe(windows []stats.Window, sample host.Sample, live result.Live) run.Second {
	for _, w := range windows {
		v.whole.AddWindow(w)
	}
	if len(windows) > 0 {
		v.whole.AddSample(sample)
		if v.why == "" {
			v.why = v.watch.Look(v.whole, windows)
		}
	}
	s := run.Second{Windows: windows, Sample: sample, Snapshot: v.whole.Snapshot()}
	s.Snapshot.Sample, s.Snapshot.Live = sample, live
	return s
}

// snapshot returns the snapshot of one host, or nil before its first second.
func (v *view) snapshot(host string) *result.Snapshot {
	fold := v.hosts[host]
	if fold == nil {
		return nil
	}
	s := fold.Snapshot()
	return &s
}

// show passes every complete second on to the observer. While there is none, the observer gets
// the state of the hosts once a second.
func (s *session) show(final bool) {
	if s.opts.Observe == nil {
		return
	}
	elapsed := s.elapsed()
	reported := func(v *view, second int) bool {
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
	for s.stage == stageRunning || s.stage == stageCollecting {
		windows, ok := s.view.next(reported, elapsed)
		if !ok {
			break
		}
		if len(windows) > 0 {
			s.send(s.second(windows))
			shown = true
		}
	}
	if s.view.why != "" && s.stage == stageRunning && !s.stopped {
		s.broken = s.view.why
		s.stopLoad()
	}
	if final {
		s.send(s.second(s.view.rest()))
		return
	}
	if !shown && time.Since(s.sent) >= time.Second {
		s.send(s.second(nil))
	}
}

// stages maps the stages of a session to those of a snapshot.
var stages = map[stage]result.Stage{
	stageLobby: result.Gathering, stagePreparing: result.Preparing, stageSyncing: result.Preparing, stageStarting: result.Preparing,
	stageRunning: result.Running, stageCollecting: result.Draining, stageFinished: result.Finished,
}

func (s *session) send(t run.Second) {
	s.sent = time.Now()
	s.opts.Observe(t)
}

// second returns the state of the run after adding the windows of one more second.
func (s *session) second(windows []stats.Window) run.Second {
	live, at := result.Live{Stage: stages[s.stage]}, s.elapsed()
	var usages []merge.Usage
	for _, l := range s.links {
		for i := range l.parts {
			p := &l.parts[i]
			if p.sample != nil {
				usages = append(usages, merge.Usage{Host: l.peer.Name, Machine: l.machine(), Sample: l.sample(p)})
			}
			if p.state == partRunning && l.lost == "" {
				live.Buffered += p.buffered
				live.InFlight += p.inFlight
			}
		}
	}
	t := s.view.observe(windows, merge.BusyTogether(at, usages), live)
	t.StartsIn = max(0, -at)
	for _, l := range s.links {
		t.Hosts = append(t.Hosts, run.Host{
			Name: l.peer.Name, Processes: len(l.parts), State: s.hostState(l), Snapshot: s.view.snapshot(l.peer.Name), Vitals: l.vitals,
			Offset: l.clock.offset, Bound: l.clock.bound(), Seen: l.silence(time.Now()), Until: l.until, Note: l.note(),
		})
	}
	return t
}

// sample returns the newest sample of a process, with the CPU use of its host from the host's
// vitals, which are newer.
func (l *link) sample(p *part) host.Sample {
	s := *p.sample
	if l.vitals != nil {
		s.HostCPU = l.vitals.CPU
	}
	return s
}

// note returns a warning about a host for the screen, or "".
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
