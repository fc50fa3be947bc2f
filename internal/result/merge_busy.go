package result

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// maxWatched bounds what one host may have of disks, networks and brokers.
const maxWatched = 1000

// busySum adds up how busy a host was.
type busySum struct {
	seconds, cores, cpu, steal, iowait, agent float64 // core-seconds but for the first
	memory, dirty                             int64
	cache                                     float64 // byte-seconds
	disks                                     map[string]*diskSum
	networks                                  map[string]*networkSum
	brokers                                   map[int]*brokerSum
}

type diskSum struct {
	busy, most    float64 // seconds, share
	read, written int64
}

type networkSum struct{ speed, sent, received, dropped int64 }

type brokerSum struct {
	used, max, collections int64
	gc                     time.Duration
	seconds                float64
}

// read adds what a file of a watched machine has between two moments, each from the
// start of the file. An interval counts if its middle lies between them.
func (b *busySum) read(s *source, from, to time.Duration) error {
	lines := s.lines()
	for {
		l, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
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
			return fmt.Errorf("%s: it tells of more than %d disks, networks and brokers", s.name, maxWatched)
		}
	}
}

func (b *busySum) add(v *host.Vitals) {
	d := v.Interval.Seconds()
	b.seconds += d
	b.cores += v.Cores * d
	b.cpu += v.CPU * d
	b.steal += v.Steal * d
	b.iowait += v.IOWait * d
	b.agent += v.Agent * d
	b.memory = max(b.memory, v.Memory)
	b.dirty = max(b.dirty, v.Dirty)
	b.cache += float64(v.Cache) * d
	for _, disk := range v.Disks {
		s := entry(&b.disks, disk.Name)
		s.busy += disk.Busy * d
		s.most = max(s.most, disk.Busy)
		s.read += disk.Read
		s.written += disk.Written
	}
	for _, n := range v.Networks {
		s := entry(&b.networks, n.Name)
		s.speed = max(s.speed, n.Speed)
		s.sent += n.Sent
		s.received += n.Received
		s.dropped += n.Dropped
	}
	for _, broker := range v.Brokers {
		s := entry(&b.brokers, broker.PID)
		s.used, s.max = max(s.used, broker.HeapUsed), max(s.max, broker.HeapMax)
		s.collections += broker.Collections
		s.gc += broker.GCTime
		s.seconds += d
	}
}

func entry[K comparable, V any](m *map[K]*V, key K) *V {
	if *m == nil {
		*m = make(map[K]*V)
	}
	if (*m)[key] == nil {
		(*m)[key] = new(V)
	}
	return (*m)[key]
}

// result is nil when nothing was added.
func (b *busySum) result() *Busy {
	if b.seconds == 0 {
		return nil
	}
	of := func(sum float64) float64 {
		if b.cores <= 0 {
			return 0
		}
		return sum / b.cores
	}
	r := &Busy{
		Seconds: b.seconds, Cores: b.cores / b.seconds,
		CPUShare: of(b.cpu), StealShare: of(b.steal), IOWaitShare: of(b.iowait), AgentCores: b.agent / b.seconds,
		MemoryBytes: b.memory, CacheBytes: int64(b.cache / b.seconds), DirtyBytesMax: b.dirty,
	}
	for _, name := range slices.Sorted(maps.Keys(b.disks)) {
		d := b.disks[name]
		r.Disks = append(r.Disks, BusyDisk{
			Name: name, BusyShare: d.busy / b.seconds, BusyShareMax: d.most,
			ReadMiB: float64(d.read) / mib / b.seconds, WrittenMiB: float64(d.written) / mib / b.seconds,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(b.networks)) {
		n := b.networks[name]
		row := BusyNetwork{
			Name: name, SpeedBits: n.speed, Dropped: n.dropped,
			SentMiB: float64(n.sent) / mib / b.seconds, ReceivedMiB: float64(n.received) / mib / b.seconds,
		}
		if n.speed > 0 {
			row.SentShare = 8 * float64(n.sent) / b.seconds / float64(n.speed)
			row.ReceivedShare = 8 * float64(n.received) / b.seconds / float64(n.speed)
		}
		r.Networks = append(r.Networks, row)
	}
	for _, pid := range slices.Sorted(maps.Keys(b.brokers)) {
		s := b.brokers[pid]
		r.Brokers = append(r.Brokers, BusyBroker{
			PID: pid, HeapUsedMax: s.used, HeapMax: s.max, Collections: s.collections, GCShare: s.gc.Seconds() / s.seconds,
		})
	}
	return r
}
