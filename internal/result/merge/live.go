package merge

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Live merges the run files of a run while they grow. It shifts and adds up seconds with the code
// that makes the result of a Set: after the last line, its totals are those of a Set of the same
// files in which all parts count.
//
//	live := merge.NewLive(header, abortOn)
//	err := live.Add("vm14-1.ktr", line) // each complete line of each file
//	for {
//		second, ok := live.Next(elapsed) // until there is no more for now
//	}
//
// Its methods must not be called at the same time.
type Live struct {
	header result.Header
	m      merge                // its parts are those of loads
	files  map[string]*liveFile // by name
	loads  []*liveFile          // files of the parts of m, in their order
	hosts  map[string]*liveHost
	whole  *result.Fold
	watch  *result.Watch
	broken string
	same   repeats
	shown  time.Duration // end of the newest second that Next returned
	fresh  bool          // a file has got its header or its start since the parts were aligned
}

// liveFile is a run file that grows.
type liveFile struct {
	*mergedPart
	lines    result.Decoder
	counts   stats.Window  // of the measured windows so far
	queue    seconds       // not merged yet
	newest   time.Duration // end of the newest second, by the part's own time
	complete time.Duration // end of the newest second with all of its lines
	gone     bool          // no more lines are expected for now
	bad      error         // of the first bad line
}

// liveHost is one host of a run that goes on.
type liveHost struct {
	fold   *result.Fold // nil: no second of it was merged
	vitals *host.Vitals // the newest; nil: none came
}

// Second is one merged second of a run that goes on, and the state of the run at its end.
type Second struct {
	Windows  []stats.Window  // one for each phase that had something to count, warm-up first
	Sample   host.Sample     // of all processes together; zero: none came
	Snapshot result.Snapshot // of all processes together
	Hosts    map[string]HostNow
	Broken   string // the first condition that came true, and what it was; "": none has
}

// HostNow is the state of one host of a run that goes on.
type HostNow struct {
	Snapshot *result.Snapshot // of its processes together; nil: no second of them was merged
	Vitals   *host.Vitals     // the newest of its machine; nil: none came
}

// Over is the elapsed time of a run whose files will not grow. Next then waits for nothing.
const Over = time.Duration(math.MaxInt64)

const (
	// patience is the longest wait of a second for the parts that have not reported it.
	patience = 1500 * time.Millisecond

	// mostQueued bounds the seconds of one part that wait to be merged. Further ones are joined.
	mostQueued = 30
)

// NewLive returns a Live without files. h is the header of the whole run: its cluster and topics
// become those of the files. abortOn are the conditions that end the run.
func NewLive(h result.Header, abortOn []string) *Live {
	return &Live{
		header: h, files: make(map[string]*liveFile), hosts: make(map[string]*liveHost),
		whole: result.NewFold(h), watch: result.NewWatch(abortOn), same: make(repeats),
	}
}

// Add adds a complete line of a run file or of a file of vitals: the next one of that name. After a
// bad line nothing of the file is added, and each call returns the same error.
func (l *Live) Add(name string, line []byte) error {
	f := l.files[name]
	if f == nil {
		f = &liveFile{mergedPart: &mergedPart{runFile: &runFile{name: name}, counted: true}}
		l.files[name] = f
	}
	if f.bad != nil {
		return f.bad
	}
	f.gone = false
	of, err := f.lines.Decode(line)
	if err == nil {
		err = f.keep(&of)
	}
	if err != nil {
		f.bad = fmt.Errorf("%s: %w", name, err)
		return f.bad
	}
	l.take(f, &of)
	return nil
}

// Gone says that a file gets no more lines for now. Until its next line, no second waits for it.
func (l *Live) Gone(name string) {
	if f := l.files[name]; f != nil {
		f.gone = true
	}
}

// take adds what a line holds.
func (l *Live) take(f *liveFile, of *result.Line) {
	switch {
	case of.Vitals != nil:
		entry(&l.hosts, f.host()).vitals = of.Vitals
	case f.watched():
	case of.Header != nil:
		f.number, l.fresh = f.process(), true
		l.loads = append(l.loads, f)
	case of.Start != nil:
		l.fresh = true
	case of.Window != nil:
		f.window(of.Window)
	case of.Sample != nil:
		f.sample(of.Sample)
	}
}

// window adds a window to the queue.
func (f *liveFile) window(w *stats.Window) {
	w.Outage = result.MeasuredGap(&f.counts, w)
	if !w.Warmup {
		counts := w.Counts()
		f.counts.Add(&counts)
	}
	if end := second(w.End); end > f.newest {
		f.newest, f.complete = end, f.newest
	}
	if n := len(f.queue); n == mostQueued {
		f.queue[n-1].end = f.newest
	}
	f.queue.add(w)
}

// sample adds a sample, which comes after the windows of its interval.
func (f *liveFile) sample(s *host.Sample) {
	f.complete = f.newest
	if n := len(f.queue); n > 0 {
		f.queue[n-1].sample.Add(*s)
	}
}

// Next returns the next second. A second is merged once all files have it that grow, or when it was
// over some time ago. What comes later for it counts in a later second. elapsed is since the start of
// the run.
func (l *Live) Next(elapsed time.Duration) (Second, bool) {
	l.align()
	for {
		end, ok := l.next()
		if !ok || elapsed < end || elapsed-end < patience && !l.reported(end) {
			return Second{}, false
		}
		if sum := l.merge(end); len(sum.windows()) > 0 {
			return l.second(sum), true
		}
	}
}

// Now returns the state of the run, without windows and a sample.
func (l *Live) Now() Second {
	l.align()
	return l.second(&wholeSecond{})
}

func (l *Live) second(sum *wholeSecond) Second {
	s := Second{Windows: sum.windows(), Sample: sum.sample, Snapshot: l.whole.Snapshot(), Hosts: make(map[string]HostNow, len(l.hosts)), Broken: l.broken}
	for name, h := range l.hosts {
		now := HostNow{Vitals: h.vitals}
		if h.fold != nil {
			snapshot := h.fold.Snapshot()
			now.Snapshot = &snapshot
		}
		s.Hosts[name] = now
	}
	return s
}

// align orders the parts, and sets common time and the numbers of partitions. Once a second was
// merged, common time 0 and numbers stay, and only new parts get theirs.
func (l *Live) align() {
	if !l.fresh {
		return
	}
	l.fresh = false
	slices.SortFunc(l.loads, func(a, b *liveFile) int { return a.compare(b.runFile) })
	var started []*mergedPart
	l.m.parts = nil
	for _, f := range l.loads {
		l.m.parts = append(l.m.parts, f.mergedPart)
		if f.start != nil {
			started = append(started, f.mergedPart)
		}
	}
	if len(started) == 0 {
		started = l.m.parts
	}
	if l.shown == 0 {
		l.m.begin(started)
		e, _ := l.m.environment()
		of := &l.header.Environment
		of.Cluster, of.Topic, of.Topics = e.Cluster, e.Topic, e.Topics
		l.whole = result.NewFold(l.header)
	}
	l.m.align()
	for _, p := range l.m.parts {
		e := &p.header.Environment
		for _, topic := range allTopics(e) {
			l.m.topics.add(topic)
		}
		p.topics = l.m.topics.places(e)
	}
}

// next returns the end of the next second. ok is false if nothing waits to be merged.
func (l *Live) next() (end time.Duration, ok bool) {
	for _, f := range l.loads {
		if len(f.queue) > 0 {
			if at := f.queue[0].end + f.shift; !ok || at < end {
				end, ok = at, true
			}
		}
	}
	return max(end, l.shown+time.Second), ok
}

// reported reports whether all files that grow have all lines up to end.
func (l *Live) reported(end time.Duration) bool {
	return !slices.ContainsFunc(l.loads, func(f *liveFile) bool {
		return !f.gone && f.trailer == nil && f.bad == nil && f.complete+f.shift < end
	})
}

// merge merges the second with an end, with all that comes too late for the seconds before it.
func (l *Live) merge(end time.Duration) *wholeSecond {
	sum := new(wholeSecond)
	for i := 0; i < len(l.loads); {
		name := l.loads[i].host()
		var of wholeSecond
		for ; i < len(l.loads) && l.loads[i].host() == name; i++ {
			f := l.loads[i]
			of.add(f.mergedPart, f.due(end, l.shown), l.shown, l.same)
		}
		if windows := of.windows(); len(windows) > 0 {
			l.addTo(name, windows)
		}
		sum.join(&of)
	}
	windows := sum.to(l.whole)
	l.shown = end
	if l.broken == "" {
		l.broken = l.watch.Look(l.whole, windows)
	}
	return sum
}

// addTo adds windows to the fold of a host.
func (l *Live) addTo(name string, windows []stats.Window) {
	h := entry(&l.hosts, name)
	if h.fold == nil {
		h.fold = result.NewHostFold(l.header)
	}
	for _, w := range windows {
		h.fold.AddWindow(w)
	}
}

// due takes the seconds up to an end from the queue, as one; nil: there are none. Late windows, up to
// shown, count in the second after it, without the age of their records, which is outdated.
func (f *liveFile) due(end, shown time.Duration) (due *partSecond) {
	for ; len(f.queue) > 0 && f.queue[0].end+f.shift <= end; f.queue = f.queue[1:] {
		s := f.queue[0]
		f.place(s)
		for i := range s.phases {
			if w := &s.phases[i]; s.end <= shown && !w.IsZero() {
				w.Start, w.End, w.Oldest = shown, shown, 0
			}
		}
		if due == nil {
			due = s
		} else {
			due.join(s)
		}
	}
	return due
}
