package merge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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

// maxWatched bounds the disks, networks and brokers of one host, all together: each is looked for in a sorted list.
const maxWatched = 1000

// BusySum is the use of a watched host so far. Its means are over the seconds in which something could be read.
type BusySum struct {
	result.Busy
	cache   float64            // mean, in bytes
	seconds map[string]float64 // in which it could be read, by what it is
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
		v := l.Vitals // a line of its own may list as many again
		if max(len(b.Disks)+len(b.Networks)+len(b.Brokers), len(v.Disks)+len(v.Networks)+len(v.Brokers)) > maxWatched {
			return fmt.Errorf("%s: it lists more than %d disks, networks and brokers", s.name, maxWatched)
		}
		b.Add(v)
	}
	return nil
}

// Add adds vitals of an interval, which has a length. A resource that could not be read is missing in them, or 0.
func (b *BusySum) Add(v *host.Vitals) {
	d := v.Interval.Seconds()
	if b.seconds == nil {
		b.seconds = make(map[string]float64)
	}
	of := func(resource string) func(mean *float64, value float64) {
		b.seconds[resource] += d
		share := d / b.seconds[resource]
		return func(mean *float64, value float64) { *mean += (value - *mean) * share }
	}
	b.Seconds += d
	of("host")(&b.AgentCores, v.Agent)
	b.Hot += v.Hot
	if v.Cores > 0 && (v.CPU > 0 || v.Unread == 0) { // the agent itself uses some CPU
		mean := of("CPU")
		mean(&b.Cores, v.Cores)
		mean(&b.CPUShare, v.CPU/v.Cores)
		mean(&b.StealShare, v.Steal/v.Cores)
		mean(&b.IOWaitShare, v.IOWait/v.Cores)
	}
	if v.Memory > 0 {
		b.MemoryBytes, b.DirtyBytesMax = max(b.MemoryBytes, v.Memory), max(b.DirtyBytesMax, v.Dirty)
		of("memory")(&b.cache, float64(v.Cache))
		b.CacheBytes = int64(math.Round(b.cache))
		if b.DirtyLimit == 0 || v.DirtyLimit < b.DirtyLimit { // it follows the memory that is free
			b.DirtyLimit = v.DirtyLimit
		}
		b.FlushSeconds = v.FlushAge.Seconds()
	}
	for _, disk := range v.Disks {
		row, mean := rowOf(&b.Disks, disk.Name, func(r *result.BusyDisk) *string { return &r.Name }), of("disk "+disk.Name)
		mean(&row.BusyShare, disk.Busy)
		row.BusyShareMax = max(row.BusyShareMax, disk.Busy)
		mean(&row.ReadMiB, float64(disk.Read)/mib/d)
		mean(&row.WrittenMiB, float64(disk.Written)/mib/d)
	}
	for _, n := range v.Networks {
		row, mean := rowOf(&b.Networks, n.Name, func(r *result.BusyNetwork) *string { return &r.Name }), of("network "+n.Name)
		mean(&row.SentMiB, float64(n.Sent)/mib/d)
		mean(&row.ReceivedMiB, float64(n.Received)/mib/d)
		row.SpeedBits = max(row.SpeedBits, n.Speed)
		row.SentShare, row.ReceivedShare = verdict.Per(8*mib*row.SentMiB, float64(row.SpeedBits)), verdict.Per(8*mib*row.ReceivedMiB, float64(row.SpeedBits))
		row.Dropped += n.Dropped
	}
	for _, broker := range v.Brokers {
		row := rowOf(&b.Brokers, broker.PID, func(r *result.BusyBroker) *int { return &r.PID })
		row.Version, row.FileSystems = broker.Version, broker.FileSystems
		row.MapsMax, row.MapsLimit = max(row.MapsMax, broker.Maps), max(row.MapsLimit, broker.MapsLimit)
		if broker.HeapUsed == 0 && broker.HeapMax == 0 {
			continue
		}
		row.HeapUsedMax, row.HeapMax = max(row.HeapUsedMax, broker.HeapUsed), max(row.HeapMax, broker.HeapMax)
		row.Collections += broker.Collections
		of(fmt.Sprint("broker ", broker.PID))(&row.GCShare, broker.GCTime.Seconds()/d)
	}
}

// rowOf returns the row of a key in a sorted list, which it makes if there is none.
func rowOf[T any, K cmp.Ordered](list *[]T, key K, of func(row *T) *K) *T {
	i, found := slices.BinarySearchFunc(*list, key, func(row T, key K) int { return cmp.Compare(*of(&row), key) })
	if !found {
		*list = slices.Insert(*list, i, *new(T))
		*of(&(*list)[i]) = key
	}
	return &(*list)[i]
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
