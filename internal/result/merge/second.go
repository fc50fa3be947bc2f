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
	end    time.Duration // in common time: a whole second
	phases stats.Phases
	sample host.Sample // zero: the part has none
}

// second returns the second of common time, by its end, to which a window with that end belongs.
// The last window of a run is shorter than a second. A window of several seconds, as a slow run
// file may hold, belongs to the last of them.
func (p *mergedPart) second(end time.Duration) time.Duration {
	return (end + time.Second - 1).Truncate(time.Second) + p.shift
}

// read reads the part into its own fold. If it counts, its seconds go to out as well.
func (p *mergedPart) read(ctx context.Context) error {
	p.fold = result.NewPartFold(p.header)
	lines := p.lines()
	var now *partSecond
	send := func() {
		if now == nil {
			return
		}
		select {
		case p.out <- now:
		case <-ctx.Done():
		}
		now = nil
	}
	for {
		if ctx.Err() != nil {
			return nil // the cause of ctx has the reason
		}
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			send()
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
			if !p.counted {
				continue
			}
			end := p.second(w.End)
			p.place(w)
			if now != nil && end > now.end {
				send()
			}
			if now == nil {
				now = &partSecond{end: end}
			}
			join(&now.phases[stats.PhaseOf(w.Warmup)], w)
		case l.Sample != nil:
			p.fold.AddSample(*l.Sample)
			if now != nil { // it comes after the windows of its interval
				now.sample.Add(*l.Sample)
			}
		case l.Start != nil:
			p.fold.Begin(*l.Start)
		case l.Trailer != nil:
			p.fold.Finish(*l.Trailer)
		}
	}
}

// place shifts a window of the part to common time, and numbers its partitions as those of all
// parts. Events that no other part sees get its name.
func (p *mergedPart) place(w *stats.Window) {
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

// add merges a second of one part into the second of all parts. from is the end of the second before.
// A window of several seconds begins there: the seconds before it are merged already.
func (s *partSecond) add(p *mergedPart, o *partSecond, from time.Duration, same repeats) {
	for i := range o.phases {
		w := &o.phases[i]
		if w.Seconds() <= 0 && w.Empty() {
			continue
		}
		w.Start = max(w.Start, min(from, w.End))
		w.Events = same.without(p, w.Events)
		join(&s.phases[i], w)
	}
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
