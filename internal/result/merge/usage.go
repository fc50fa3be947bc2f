package merge

import (
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// Usage is the use of a process and its host over one interval. Without an interval it has only
// the cores that the process may use, and the cores and NICs of its host.
type Usage struct {
	Host    string
	Machine string // under the host; several hosts may share one
	host.Sample
}

// idle returns u without an interval.
func (u Usage) idle() Usage {
	return Usage{u.Host, u.Machine, host.Sample{Cores: u.Cores, HostCores: u.HostCores, NetSpeed: u.NetSpeed}}
}

// busyTogether adds up the use of processes and hosts over the interval that ends at at. The network
// of a host and the CPUs of a machine count once, however many processes there are. The
// processes of a machine may use no more cores than it has.
func busyTogether(at time.Duration, all []Usage) host.Sample {
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
