package merge

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// Usage is how busy a process and its host were over one interval. Without an interval it
// only has what the process may use and what its host has.
type Usage struct {
	Host    string
	Machine string // several hosts may be on one
	host.Sample
}

// idle returns what the process may use, and what its host has.
func (u Usage) idle() Usage {
	return Usage{u.Host, u.Machine, host.Sample{Cores: u.Cores, HostCores: u.HostCores, NetSpeed: u.NetSpeed}}
}

// BusyTogether returns how busy processes and hosts were, all together, until at. A host
// counts once, however many processes it has, and so do the CPUs of a machine. Processes of
// one machine may use no more than it has.
func BusyTogether(at time.Duration, all []Usage) host.Sample {
	sum := host.Sample{At: at}
	type machine struct{ cpu, seconds, own, cores float64 } // of its processes: core-seconds, and cores they may use
	type nic struct{ sent, speed int64 }
	var machines map[string]*machine
	var nics map[string]*nic
	var process, gc float64 // core-seconds
	for _, u := range all {
		m, n, d := entry(&machines, u.Machine), entry(&nics, u.Host), u.Interval.Seconds()
		process += u.ProcessCPU * d
		gc += u.GCCPU * d
		m.cpu += u.HostCPU * d
		m.seconds += d
		m.own += u.Cores
		m.cores = max(m.cores, u.HostCores)
		n.sent, n.speed = max(n.sent, u.NetSent), max(n.speed, u.NetSpeed)
		sum.RSS += u.RSS
		sum.GCPauseMax = max(sum.GCPauseMax, u.GCPauseMax)
		sum.Unread += u.Unread
		sum.Interval = max(sum.Interval, u.Interval)
	}
	for _, n := range nics {
		sum.NetSent += n.sent
		sum.NetSpeed += n.speed
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) { // sums of floats depend on the order
		m := machines[name]
		sum.HostCPU += per(m.cpu, m.seconds)
		sum.HostCores += m.cores
		if m.cores > 0 {
			m.own = min(m.own, m.cores)
		}
		sum.Cores += m.own
	}
	sum.ProcessCPU, sum.GCCPU = per(process, sum.Interval.Seconds()), per(gc, sum.Interval.Seconds())
	return sum
}
