package cmd

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui"
)

// This file has how a run on many hosts is shown while it goes on.

// say tells what the coordinator has to say, when there is room for it: a screen shows
// most of it in its own way, and the rest comes after it.
func (r *remote) say(text string) {
	if r.out.screen != nil && !r.out.broken.Load() {
		r.said = append(r.said, text)
		return
	}
	r.tell(text)
}

func (r *remote) tell(text string) {
	r.told = append(r.told, text)
	r.env.say("%s", text)
}

// header is what is known of the whole run before it begins. It is not written down: the
// merged result has that of its parts.
func (r *remote) header() result.Header {
	l := r.load
	h := result.Header{
		Schema: result.Schema, RunID: r.order.Epoch, KTVersion: buildVersion().String(), StartedAt: r.env.Now().UTC(),
		Args: r.order.Args, Plan: r.order.Plan,
	}
	h.Environment.Topic = result.Topic{Name: l.Plan.Topic.Name, Partitions: int(l.Plan.Topic.Partitions), ReplicationFactor: int(l.Plan.Topic.ReplicationFactor)}
	l.system.Describe(&h)
	return h
}

func (r *remote) screenHeader(h result.Header) tui.Header {
	p := h.Plan
	s := tui.Header{
		Command: string(p.Command), Topic: p.Topic.Name, Tags: report.Tags(h), Partitions: p.Topic.Partitions,
		Duration: p.Load.Duration.Std(), Records: p.Load.Records,
		TargetRate: p.RecordsPerSecond(), Group: p.Read.Group, Brokers: make(map[int32]string),
	}
	if p.Writes() {
		s.BufferBytes = r.load.system.Producer.BufferMemory() * int64(p.Producers)
	}
	for i, peer := range r.order.Load {
		s.Hosts = append(s.Hosts, tui.HostHeader{Name: peer.Name, Processes: r.order.Processes, Share: r.shares[i]})
	}
	for _, peer := range r.order.Watch {
		s.Hosts = append(s.Hosts, tui.HostHeader{Name: peer.Name})
	}
	return s
}

// stages are the coordinator's as a snapshot has them.
var stages = map[cluster.Stage]result.Stage{
	cluster.Lobby: result.Gathering, cluster.Preparing: result.Preparing, cluster.Syncing: result.Preparing, cluster.Starting: result.Preparing,
	cluster.Running: result.Running, cluster.Collecting: result.Draining, cluster.Finished: result.Finished,
}

// observe shows one second of the whole. It is called by one goroutine of the client's.
func (r *remote) observe(t cluster.Tick) {
	s := run.Second{Windows: t.Windows, Sample: sampleOf(t)}
	for _, w := range t.Windows {
		r.fold.AddWindow(w)
	}
	r.fold.AddSample(s.Sample)
	s.Snapshot = r.fold.Snapshot()
	s.Snapshot.Live = result.Live{Stage: stages[t.Stage], Buffered: t.Buffered, InFlight: t.InFlight}
	if r.out.screen != nil && !r.out.broken.Load() {
		show := tick(s)
		show.Hosts, show.StartsIn, show.Notice = r.hostStates(t), max(0, -t.At), notice(t)
		r.out.screen.Send(show)
		return
	}
	if len(t.Windows) > 0 {
		r.out.Observe(s)
	}
}

// notice tells for whom the run waits that is else over, for as long as it does; "": it
// waits for nobody. Who came back or is lost is an event of the screen's.
func notice(t cluster.Tick) string {
	var waits []string
	var until time.Time
	for _, h := range t.Hosts {
		if h.Until.IsZero() {
			continue
		}
		waits = append(waits, h.Name)
		if h.Until.After(until) {
			until = h.Until
		}
	}
	who, them := "", "them"
	switch n := len(waits); n {
	case 0:
		return ""
	case 1:
		who, them = waits[0], "it"
	case 2:
		who = waits[0] + " and " + waits[1]
	default: // the key must have room, whoever is away
		who = fmt.Sprintf("%s and %d others", waits[0], n-1)
	}
	return fmt.Sprintf("waiting for %s until %s; q: without %s", who, until.Format(time.TimeOnly), them)
}

// sampleOf is how busy the hosts of the load were together.
func sampleOf(t cluster.Tick) host.Sample {
	sum := host.Sample{At: t.At, Interval: time.Second}
	type machine struct{ own, all, busy float64 } // cores that its processes may use, that it has, and that are busy
	machines := make(map[string]*machine)
	for i := range t.Hosts {
		h := &t.Hosts[i]
		if h.Processes == 0 {
			continue
		}
		m := machines[h.Machine]
		if m == nil {
			m = new(machine)
			machines[h.Machine] = m
		}
		for _, p := range h.Samples {
			sum.ProcessCPU += p.ProcessCPU
			sum.RSS += p.RSS
			sum.GCPauseMax = max(sum.GCPauseMax, p.GCPauseMax)
			sum.GCCPU += p.GCCPU
			m.own += p.Cores
			m.all = max(m.all, p.HostCores)
		}
		if h.Vitals != nil {
			m.busy = max(m.busy, h.Vitals.CPU)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		sum.Cores += min(m.own, m.all) // which they share
		sum.HostCores += m.all
		sum.HostCPU += m.busy
	}
	return sum
}

// hostStates returns the hosts as the screen takes them.
func (r *remote) hostStates(t cluster.Tick) []tui.HostState {
	var states []tui.HostState
	for _, h := range t.Hosts {
		states = append(states, tui.HostState{
			Name: h.Name, Processes: h.Processes, State: h.State, Snapshot: r.hostSnapshot(h.Name, h.Window), Vitals: h.Vitals,
			Offset: h.Offset, Bound: h.Bound, Seen: h.Seen, Note: h.Note,
		})
	}
	return states
}

// hostSnapshot returns the load of one host after one more window; nil before the first.
func (r *remote) hostSnapshot(host string, w stats.Window) *result.Snapshot {
	fold := r.hosts[host]
	if w.IsZero() && fold == nil {
		return nil
	}
	if fold == nil {
		fold = result.NewHostFold(r.header())
		r.hosts[host] = fold
	}
	if !w.IsZero() {
		fold.AddWindow(w)
	}
	s := fold.Snapshot()
	return &s
}
