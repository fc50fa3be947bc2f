package merge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// second is one second of a part or of several.
type second struct {
	end    time.Duration // a whole second: of a part that waits by its own time, else common time
	phases stats.Phases
	sample host.Sample // zero: there is none
}

// secondOf returns the end of the second to which a window with that end belongs. The last one of a run is shorter than a second.
func secondOf(end time.Duration) time.Duration { return (end + time.Second - 1).Truncate(time.Second) }

// join merges w into to. It takes the memory of w, which nobody else may use.
func join(to, w *stats.Window) {
	if to.IsZero() {
		*to = *w
		return
	}
	to.Add(w)
}

// add adds the windows of o. It takes no memory of o.
func (s *second) add(o *second) {
	for i := range s.phases {
		s.phases[i].Add(&o.phases[i])
	}
}

// windows returns the windows as a live run gives them: one for each phase, warm-up first.
func (s *second) windows() []stats.Window {
	var all []stats.Window
	for _, phase := range []int{stats.Warmup, stats.Measured} {
		if w := &s.phases[phase]; !w.IsZero() {
			all = append(all, *w)
		}
	}
	return all
}

// mostQueued bounds the seconds of one part that wait to be merged. Further ones are joined.
const mostQueued = 30

// waiting is what of a part was read and is not merged.
type waiting struct {
	queue    []*second     // in order
	before   stats.Window  // measured windows so far: records offered, and when the first was due
	newest   time.Duration // end of the newest second, by the part's own time
	complete time.Duration // end of the newest second with all of its lines
}

// addLine adds a line to the seconds that wait to be merged. It takes the memory of a window.
func (q *waiting) addLine(l *result.Line) {
	n := len(q.queue)
	switch {
	case l.Window != nil:
		w := l.Window
		w.Outage = result.MeasuredGap(&q.before, w)
		if !w.Warmup {
			q.before.Add(&stats.Window{Offered: w.Offered, FirstDue: w.FirstDue})
		}
		end := secondOf(w.End)
		if end > q.newest {
			q.newest, q.complete = end, q.newest
		}
		switch {
		case n == mostQueued:
			q.queue[n-1].end = q.newest
		case n == 0 || end > q.queue[n-1].end:
			q.queue = append(q.queue, &second{end: end})
			n++
		}
		join(&q.queue[n-1].phases[stats.PhaseOf(w.Warmup)], w)
	case l.Sample != nil: // it comes after the windows of its interval
		q.complete = q.newest
		if n > 0 {
			q.queue[n-1].sample.Add(*l.Sample)
		}
	}
}

// next returns the end of the next second. ok is false if nothing waits to be merged.
func (m *merge) next() (end time.Duration, ok bool) {
	for _, p := range m.counted() {
		if len(p.queue) > 0 {
			if at := p.queue[0].end + p.shift; !ok || at < end {
				end, ok = at, true
			}
		}
	}
	return max(end, m.shown+time.Second), ok
}

// step merges the second with an end, with all that comes too late for the seconds before it, and
// adds it to the fold. Parts are added in a fixed order, because sums of floats depend on it.
func (m *merge) step(end time.Duration) *second {
	sum, parts := second{end: end}, m.counted()
	for _, p := range parts {
		due := p.due(end, m.shown, m.same)
		if due == nil {
			continue
		}
		if m.hosts != nil { // first, for the sum takes the memory
			entry(&m.hosts, p.part.Host).newest.add(due)
		}
		for i := range sum.phases {
			join(&sum.phases[i], &due.phases[i])
		}
	}
	for _, w := range sum.windows() {
		m.whole.AddWindow(w)
	}
	if sum.sample = busyTogether(parts); sum.sample.Interval > 0 {
		m.whole.AddSample(sum.sample)
	}
	m.shown = end
	return &sum
}

// due takes the seconds up to an end from the queue, as one of common time; nil: there are none. Late windows count in the second
// after shown, without the age of their records, which is outdated.
func (p *mergedPart) due(end, shown time.Duration, same repeats) (due *second) {
	for ; len(p.queue) > 0 && p.queue[0].end+p.shift <= end; p.queue = slices.Delete(p.queue, 0, 1) {
		s := p.queue[0]
		for i := range s.phases {
			w := &s.phases[i]
			if w.IsZero() {
				continue
			}
			p.place(w)
			if s.end+p.shift <= shown {
				w.Start, w.End, w.Oldest = shown, shown, 0
			}
		}
		if due == nil {
			due = s
			continue
		}
		due.add(s)
		due.sample.Add(s.sample)
	}
	p.sample = host.Sample{Cores: p.sample.Cores, HostCores: p.sample.HostCores, NetSpeed: p.sample.NetSpeed}
	if due == nil {
		return nil
	}
	for i := range due.phases {
		w := &due.phases[i]
		if w.Seconds() <= 0 && w.Empty() {
			*w = stats.Window{}
			continue
		}
		w.Start = max(w.Start, min(shown, w.End))
		w.Events = same.without(p, w.Events)
	}
	if due.sample.Interval > 0 {
		p.sample = due.sample
		p.sample.At += p.shift
	}
	return due
}

// place shifts a window of the part to common time, numbers its partitions, and names the part in events that no other sees.
func (p *mergedPart) place(w *stats.Window) {
	w.Shift(p.shift)
	for i := range w.Events {
		if e := &w.Events[i]; p.named && !ofCluster(e.Kind) {
			e.Text = p.label() + ": " + e.Text
		}
	}
	w.FoldPartitions(p.rows)
	if p.numbers == nil {
		return
	}
	for i := range w.Events {
		ids := slices.Clone(w.Events[i].Partitions)
		for j, id := range ids {
			ids[j] = p.numbers(id)
		}
		w.Events[i].Partitions = ids
	}
}

// repeats are the newest reports of events, by what they say: several parts report one, because each of them watches the cluster.
type repeats map[string]report

type report struct {
	part *mergedPart
	at   time.Duration
}

const (
	repeatedWithin = 2 * time.Second // between two reports of one event: each part looks once a second, and their clocks differ
	mostReports    = 10_000          // in memory
)

// without returns the events that no other part has reported.
func (r repeats) without(p *mergedPart, events []stats.Event) []stats.Event {
	return slices.DeleteFunc(events, func(e stats.Event) bool {
		if !ofCluster(e.Kind) {
			return false
		}
		key := fmt.Sprint(e.Kind, e.Broker, e.To, e.Count, e.Partitions, e.Text)
		if old, ok := r[key]; ok && old.part != p && ((e.At-old.at).Abs() <= repeatedWithin && e.Kind != stats.StageBegan || e.At == old.at) {
			return true
		}
		if len(r) >= mostReports {
			maps.DeleteFunc(r, func(_ string, old report) bool { return old.at < e.At-repeatedWithin })
			if len(r) > mostReports/2 { // times of a damaged file; and so each look frees as many as it costs
				clear(r)
			}
		}
		r[key] = report{p, e.At}
		return false
	})
}

// ofCluster reports whether every process sees the event: those of the cluster, and the stages of the load.
func ofCluster(kind stats.EventKind) bool {
	return slices.Contains([]stats.EventKind{
		stats.LeaderMoved, stats.LeaderLost, stats.ISRShrank, stats.CatchingUp, stats.ISRGrew, stats.InSync,
		stats.BrokerGone, stats.BrokerBack, stats.ControllerMoved, stats.StageBegan,
	}, kind)
}
