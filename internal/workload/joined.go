package workload

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// Joined shows observers all loads as one run: the sums of each second, with a load in the place of each host.
type Joined struct {
	to run.Delivery

	mu      sync.Mutex // guards what follows
	whole   *result.Fold
	loads   []*joined
	watched []run.Host // machines, of loads that are made on other hosts
}

// joined is one load.
type joined struct {
	run.Host
	next *run.Second // that was not shown yet; nil: none
}

// Open begins to show loads with these headers, and returns the header of all together. It is called once, before the first second.
func (j *Joined) Open(name string, headers []result.Header, observers []run.Observer) result.Header {
	all := headers[0]
	var plans []plan.Plan
	var longest plan.Duration
	var rate float64
	for _, h := range headers {
		plans, longest = append(plans, h.Plan), max(longest, h.Plan.Load.Duration)
		if h.Plan.Writes() {
			rate += h.Plan.RecordsPerSecond()
		}
		j.loads = append(j.loads, &joined{Host: run.Host{Name: h.Part.Load, Processes: 1, State: "running"}})
	}
	all.Plan, _, _ = plan.Together(plans)
	all.Plan.Command, all.Plan.Topic.Name, all.Plan.Load = plan.Produce, name, plan.Load{Duration: longest, Rate: plan.Rate{PerSecond: rate}}
	if !all.Plan.Writes() {
		all.Plan.Command = plan.Consume
	}
	j.to, j.whole = run.NewDelivery(observers), result.NewFold(all)
	j.whole.Begin(result.Start{At: all.StartedAt})
	return all
}

// Of returns what takes the seconds of a load, by its number in the headers.
func (j *Joined) Of(load int) run.Observer { return observer(func(s run.Second) { j.take(load, s) }) }

type observer func(run.Second)

func (o observer) Observe(s run.Second) { o(s) }

// Close waits until the observers have the last second.
func (j *Joined) Close(ctx context.Context) { j.to.Close(ctx) }

// take keeps the second of a load until all loads that go on have theirs, or until the next one of this load.
func (j *Joined) take(load int, s run.Second) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.loads[load]
	if l.next != nil && s.Snapshot.Stage != result.Finished { // after its last one the others still have theirs
		j.show()
	}
	s.Windows = slices.Clone(s.Windows)
	l.Snapshot, l.Note = &s.Snapshot, ""
	for _, h := range s.Hosts {
		if h.Processes > 0 && h.Note != "" {
			l.Note = h.Name + ": " + h.Note
		}
	}
	j.watched = slices.DeleteFunc(slices.Clone(s.Hosts), func(h run.Host) bool { return h.Processes > 0 })
	for i := range s.Windows { // partitions have their numbers in each load
		w := &s.Windows[i]
		w.Partitions, w.Events = nil, slices.Clone(w.Events)
		for k := range w.Events {
			if !strings.HasPrefix(w.Events[k].Text, result.OfWorkload) {
				w.Events[k].Text = l.Name + ": " + w.Events[k].Text
			}
		}
	}
	if l.next != nil {
		s.Windows = append(l.next.Windows, s.Windows...)
	}
	l.next = &s
	if !slices.ContainsFunc(j.loads, func(l *joined) bool {
		return l.next == nil && (l.Snapshot == nil || l.Snapshot.Stage != result.Finished)
	}) {
		j.show()
	}
}

// show shows what the loads have.
func (j *Joined) show() {
	s := run.Second{}
	live := result.Live{Stage: result.Finished}
	for _, l := range j.loads {
		if next := l.next; next != nil {
			cpu := s.Sample.ProcessCPU
			s.Windows, s.Sample, s.StartsIn = engine.MergeWindows(s.Windows, next.Windows), next.Sample, next.StartsIn
			if len(next.Hosts) > 0 { // else each is of this process
				s.Sample.ProcessCPU += cpu
			}
		}
		l.next = nil
		if l.Snapshot == nil {
			live.Stage = result.WarmingUp
		} else {
			live.Stage, live.Buffered, live.InFlight = min(live.Stage, l.Snapshot.Stage), live.Buffered+l.Snapshot.Buffered, live.InFlight+l.Snapshot.InFlight
			states := map[result.Stage]string{result.Gathering: "lobby", result.Preparing: "preparing", result.Draining: "draining", result.Finished: "done"}
			l.State = cmp.Or(states[l.Snapshot.Stage], "running")
		}
		s.Hosts = append(s.Hosts, l.Host)
	}
	s.Hosts = append(s.Hosts, j.watched...)
	for _, w := range s.Windows {
		j.whole.AddWindow(w)
	}
	if s.Sample.Interval > 0 { // else a state alone, as before the start of other hosts
		j.whole.AddSample(s.Sample)
	}
	s.Snapshot = j.whole.Snapshot()
	s.Snapshot.Live = live
	j.to.Send(s)
}
