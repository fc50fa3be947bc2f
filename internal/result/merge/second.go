package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// partSecond is one second of a part.
type partSecond struct {
	end    time.Duration // a whole second, by the part's own time until it is placed
	phases stats.Phases
	sample host.Sample // zero: the part has none
}

// seconds are those of a part that were read and not merged, in order.
type seconds []*partSecond

// second returns the end of the second to which a window with that end belongs. The last window of
// a run is shorter than a second. A window of several seconds, as a slow run file may hold,
// belongs to the last of them.
func second(end time.Duration) time.Duration { return (end + time.Second - 1).Truncate(time.Second) }

// add adds a window to its second. It takes the memory of the window.
func (q *seconds) add(w *stats.Window) {
	end, n := second(w.End), len(*q)
	if n == 0 || end > (*q)[n-1].end {
		*q = append(*q, &partSecond{end: end})
		n++
	}
	join(&(*q)[n-1].phases[stats.PhaseOf(w.Warmup)], w)
}

// read reads the part into its own fold, and its seconds go to out.
func (p *mergedPart) read(ctx context.Context) error {
	p.fold = result.NewPartFold(p.header)
	lines := p.lines()
	var now seconds
	send := func(most int) { // all but the newest most seconds
		for ; len(now) > most; now = now[1:] {
			p.place(now[0])
			select {
			case p.out <- now[0]:
			case <-ctx.Done():
			}
		}
	}
	for {
		if ctx.Err() != nil {
			return nil // the cause of ctx has the reason
		}
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			send(0)
			return nil
		}
		if err != nil {
			return err
		}
		switch w := l.Window; {
		case w != nil:
			w.Outage = p.fold.MeasuredGap(w)
			p.noteGap(w.Outage)
			p.fold.AddWindow(*w)
			if p.out != nil {
				now.add(w)
				send(1)
			}
		case l.Sample != nil:
			p.fold.AddSample(*l.Sample)
			if len(now) > 0 { // it comes after the windows of its interval
				now[0].sample.Add(*l.Sample)
			}
		case l.Start != nil:
			p.fold.Begin(*l.Start)
		case l.Trailer != nil:
			p.fold.Finish(*l.Trailer)
		}
	}
}

// place shifts a second of the part to common time, and numbers its partitions as those of all
// parts. Events that no other part sees get its name.
func (p *mergedPart) place(s *partSecond) {
	s.end += p.shift
	s.sample.At += p.shift
	for i := range s.phases {
		if w := &s.phases[i]; !w.IsZero() {
			p.placeWindow(w)
		}
	}
}

func (p *mergedPart) placeWindow(w *stats.Window) {
	w.Shift(p.shift)
	for i := range w.Events {
		if e := &w.Events[i]; p.named && !ofCluster(e.Kind) {
			e.Text = p.label() + ": " + e.Text
		}
	}
	if p.topics == nil {
		return
	}
	placed := make(map[int32]stats.Partition, len(w.Partitions))
	for id, q := range w.Partitions {
		placed[p.partition(id)] = q
	}
	w.Partitions = placed
	for i := range w.Events {
		w.Events[i].Partitions = slices.Clone(w.Events[i].Partitions)
		for j, id := range w.Events[i].Partitions {
			w.Events[i].Partitions[j] = p.partition(id)
		}
	}
}

// wholeSecond is one second of several parts.
type wholeSecond struct {
	phases stats.Phases
	usages []Usage
	at     time.Duration // of the newest sample; 0: there is none
	sample host.Sample   // of all parts together, once it was added to a fold
}

// add adds a second of one part; nil: the part has none. from is the end of the second before. A window
// of several seconds begins there, because the seconds before it are merged already.
func (s *wholeSecond) add(p *mergedPart, of *partSecond, from time.Duration, same repeats) {
	p.usage = Usage{Host: p.host(), Machine: p.machine(), Sample: p.usage.Sample}.idle()
	if of != nil {
		for i := range of.phases {
			w := &of.phases[i]
			if w.Seconds() <= 0 && w.Empty() {
				continue
			}
			w.Start = max(w.Start, min(from, w.End))
			w.Events = same.without(p, w.Events)
			join(&s.phases[i], w)
		}
		if of.sample.Interval > 0 {
			p.usage.Sample = of.sample
			s.at = max(s.at, of.sample.At)
		}
	}
	s.usages = append(s.usages, p.usage)
}

// join adds the parts of o, of which others may use the memory.
func (s *wholeSecond) join(o *wholeSecond) {
	for i := range o.phases {
		s.phases[i].Add(&o.phases[i])
	}
	s.usages, s.at = append(s.usages, o.usages...), max(s.at, o.at)
}

// windows returns the windows as a live run gives them: one for each phase, warm-up first.
func (s *wholeSecond) windows() []stats.Window {
	var all []stats.Window
	for _, phase := range []int{stats.Warmup, stats.Measured} {
		if w := &s.phases[phase]; !w.IsZero() {
			all = append(all, *w)
		}
	}
	return all
}

// to adds the second to a fold, and returns its windows.
func (s *wholeSecond) to(f *result.Fold) []stats.Window {
	windows := s.windows()
	for _, w := range windows {
		f.AddWindow(w)
	}
	if s.at > 0 {
		s.sample = busyTogether(s.at, s.usages)
		f.AddSample(s.sample)
	}
	return windows
}

// join merges a later second of the same part into s. It takes the memory of o.
func (s *partSecond) join(o *partSecond) {
	s.end = o.end
	for i := range o.phases {
		join(&s.phases[i], &o.phases[i])
	}
	s.sample.Add(o.sample)
}

// join merges w into to. It takes the memory of w, which nobody else may use.
func join(to, w *stats.Window) {
	if to.IsZero() {
		*to = *w
		return
	}
	to.Add(w)
}

// repeats finds events that several parts report, because each of them watches the cluster.
type repeats map[eventKey]report

type eventKey struct {
	kind              stats.EventKind
	broker, to        int32
	count             int
	partitions, words string
}

// report is the newest report of an event.
type report struct {
	part *mergedPart
	at   time.Duration
}

// repeatedWithin is the longest time between two reports of one event: each part looks once a
// second, and their clocks differ.
const repeatedWithin = 2 * time.Second

// mostReports bounds the events in memory.
const mostReports = 10_000

// without returns the events that no other part has reported.
func (r repeats) without(p *mergedPart, events []stats.Event) []stats.Event {
	kept := events[:0]
	for _, e := range events {
		if !ofCluster(e.Kind) {
			kept = append(kept, e)
			continue
		}
		key := eventKey{e.Kind, e.Broker, e.To, e.Count, fmt.Sprint(e.Partitions), e.Text}
		if old, ok := r[key]; ok && old.part != p && ((e.At-old.at).Abs() <= repeatedWithin && e.Kind != stats.StageBegan || e.At == old.at) {
			continue
		}
		if len(r) >= mostReports {
			maps.DeleteFunc(r, func(_ eventKey, old report) bool { return old.at < e.At-repeatedWithin })
		}
		if len(r) < mostReports {
			r[key] = report{p, e.At}
		}
		kept = append(kept, e)
	}
	return kept
}

// ofCluster reports whether every process sees the event: those of the cluster, and the stages of the load.
func ofCluster(kind stats.EventKind) bool {
	switch kind {
	case stats.LeaderMoved, stats.LeaderLost, stats.ISRShrank, stats.CatchingUp, stats.ISRGrew, stats.InSync,
		stats.BrokerGone, stats.BrokerBack, stats.ControllerMoved, stats.StageBegan:
		return true
	default:
		return false
	}
}
