package merge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// maxWatched bounds the disks, networks and brokers of one host, all together.
const maxWatched = 1000

// mean is a mean over the time in which something could be read.
type mean struct{ sum, seconds float64 }

func (m *mean) add(v, seconds float64) {
	m.sum += v * seconds
	m.seconds += seconds
}

func (m mean) value() float64 { return per(m.sum, m.seconds) }

// busySum is the use of a watched host so far.
type busySum struct {
	agent         mean // over the time that it was watched
	cores, cpu    mean // while the CPU counters were readable
	steal, iowait mean
	cache         mean
	memory, dirty int64
	disks         map[string]*diskSum
	networks      map[string]*networkSum
	brokers       map[int]*brokerSum
}

type diskSum struct {
	busy          mean
	most          float64
	read, written int64
}

type networkSum struct {
	seconds                        float64
	speed, sent, received, dropped int64
}

type brokerSum struct {
	maps, mapsLimit        int64
	used, max, collections int64
	gc                     time.Duration
	seconds                float64
}

// read adds the vitals of a file from one time to another, both from the start of the file. An
// interval counts if its middle lies between them.
func (b *busySum) read(s *runFile, from, to time.Duration) error {
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
		b.add(l.Vitals)
		if len(b.disks)+len(b.networks)+len(b.brokers) > maxWatched {
			return fmt.Errorf("%s: it lists more than %d disks, networks and brokers", s.name, maxWatched)
		}
	}
	return nil
}

// add adds vitals. A resource that could not be read is missing in them, or 0. It adds no seconds,
// because its mean is over the seconds in which it could be read.
func (b *busySum) add(v *host.Vitals) {
	d := v.Interval.Seconds()
	b.agent.add(v.Agent, d)
	if v.Cores > 0 && (v.CPU > 0 || v.Unread == 0) { // the agent itself uses some CPU
		b.cores.add(v.Cores, d)
		b.cpu.add(v.CPU, d)
		b.steal.add(v.Steal, d)
		b.iowait.add(v.IOWait, d)
	}
	if v.Memory > 0 {
		b.memory, b.dirty = max(b.memory, v.Memory), max(b.dirty, v.Dirty)
		b.cache.add(float64(v.Cache), d)
	}
	for _, disk := range v.Disks {
		s := entry(&b.disks, disk.Name)
		s.busy.add(disk.Busy, d)
		s.most = max(s.most, disk.Busy)
		s.read += disk.Read
		s.written += disk.Written
	}
	for _, n := range v.Networks {
		s := entry(&b.networks, n.Name)
		s.seconds += d
		s.speed = max(s.speed, n.Speed)
		s.sent += n.Sent
		s.received += n.Received
		s.dropped += n.Dropped
	}
	for _, broker := range v.Brokers {
		s := entry(&b.brokers, broker.PID)
		s.maps, s.mapsLimit = max(s.maps, broker.Maps), max(s.mapsLimit, broker.MapsLimit)
		if broker.HeapUsed == 0 && broker.HeapMax == 0 {
			continue
		}
		s.used, s.max = max(s.used, broker.HeapUsed), max(s.max, broker.HeapMax)
		s.collections += broker.Collections
		s.gc += broker.GCTime
		s.seconds += d
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

// result returns means over time and maxima, nil if nothing was added.
func (b *busySum) result() *result.Busy {
	if b.agent.seconds == 0 {
		return nil
	}
	share := func(of mean) float64 { return per(of.sum, b.cores.sum) }
	r := &result.Busy{
		Seconds: b.agent.seconds, Cores: b.cores.value(), CPUShare: share(b.cpu), StealShare: share(b.steal), IOWaitShare: share(b.iowait),
		AgentCores: b.agent.value(), MemoryBytes: b.memory, CacheBytes: int64(b.cache.value()), DirtyBytesMax: b.dirty,
	}
	for _, name := range slices.Sorted(maps.Keys(b.disks)) {
		d := b.disks[name]
		r.Disks = append(r.Disks, result.BusyDisk{
			Name: name, BusyShare: d.busy.value(), BusyShareMax: d.most,
			ReadMiB: float64(d.read) / mib / d.busy.seconds, WrittenMiB: float64(d.written) / mib / d.busy.seconds,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(b.networks)) {
		n := b.networks[name]
		row := result.BusyNetwork{
			Name: name, SpeedBits: n.speed, Dropped: n.dropped,
			SentMiB: float64(n.sent) / mib / n.seconds, ReceivedMiB: float64(n.received) / mib / n.seconds,
		}
		if n.speed > 0 {
			row.SentShare = 8 * float64(n.sent) / n.seconds / float64(n.speed)
			row.ReceivedShare = 8 * float64(n.received) / n.seconds / float64(n.speed)
		}
		r.Networks = append(r.Networks, row)
	}
	for _, pid := range slices.Sorted(maps.Keys(b.brokers)) {
		s := b.brokers[pid]
		r.Brokers = append(r.Brokers, result.BusyBroker{
			PID: pid, MapsMax: s.maps, MapsLimit: s.mapsLimit, HeapUsedMax: s.used, HeapMax: s.max, Collections: s.collections, GCShare: per(s.gc.Seconds(), s.seconds),
		})
	}
	return r
}

// per returns a quotient, 0 if of is.
func per(sum, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return sum / of
}
