package merge

import (
	"maps"
	"slices"

	"github.com/kt-bench/kt/internal/host"
)

// busyTogether adds up the newest samples of parts, which end together; zero: there are none. The network of a host and the CPUs
// of a machine count once, and its processes may use no more cores than it has.
func busyTogether(parts []*mergedPart) (sum host.Sample) {
	type machine struct{ cpu, seconds, own, cores float64 } // of its processes: core-seconds, and cores they may use
	type nic struct{ sent, speed int64 }
	var machines map[string]*machine
	var nics map[string]*nic
	var process, gc float64 // core-seconds
	for _, p := range parts {
		u := &p.sample
		m, n, d := entry(&machines, p.machine()), entry(&nics, p.host()), u.Interval.Seconds()
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
		sum.Stopped = max(sum.Stopped, u.Stopped)
		sum.At, sum.Interval = max(sum.At, u.At), max(sum.Interval, u.Interval)
	}
	if sum.Interval == 0 {
		return host.Sample{}
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
