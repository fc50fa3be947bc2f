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

// partSecond is what one part has in one second of the common time.
type partSecond struct {
	slot    int64 // the second of the common time
	phases  [2]phaseSum
	samples []host.Sample
}

// phaseSum is the windows of one phase in one second.
type phaseSum struct {
	windows int
	sum     stats.Window
	end     time.Duration // of the last
	length  time.Duration // of one part's windows one after the other; the longest of all parts
}

// add adds a window, which nobody else uses any more.
func (s *phaseSum) add(w *stats.Window) {
	if s.windows++; s.windows == 1 {
		s.sum, s.end = *w, w.End
		return
	}
	s.sum.Add(w)
	s.end = max(s.end, w.End)
}

// read reads the part: all of it into its own fold, and if it counts each second into
// out.
func (p *mergedPart) read(ctx context.Context) error {
	p.fold = result.NewPartFold(p.header)
	lines := p.lines()
	var now *partSecond
	give := func() {
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
			return nil // whoever ended it tells why
		}
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			give()
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case l.Window != nil:
			l.Window.Outage = p.fold.MeasuredGap(l.Window)
			p.noteGap(l.Window.Outage)
			p.fold.AddWindow(*l.Window)
			p.addProgress(l.Window)
			if !p.counted {
				continue // nobody takes its seconds
			}
			slot := p.slot(l.Window.End)
			p.place(l.Window)
			if now != nil && slot > now.slot {
				give()
			}
			if now == nil {
				now = &partSecond{slot: slot}
			}
			of := &now.phases[stats.PhaseOf(l.Window.Warmup)]
			of.length += l.Window.End - l.Window.Start
			of.add(l.Window)
		case l.Sample != nil:
			p.fold.AddSample(*l.Sample)
			if now != nil { // it comes after the windows of its interval
				now.samples = append(now.samples, *l.Sample)
			}
		case l.Start != nil:
			p.fold.Begin(*l.Start)
		case l.Trailer != nil:
			p.fold.Finish(*l.Trailer)
		}
	}
}

// addProgress counts at which time what a window has was done.
func (p *mergedPart) addProgress(w *stats.Window) {
	if w.Warmup {
		p.warm.add(w)
		return
	}
	p.progress.add(w)
	p.sent.addSent(w)
}

// slot is the second of the common time that a window belongs to, which ended then by
// the part's own time. The shift is rounded by itself: if it were added before, a shift of
// half a second would have the jitter of each window decide to which second it goes.
func (p *mergedPart) slot(end time.Duration) int64 {
	return int64(end.Round(time.Second)/time.Second + p.shift.Round(time.Second)/time.Second)
}

// place moves a window of the part to where it is among those of all parts, and makes its
// events say whose they are, unless all parts see them.
func (p *mergedPart) place(w *stats.Window) {
	w.Shift(p.shift)
	for i := range w.Events {
		if e := &w.Events[i]; p.one && !ofCluster(e.Kind) {
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

// slotSum is what all parts have in one second.
type slotSum struct {
	most   time.Duration // that it may last, since the one before it
	phases [2]phaseSum
	used   []used
}

// used is what a part and its host used in one second.
type used struct {
	part    *mergedPart
	samples []host.Sample
}

// add adds the second of one part. Parts are added in their order, for sums of floats
// depend on it.
func (s *slotSum) add(p *mergedPart, m *partSecond, same repeats) {
	for i := range m.phases {
		from, to := &m.phases[i], &s.phases[i]
		if from.windows == 0 {
			continue
		}
		from.sum.Events = same.without(p, from.sum.Events)
		from.sum.End = from.end
		to.add(&from.sum)
		to.length = s.within(max(to.length, from.length))
	}
	if len(m.samples) > 0 {
		s.used = append(s.used, used{p, m.samples})
	}
}

// within is how long the slot lasts of which one part tells so much: a window that a slow
// run file made of several is longer than the second in which the others have theirs.
func (s *slotSum) within(length time.Duration) time.Duration {
	if s.most > 0 && length > s.most+time.Second/2 {
		return s.most
	}
	return length
}

// hardware is what a process may use, and what its machine has.
type hardware struct {
	cores, hostCores float64
	speed            int64
}

// sample is how busy processes and hosts were in the second, all together. A host counts
// once, whatever the number of its processes; so do the CPUs of a machine with several hosts.
func (s *slotSum) sample(parts []*mergedPart) (host.Sample, bool) {
	if len(s.used) == 0 {
		return host.Sample{}, false
	}
	var sum host.Sample
	var process, gc float64     // core-seconds
	var hosts map[string]*int64 // bytes sent
	var machines map[string]*machineUse
	for _, u := range s.used {
		var length time.Duration
		var rss, sent int64
		h, machine := entry(&hosts, u.part.host()), entry(&machines, u.part.machine())
		for _, one := range u.samples {
			d := one.Interval.Seconds()
			length += one.Interval
			process += one.ProcessCPU * d
			gc += one.GCCPU * d
			machine.cpu += one.HostCPU * d
			machine.seconds += d
			sent += one.NetSent
			rss = max(rss, one.RSS)
			sum.GCPauseMax = max(sum.GCPauseMax, one.GCPauseMax)
			sum.Unread += one.Unread
			u.part.has = hardware{one.Cores, one.HostCores, one.NetSpeed}
		}
		*h = max(*h, sent)
		sum.RSS += rss
		sum.Interval = s.within(max(sum.Interval, length))
	}
	for _, sent := range hosts {
		sum.NetSent += *sent
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		if m := machines[name]; m.seconds > 0 {
			sum.HostCPU += m.cpu / m.seconds
		}
	}
	if d := sum.Interval.Seconds(); d > 0 {
		sum.ProcessCPU, sum.GCCPU = process/d, gc/d
	}
	for _, p := range s.phases {
		sum.At = max(sum.At, p.end)
	}
	all := hardwareOf(parts)
	sum.Cores, sum.HostCores, sum.NetSpeed = all.cores, all.hostCores, all.speed
	return sum, true
}

type machineUse struct{ cpu, seconds float64 }

// hardwareOf is what all parts may use, as far as they have told. What processes of one
// machine may use is no more than it has. A network belongs to a host.
func hardwareOf(parts []*mergedPart) (all hardware) {
	var machines, hosts map[string]*hardware
	for _, p := range parts {
		m, h := entry(&machines, p.machine()), entry(&hosts, p.host())
		m.cores += p.has.cores
		m.hostCores = max(m.hostCores, p.has.hostCores)
		h.speed = max(h.speed, p.has.speed)
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		if m.hostCores > 0 {
			m.cores = min(m.cores, m.hostCores)
		}
		all.cores += m.cores
		all.hostCores += m.hostCores
	}
	for _, h := range hosts {
		all.speed += h.speed
	}
	return all
}

// repeats finds what several parts tell of one event: each of them looks at the cluster.
type repeats map[eventKey]toldBy

type eventKey struct {
	kind              stats.EventKind
	broker, to        int32
	count             int
	partitions, words string
}

// toldBy is who told an event last, and when that was.
type toldBy struct {
	part *mergedPart
	at   time.Duration
}

// toldWithin is how far apart two parts may see one event: each looks once a second, and
// their clocks may be off.
const toldWithin = 2 * time.Second

// mostTold bounds what is remembered of events.
const mostTold = 10_000

// without leaves out the events that another part has told already.
func (r repeats) without(p *mergedPart, events []stats.Event) []stats.Event {
	kept := events[:0]
	for _, e := range events {
		if !ofCluster(e.Kind) {
			kept = append(kept, e)
			continue
		}
		key := eventKey{e.Kind, e.Broker, e.To, e.Count, fmt.Sprint(e.Partitions), e.Text}
		if told, ok := r[key]; ok && told.part != p && (e.At-told.at).Abs() <= toldWithin {
			continue
		}
		if len(r) >= mostTold {
			maps.DeleteFunc(r, func(_ eventKey, told toldBy) bool { return told.at < e.At-toldWithin })
		}
		if len(r) < mostTold {
			r[key] = toldBy{p, e.At}
		}
		kept = append(kept, e)
	}
	return kept
}

// ofCluster tells whether all who look see the event.
func ofCluster(kind stats.EventKind) bool {
	switch kind {
	case stats.LeaderMoved, stats.LeaderLost, stats.ISRShrank, stats.CatchingUp, stats.ISRGrew, stats.InSync,
		stats.BrokerGone, stats.BrokerBack, stats.ControllerMoved:
		return true
	default:
		return false
	}
}
