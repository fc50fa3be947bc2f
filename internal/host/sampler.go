package host

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// Sampler measures how busy the machine and the process are, from one Sample to the next. It is not safe for concurrent use.
type Sampler struct {
	since  func() time.Duration // the clock: time since the start of the run
	growth Growth
	sent   float64 // bytes, at the last good reading; NaN: there was none
	cores  float64 // logical CPUs of the machine
	speed  int64
	meters meters
	limit  Cgroup // of this process, and its effects so far
	pauses *pauses
}

// meters are where a Sampler looks. Each may fail at any time.
type meters struct {
	processCPU func() (float64, error) // seconds since the process began
	hostCPU    func() (float64, error) // seconds since the machine began, of all its CPUs
	gcCPU      func() (float64, error) // seconds since the process began
	sent       func() (float64, error) // bytes since the machine began
	resident   func() (int64, error)   // bytes now
	cgroup     func() (Cgroup, error)  // its limits, and their effects since it was made
}

// newSampler begins to measure: the first Sample is compared with what is read here.
func newSampler(since func() time.Duration, from meters) *Sampler {
	s := &Sampler{since: since, meters: from, pauses: newPauses(), sent: math.NaN()}
	s.limit, _ = from.cgroup() // without one there is no limit
	s.Sample(0)
	return s
}

// Sample returns the use since the Sample before, or since NewSampler. at, from the start of
// the run, is its label; the rates are over the times at which the counters were really read.
func (s *Sampler) Sample(at time.Duration) Sample {
	interval := s.growth.Next(s.since())
	out := Sample{
		At:         at,
		Interval:   interval,
		Cores:      float64(runtime.GOMAXPROCS(0)),
		HostCores:  s.cores,
		GCPauseMax: int64(s.pauses.longest()),
		NetSpeed:   s.speed,
	}
	if c, err := s.meters.cgroup(); err == nil && c.Cores > 0 { // GOMAXPROCS is a whole number, and never 1 of several CPUs
		out.Cores = min(out.Cores, c.Cores)
		out.Stopped = float64(max(0, c.Throttled-s.limit.Throttled)) / float64(max(1, c.Periods-s.limit.Periods))
		s.limit = c
	}
	busy := func(name string, read func() (float64, error)) float64 { // in cores
		v, err := read()
		if err != nil {
			s.growth.Note(false)
			return 0
		}
		n, _ := s.growth.Of(name, int64(math.Round(v*float64(time.Second))))
		return float64(n[0]) / float64(max(interval, 1))
	}
	out.ProcessCPU, out.HostCPU, out.GCCPU = busy("process", s.meters.processCPU), busy("host", s.meters.hostCPU), busy("gc", s.meters.gcCPU)
	sent, err := s.meters.sent()
	grew := err == nil && sent >= s.sent
	if s.growth.Note(grew); grew {
		out.NetSent = int64(sent - s.sent) // a sum, with what was sent while it could not be read
	}
	if err == nil {
		s.sent = sent
	}
	if rss, err := s.meters.resident(); err == nil {
		out.RSS = rss
	} else {
		s.growth.Note(false)
	}
	out.Unread = s.growth.Unread
	return out
}

// Growth measures by how much counters, which only grow, grew in one interval after the other, and counts the sources that could not
// be read. The zero Growth begins with an interval that has nothing to compare with.
type Growth struct {
	Interval time.Duration // since the interval before
	Unread   int           // in this interval

	now  time.Duration // its end
	last map[string]counted
}

// counted are the counters of one thing, a disk say, when they were last read.
type counted struct {
	values []int64
	at     time.Duration
}

// Next begins to read at the end of an interval, and returns its length.
func (g *Growth) Next(now time.Duration) time.Duration {
	g.Interval, g.now, g.Unread = now-g.now, now, 0
	return g.Interval
}

// Note counts a source that did not answer.
func (g *Growth) Note(ok bool) {
	if !ok {
		g.Unread++
	}
}

// Of returns by how much the counters of one thing grew in the interval, from their present
// values. After readings that failed, the growth is spread over all the time since the last
// good one, so that no rate is too high. For the first reading, or when one of them fell,
// all are 0, it is not ok and counts as unread: a device was removed, and another begins at 0.
func (g *Growth) Of(name string, values ...int64) (grown []int64, ok bool) {
	grown = make([]int64, len(values))
	was, ok := g.last[name]
	if slices.Min(values) < 0 {
		g.Note(false)
		return grown, false
	}
	if g.last == nil {
		g.last = make(map[string]counted)
	}
	g.last[name] = counted{values, g.now}
	for i, v := range values {
		ok = ok && v >= was.values[i]
	}
	g.Note(ok)
	if !ok {
		return grown, false
	}
	over := g.now - was.at
	for i, v := range values {
		grown[i] = v - was.values[i]
		if over > g.Interval {
			grown[i] = int64(float64(grown[i]) * float64(g.Interval) / float64(over))
		}
	}
	return grown, true
}

// Sample is how busy this machine and this process were over one interval.
type Sample struct {
	At       time.Duration `json:"at_ns"`       // end of the interval, from the start of the run
	Interval time.Duration `json:"interval_ns"` // its length

	Cores      float64 `json:"cores"`                       // for this process: GOMAXPROCS, or its cgroup's limit if that is lower
	Stopped    float64 `json:"cpu_stopped_share,omitempty"` // share of the cgroup's periods in which its CPU limit stopped it
	ProcessCPU float64 `json:"process_cpu_cores"`           // user and system time of kt, in cores
	HostCPU    float64 `json:"host_cpu_cores"`              // everything that runs on the machine, kt included
	HostCores  float64 `json:"host_cores"`                  // logical CPUs of the machine
	RSS        int64   `json:"resident_bytes"`              // of kt
	GCPauseMax int64   `json:"gc_pause_max_ns"`             // longest stop of the world in the interval
	GCCPU      float64 `json:"gc_cpu_cores"`                // part of ProcessCPU spent collecting
	NetSent    int64   `json:"net_sent_bytes"`              // by the NICs; in a container by all interfaces but loopback
	NetSpeed   int64   `json:"net_speed_bits"`              // sum of the speeds of those that are up; 0: not known
	Unread     int     `json:"unread,omitempty"`            // sources that could not be read: their fields are 0
}

// Add makes s the sample of its own interval and of next, the one after it.
func (s *Sample) Add(next Sample) {
	if next.Interval <= 0 {
		return
	}
	sum := next
	sum.Interval += s.Interval
	sum.RSS = max(sum.RSS, s.RSS)
	sum.NetSent += s.NetSent
	sum.GCPauseMax = max(sum.GCPauseMax, s.GCPauseMax)
	sum.Unread = max(sum.Unread, s.Unread)
	for _, rate := range []struct {
		sum    *float64
		before float64
	}{{&sum.ProcessCPU, s.ProcessCPU}, {&sum.HostCPU, s.HostCPU}, {&sum.GCCPU, s.GCCPU}, {&sum.Stopped, s.Stopped}} {
		*rate.sum += (rate.before - *rate.sum) * s.Interval.Seconds() / sum.Interval.Seconds()
	}
	*s = sum
}

// Vitals is how busy a whole machine was over one interval, with all its processes. A Sample
// is of one process of kt.
type Vitals struct {
	At       time.Duration `json:"at_ns"`       // end of the interval, from the start of the run
	Interval time.Duration `json:"interval_ns"` // its length

	Cores  float64 `json:"cores"`            // logical CPUs
	CPU    float64 `json:"cpu_cores"`        // in use, with Steal
	Steal  float64 `json:"steal_cores"`      // of CPU, given to others by the hypervisor
	IOWait float64 `json:"iowait_cores"`     // idle while a process waited for a disk; not part of CPU
	Agent  float64 `json:"agent_cpu_cores"`  // of CPU, used by the process that watches
	Memory int64   `json:"memory_bytes"`     // of the machine
	Free   int64   `json:"available_bytes"`  // MemAvailable
	Cache  int64   `json:"page_cache_bytes"` // Cached
	Dirty  int64   `json:"dirty_bytes"`      // Dirty and Writeback

	DirtyLimit int64         `json:"dirty_background_bytes,omitempty"` // of Dirty, above which the kernel writes to disks at once; 0: not known
	FlushAge   time.Duration `json:"flush_age_ns,omitempty"`           // at which it writes dirty pages: vm.dirty_expire_centisecs; 0: not known
	Hot        int64         `json:"thermal_throttles,omitempty"`      // times that a CPU was slowed down in the interval because it was too hot

	Disks    []DiskVitals    `json:"disks,omitempty"`
	Networks []NetworkVitals `json:"networks,omitempty"`
	Brokers  []BrokerVitals  `json:"brokers,omitempty"` // Kafka's processes on this machine

	Unread int `json:"unread,omitempty"` // sources that could not be read: their fields are 0
}

// DiskVitals is how busy a disk was: a whole device, not its partitions.
type DiskVitals struct {
	Name    string  `json:"name"`
	Busy    float64 `json:"busy_share"`    // of the interval, in which it had at least one request; 0 to 1
	Read    int64   `json:"read_bytes"`    // in the interval
	Written int64   `json:"written_bytes"` // in the interval
}

// NetworkVitals is how busy a network interface was: one whose bytes leave the machine.
type NetworkVitals struct {
	Name     string `json:"name"`
	Sent     int64  `json:"sent_bytes"`     // in the interval
	Received int64  `json:"received_bytes"` // in the interval
	Speed    int64  `json:"speed_bits"`     // bits a second, each way; 0: not known
	Dropped  int64  `json:"dropped_packets,omitempty"`
}

// BrokerVitals is how a Kafka broker's JVM was, from its hsperfdata file.
type BrokerVitals struct {
	PID         int           `json:"pid"`
	Version     string        `json:"version,omitempty"`           // of Kafka, by the class path; "": not known
	FileSystems string        `json:"file_systems,omitempty"`      // the kinds with its logs, "ext4 tmpfs"; "": not known
	Maps        int64         `json:"memory_maps,omitempty"`       // 0: not known
	MapsLimit   int64         `json:"memory_maps_limit,omitempty"` // vm.max_map_count
	HeapUsed    int64         `json:"heap_used_bytes"`
	HeapMax     int64         `json:"heap_max_bytes"`
	Collections int64         `json:"collections"` // in the interval
	GCTime      time.Duration `json:"gc_time_ns"`  // in the interval: with the world stopped, where the collector reports it
}

// gcCPU returns the seconds that the garbage collector took. The runtime tells at the end of a collection: a long one falls into the
// interval in which it ended.
func gcCPU() func() (float64, error) {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	return func() (float64, error) {
		metrics.Read(sample)
		if k := sample[0].Value.Kind(); k != metrics.KindFloat64 {
			return 0, fmt.Errorf("the runtime has no %s", sample[0].Name)
		}
		return sample[0].Value.Float64(), nil
	}
}

// pauses finds the longest stop of the world since it last looked.
type pauses struct {
	sample []metrics.Sample
	counts []uint64 // of the histogram's buckets, at the last look
}

func newPauses() *pauses {
	p := &pauses{sample: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}}
	p.longest()
	return p
}

// longest is 0 when nothing was stopped, or when the runtime does not tell.
func (p *pauses) longest() time.Duration {
	metrics.Read(p.sample)
	if p.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := p.sample[0].Value.Float64Histogram()
	longest := longestSince(p.counts, h)
	// A copy: Read fills the same memory again.
	p.counts = append(p.counts[:0], h.Counts...)
	return longest
}

// longestSince returns the upper bound of the highest bucket that has grown: the
// pause was at most that long, to about a tenth. was is nil at first.
func longestSince(was []uint64, h *metrics.Float64Histogram) time.Duration {
	for i, n := range slices.Backward(h.Counts) {
		if i < len(was) && n == was[i] || n == 0 {
			continue
		}
		bound := h.Buckets[i+1] // bucket i is from Buckets[i] to Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = h.Buckets[i]
		}
		return time.Duration(bound * float64(time.Second))
	}
	return 0
}
