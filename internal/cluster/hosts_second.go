package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// viewer makes seconds of a run out of the ticks of its session.
type viewer struct {
	header result.Header
	fold   *result.Fold
	hosts  map[string]*result.Fold // of each host that makes a load
	to     run.Delivery
}

func newViewer(h result.Header, observers []run.Observer) *viewer {
	return &viewer{header: h, fold: result.NewFold(h), hosts: make(map[string]*result.Fold), to: run.NewDelivery(observers)}
}

// observe passes one tick on. It is called from one goroutine.
func (v *viewer) observe(t Tick) {
	s := run.Second{Windows: t.Windows, Sample: sampleOf(t), StartsIn: max(0, -t.At)}
	for _, h := range t.Hosts {
		h.Snapshot = v.hostSnapshot(h.Name, h.Window)
		s.Hosts = append(s.Hosts, h.Host)
	}
	for _, w := range t.Windows {
		v.fold.AddWindow(w)
	}
	v.fold.AddSample(s.Sample)
	s.Snapshot = v.fold.Snapshot()
	s.Snapshot.Live = result.Live{Stage: stages[t.Stage], Buffered: t.Buffered, InFlight: t.InFlight}
	v.to.Send(s)
}

// hostSnapshot returns the load of one host after one more window; nil before the first.
func (v *viewer) hostSnapshot(host string, w stats.Window) *result.Snapshot {
	fold := v.hosts[host]
	if w.IsZero() && fold == nil {
		return nil
	}
	if fold == nil {
		fold = result.NewHostFold(v.header)
		v.hosts[host] = fold
	}
	if !w.IsZero() {
		fold.AddWindow(w)
	}
	s := fold.Snapshot()
	return &s
}

// stages are the coordinator's as a snapshot has them.
var stages = map[Stage]result.Stage{
	Lobby: result.Gathering, Preparing: result.Preparing, Syncing: result.Preparing, Starting: result.Preparing,
	Running: result.Running, Collecting: result.Draining, Finished: result.Finished,
}

// sampleOf is how busy the hosts of the load were together.
func sampleOf(t Tick) host.Sample {
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
