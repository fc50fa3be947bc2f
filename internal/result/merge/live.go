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
	merge  // its parts are those of loads, and all of them count
	header result.Header
	files  map[string]*mergedPart // by name, those of vitals too
	abort  []string               // conditions that end the run
	fresh  bool                   // a file has got its header or its start since the parts were aligned
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

	newest second       // of all processes so far
	fold   *result.Fold // nil: no second of it was merged
}

// Over is the elapsed time of a run whose files will not grow. Next then waits for nothing.
const Over = time.Duration(math.MaxInt64)

// patience is the longest wait of a second for the parts that have not reported it.
const patience = 1500 * time.Millisecond

// NewLive returns a Live without files. h is the header of the whole run: its cluster and topics
// become those of the files. abortOn are the conditions that end the run.
func NewLive(h result.Header, abortOn []string) *Live {
	return &Live{
		merge:  merge{whole: result.NewFold(h), same: make(repeats), hosts: make(map[string]*HostNow)},
		header: h, files: make(map[string]*mergedPart), abort: abortOn,
	}
}

// Add adds a complete line of a run file or of a file of vitals: the next one of that name. After a
// bad line nothing of the file is added, and each call returns the same error.
func (l *Live) Add(name string, line []byte) error {
	p := l.files[name]
	if p == nil {
		p = &mergedPart{runFile: &runFile{name: name}, counted: true}
		l.files[name] = p
	}
	if p.failed != nil {
		return p.failed
	}
	p.gone = false
	of, err := p.decoder.Decode(line)
	if err == nil {
		err = p.keep(&of)
	}
	if err != nil {
		p.failed = fmt.Errorf("%s: %w", name, err)
		return p.failed
	}
	switch {
	case of.Vitals != nil:
		entry(&l.hosts, p.part.Host).Vitals = of.Vitals
	case p.watched():
	case of.Header != nil:
		p.number, l.fresh = p.part.Process, true
		l.parts = append(l.parts, p)
	default:
		l.fresh = l.fresh || of.Start != nil
		p.addLine(&of)
	}
	return nil
}

// Gone says that a file gets no more lines for now. Until its next line, no second waits for it.
func (l *Live) Gone(name string) {
	if p := l.files[name]; p != nil {
		p.gone = true
	}
}

// Next returns the next second. A second is merged once all files have it that grow, or when it was
// over some time ago. What comes later for it counts in a later second. elapsed is since the start of
// the run.
func (l *Live) Next(elapsed time.Duration) (Second, bool) {
	l.align()
	for {
		end, ok := l.next()
		if !ok || elapsed < end || elapsed-end < patience && slices.ContainsFunc(l.parts, func(p *mergedPart) bool {
			return !p.gone && p.trailer == nil && p.failed == nil && p.complete+p.shift < end // it grows, and has not all lines up to end
		}) {
			return Second{}, false
		}
		sum := l.step(end)
		for _, h := range l.hosts {
			for _, w := range h.newest.windows() {
				if h.fold == nil {
					h.fold = result.NewHostFold(l.header)
				}
				h.fold.AddWindow(w)
			}
			h.newest = second{}
		}
		if len(sum.windows()) > 0 {
			return l.second(sum), true
		}
	}
}

// Now returns the state of the run, without windows and a sample.
func (l *Live) Now() Second {
	l.align()
	return l.second(new(second))
}

func (l *Live) second(sum *second) Second {
	s := Second{Windows: sum.windows(), Sample: sum.sample, Snapshot: l.whole.Snapshot(), Hosts: make(map[string]HostNow, len(l.hosts)), Broken: l.whole.Broken()}
	for name, h := range l.hosts {
		now := HostNow{Vitals: h.Vitals}
		if h.fold != nil {
			now.Snapshot = new(h.fold.Snapshot())
		}
		s.Hosts[name] = now
	}
	return s
}

// align orders the parts, and sets common time and the numbers of partitions. Once a second was merged, these stay.
func (l *Live) align() {
	if !l.fresh {
		return
	}
	l.fresh = false
	slices.SortFunc(l.parts, func(a, b *mergedPart) int { return a.compare(b.runFile) })
	started := slices.DeleteFunc(slices.Clone(l.parts), func(p *mergedPart) bool { return !p.begun })
	switch {
	case l.shown > 0:
		l.merge.align([]*mergedPart{l.first})
	case len(started) > 0:
		l.merge.align(started)
	default:
		l.merge.align(l.parts)
	}
	if l.shown == 0 {
		e, _ := l.environment()
		of := &l.header.Environment
		of.Cluster, of.Topic, of.Topics, of.ByTopic, of.Share = e.Cluster, e.Topic, e.Topics, e.ByTopic, e.Share
		l.whole = result.NewFold(l.header)
		l.whole.AbortOn(l.abort)
	}
	known := make(map[string]bool, len(l.topics))
	for _, t := range l.topics {
		known[t.Name] = true
	}
	for _, p := range l.parts {
		for _, t := range p.header.Environment.AllTopics() {
			if !known[t.Name] {
				l.topics, known[t.Name] = append(slices.Clip(l.topics), t), true
			}
		}
	}
	for _, p := range l.parts {
		p.rows, p.numbers = l.places(&p.header.Environment)
	}
}
