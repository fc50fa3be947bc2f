package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// busyTogether adds up the newest samples of parts. The network of a host and the CPUs of a machine count once; zero: there are none.
func busyTogether(parts []*mergedPart) (sum host.Sample) {
	type machine struct{ cpu, share, own, cores float64 } // of its processes: cores by their shares of the interval, and cores they may use
	type nic struct{ sent, speed int64 }
	var machines map[string]*machine
	var nics map[string]*nic
	for _, p := range parts {
		sum.At, sum.Interval = max(sum.At, p.sample.At), max(sum.Interval, p.sample.Interval)
	}
	if sum.Interval == 0 {
		return host.Sample{}
	}
	for _, p := range parts {
		u := &p.sample
		machine := cmp.Or(p.header.Environment.Host.BootID, p.part.Host) // containers and namespaces share one
		m, n := entry(&machines, machine), entry(&nics, p.part.Host)
		share := float64(u.Interval) / float64(sum.Interval) // 1 of one part: it stays as it is to the last bit
		sum.ProcessCPU += u.ProcessCPU * share
		sum.GCCPU += u.GCCPU * share
		m.cpu += u.HostCPU * share
		m.share += share
		m.own += u.Cores
		m.cores = max(m.cores, u.HostCores)
		n.sent, n.speed = max(n.sent, u.NetSent), max(n.speed, u.NetSpeed)
		sum.RSS += u.RSS
		sum.GCPauseMax = max(sum.GCPauseMax, u.GCPauseMax)
		sum.Unread += u.Unread
		sum.Stopped = max(sum.Stopped, u.Stopped)
	}
	for _, n := range nics {
		sum.NetSent += n.sent
		sum.NetSpeed += n.speed
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) { // sums of floats depend on the order
		m := machines[name]
		sum.HostCPU += verdict.Per(m.cpu, m.share)
		sum.HostCores += m.cores
		if m.cores > 0 {
			m.own = min(m.own, m.cores)
		}
		sum.Cores += m.own
	}
	return sum
}

// maxWatched bounds the disks, networks and brokers of one host, all together.
const maxWatched = 1000

// BusySum is the use of a watched host so far. Means, rates and shares are sums, until Result divides
// them by the seconds in which something could be read.
type BusySum struct {
	result.Busy
	cpu, memory, cache float64 // seconds, seconds and the sum of CacheBytes
	disks              map[string]*timed[result.BusyDisk]
	networks           map[string]*timed[result.BusyNetwork]
	brokers            map[int]*timed[result.BusyBroker]
}

// timed is a row with the seconds in which it could be read.
type timed[T any] struct {
	row     T
	seconds float64
}

// read adds the vitals of the intervals whose middle lies between two times, both from the start of the file.
func (b *BusySum) read(s *runFile, from, to time.Duration) error {
	for l, err := range s.content() {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		case l.Vitals == nil || l.Vitals.Interval <= 0:
			continue
		}
		if middle := l.Vitals.At - l.Vitals.Interval/2; middle < from || middle > to {
			continue
		}
		b.Add(l.Vitals)
		if len(b.disks)+len(b.networks)+len(b.brokers) > maxWatched {
			return fmt.Errorf("%s: it lists more than %d disks, networks and brokers", s.name, maxWatched)
		}
	}
	return nil
}

// Add adds vitals. A resource that could not be read is missing in them, or 0. It adds no seconds,
// because its mean is over the seconds in which it could be read.
func (b *BusySum) Add(v *host.Vitals) {
	d := v.Interval.Seconds()
	b.Seconds += d
	b.AgentCores += v.Agent * d
	if v.Cores > 0 && (v.CPU > 0 || v.Unread == 0) { // the agent itself uses some CPU
		b.cpu += d
		b.Cores += v.Cores * d
		b.CPUShare += v.CPU * d
		b.StealShare += v.Steal * d
		b.IOWaitShare += v.IOWait * d
	}
	if v.Memory > 0 {
		b.memory += d
		b.MemoryBytes, b.DirtyBytesMax = max(b.MemoryBytes, v.Memory), max(b.DirtyBytesMax, v.Dirty)
		b.cache += float64(v.Cache) * d
	}
	for _, disk := range v.Disks {
		s := entry(&b.disks, disk.Name)
		s.seconds += d
		s.row.BusyShare += disk.Busy * d
		s.row.BusyShareMax = max(s.row.BusyShareMax, disk.Busy)
		s.row.ReadMiB += float64(disk.Read)
		s.row.WrittenMiB += float64(disk.Written)
	}
	for _, n := range v.Networks {
		s := entry(&b.networks, n.Name)
		s.seconds += d
		s.row.SpeedBits = max(s.row.SpeedBits, n.Speed)
		s.row.SentMiB += float64(n.Sent)
		s.row.ReceivedMiB += float64(n.Received)
		s.row.Dropped += n.Dropped
	}
	for _, broker := range v.Brokers {
		s := entry(&b.brokers, broker.PID)
		s.row.MapsMax, s.row.MapsLimit = max(s.row.MapsMax, broker.Maps), max(s.row.MapsLimit, broker.MapsLimit)
		if broker.HeapUsed == 0 && broker.HeapMax == 0 {
			continue
		}
		s.seconds += d
		s.row.HeapUsedMax, s.row.HeapMax = max(s.row.HeapUsedMax, broker.HeapUsed), max(s.row.HeapMax, broker.HeapMax)
		s.row.Collections += broker.Collections
		s.row.GCShare += float64(broker.GCTime)
	}
}

// entry returns the entry of a key, which it makes if there is none.
func entry[K comparable, V any](m *map[K]*V, key K) *V {
	if *m == nil {
		*m = make(map[K]*V)
	}
	if (*m)[key] == nil {
		(*m)[key] = new(V)
	}
	return (*m)[key]
}

// Result returns means over time and maxima, nil if nothing was added.
func (b *BusySum) Result() *result.Busy {
	if b.Seconds == 0 {
		return nil
	}
	r := b.Busy
	r.AgentCores, r.CacheBytes = r.AgentCores/r.Seconds, int64(verdict.Per(b.cache, b.memory))
	for _, share := range []*float64{&r.CPUShare, &r.StealShare, &r.IOWaitShare} {
		*share = verdict.Per(*share, r.Cores)
	}
	r.Cores = verdict.Per(r.Cores, b.cpu)
	for _, name := range slices.Sorted(maps.Keys(b.disks)) {
		row, seconds := b.disks[name].row, b.disks[name].seconds
		row.Name, row.BusyShare = name, row.BusyShare/seconds
		row.ReadMiB, row.WrittenMiB = row.ReadMiB/mib/seconds, row.WrittenMiB/mib/seconds
		r.Disks = append(r.Disks, row)
	}
	for _, name := range slices.Sorted(maps.Keys(b.networks)) {
		row, seconds := b.networks[name].row, b.networks[name].seconds
		if speed := float64(row.SpeedBits); speed > 0 {
			row.SentShare, row.ReceivedShare = 8*row.SentMiB/seconds/speed, 8*row.ReceivedMiB/seconds/speed
		}
		row.Name, row.SentMiB, row.ReceivedMiB = name, row.SentMiB/mib/seconds, row.ReceivedMiB/mib/seconds
		r.Networks = append(r.Networks, row)
	}
	for _, pid := range slices.Sorted(maps.Keys(b.brokers)) {
		row := b.brokers[pid].row
		row.PID, row.GCShare = pid, verdict.Per(time.Duration(row.GCShare).Seconds(), b.brokers[pid].seconds)
		r.Brokers = append(r.Brokers, row)
	}
	return &r
}
