//go:build !race

package tui

import (
	"fmt"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// cannedHost is one of many hosts.
type cannedHost struct {
	HostHeader
	rate   float64 // records a second; 0: it is only watched
	cpu    float64 // share of its 16 cores
	slow   float64 // times the latency of the others; 0: as theirs
	offset time.Duration
	bound  time.Duration // 0: a fifth of a millisecond
	speed  int64         // of its network; 0: it does not tell

	state  string // of the last ticks, from second; "": as the run
	from   int
	note   string
	silent bool // it tells nothing from then
}

// manyHosts is a canned run on hosts.
func manyHosts(hosts ...cannedHost) *canned {
	c := newCanned()
	c.header.TargetRate, c.header.BufferBytes, c.header.MaxInFlight = 0, 0, 0
	c.header.Tags = []string{"acks=all", "21 partitions", "4 hosts"}
	c.hosts = hosts
	for _, h := range hosts {
		c.header.Hosts = append(c.header.Hosts, h.HostHeader)
	}
	return c
}

func loadHost(name string, rate, cpu float64) cannedHost {
	return cannedHost{HostHeader: HostHeader{Name: name, Processes: 5}, rate: rate, cpu: cpu, speed: 10e9}
}

func brokerHost(name string) cannedHost {
	return cannedHost{HostHeader: HostHeader{Name: name}, cpu: 0.31, speed: 10e9, offset: -200 * time.Microsecond}
}

// producers are four hosts; the third is slow for it has no CPU left.
func producers() []cannedHost {
	hosts := []cannedHost{
		loadHost("producer-1", 819e3, 0.44), loadHost("producer-2", 823e3, 0.43),
		loadHost("producer-3", 733e3, 0.97), loadHost("producer-4", 823e3, 0.45),
	}
	hosts[2].slow = 1.5
	hosts[1].offset, hosts[2].offset, hosts[3].offset = 100*time.Microsecond, -300*time.Microsecond, 130*time.Microsecond
	return hosts
}

// hostTick is the second of all hosts.
func (c *canned) hostTick(second int) Tick {
	start := time.Duration(second) * time.Second
	var whole stats.Window
	var hosts []run.Host
	for i := range c.hosts {
		s, w := c.hostState(&c.hosts[i], second)
		whole.Add(&w)
		hosts = append(hosts, s)
	}
	stage := c.state(second)
	var windows []stats.Window
	if stage >= result.WarmingUp {
		whole.Start, whole.End = start, start+time.Second
		windows = append(windows, whole)
	}
	t := c.feed().tick(stage, windows...)
	t.Snapshot.Verdict = verdict.Verdict{}
	t.Hosts, t.StartsIn, t.Notice = hosts, c.startsIn, c.notice
	return t
}

func (c *canned) hostState(h *cannedHost, second int) (run.Host, stats.Window) {
	var w stats.Window
	s := run.Host{
		Name: h.Name, Processes: h.Processes, State: hostRunning, Offset: h.offset, Bound: h.bound,
		Seen: 200 * time.Millisecond, Vitals: c.vitals(h, second),
	}
	if s.Bound == 0 {
		s.Bound = 200 * time.Microsecond
	}
	if h.Processes == 0 {
		s.State = "watching"
	}
	late := second >= h.from && h.state != ""
	if late {
		s.State, s.Note = h.state, h.note
	}
	switch {
	case late && h.silent:
		s.Seen = time.Duration(second-h.from)*time.Second + 1200*time.Millisecond
		s.Vitals = nil
	case h.Processes > 0 && c.state(second) >= result.WarmingUp:
		w = c.hostWindow(h, second)
	}
	if h.Processes > 0 {
		s.Snapshot = c.feed().host(h.Name, w)
	}
	return s, w
}

func (c *canned) hostWindow(h *cannedHost, second int) stats.Window {
	start := time.Duration(second) * time.Second
	w := stats.Window{Start: start, End: start + time.Second, ShardTime: time.Second}
	n := int64(h.rate * (1 + 0.02*math.Sin(float64(second)+float64(len(h.Name)))))
	if c.hiccup(second) {
		n = n * 6 / 10
	}
	if c.gone(second) {
		w.FirstDue, w.LastDue = start, w.End
		w.Offered, w.Oldest = 1000, time.Duration(second-c.failover+1)*time.Second
		return w
	}
	slow := max(h.slow, 1)
	w.Brokers = make(map[int32]stats.Broker)
	for id := range cannedBrokers {
		part := stats.Traffic{Requests: n / 3 / 500, Records: n / 3, Bytes: n / 3 * 1024} // a request holds 500 records
		w.Brokers[id] = stats.Broker{Traffic: part, Fetch: part}
	}
	if c.header.Command == "consume" {
		w.Consumed, w.ConsumedBytes, w.ReadTime, w.ReadWait = n, n*1024, time.Second, 400*time.Millisecond
		w.FirstRead, w.LastRead = start, w.End
		w.ConsumerLag = 40_000 - int64(second)*300
		return w
	}
	w.Offered, w.Acknowledged, w.Bytes = n, n, n*1024
	w.FirstDue, w.LastDue, w.LastSent, w.LastAck = start, w.End, w.End, w.End
	c.latencies(&w.Service, n, slow)
	c.latencies(&w.Response, n, slow)
	if c.header.Command == "roundtrip" {
		w.Consumed, w.ConsumedBytes, w.ReadTime = n, n*1024, time.Second
		w.FirstRead, w.LastRead = start, w.End
		c.latencies(&w.EndToEnd, n, 2*slow)
	}
	return w
}

func (c *canned) vitals(h *cannedHost, second int) *host.Vitals {
	v := &host.Vitals{
		At: time.Duration(second+1) * time.Second, Interval: time.Second, Cores: 16, CPU: 16 * h.cpu,
		Networks: []host.NetworkVitals{{Name: "eth0", Sent: 825e6, Received: 9e6, Speed: h.speed}, {Name: "eth1", Sent: 1e3, Speed: 1e9}},
		Disks:    []host.DiskVitals{{Name: "nvme0n1", Busy: 0.07, Written: 1 << 20}},
	}
	if h.speed == 0 {
		v.Networks = v.Networks[:1]
	}
	if h.Processes == 0 {
		v.Disks = append(v.Disks, host.DiskVitals{Name: "nvme1n1", Busy: 0.81, Written: 900 << 20})
	}
	return v
}

func hostsRunning() *canned { return manyHosts(producers()...) }

// hostsGathering are before the load: two are ready, and two are not.
func hostsGathering() *canned {
	hosts := append(producers(), brokerHost("kafka-1"))
	for i, state := range []string{"ready", "ready", "preparing", "lobby"} {
		hosts[i].state = state
	}
	hosts[2].note = "opens 5 of 20 clients"
	hosts[3].note = "asked vm14:7946, no answer yet"
	hosts[3].offset, hosts[3].bound = 0, -1 // nobody compared it yet
	c := manyHosts(hosts...)
	c.seconds, c.last = 4, result.Preparing
	return c
}

// hostsStarting have agreed on when to begin.
func hostsStarting() *canned {
	hosts := producers()
	for i := range hosts {
		hosts[i].state = "ready"
	}
	c := manyHosts(hosts...)
	c.seconds, c.last, c.startsIn = 4, result.Preparing, 2500*time.Millisecond
	return c
}

// hostsGone have one that is not heard, and one that is given up.
func hostsGone() *canned {
	hosts := append(producers(), brokerHost("kafka-1"), brokerHost("kafka-2"))
	hosts[1].state, hosts[1].from, hosts[1].silent, hosts[1].note = hostAway, 45, true, "dialling again"
	hosts[5].state, hosts[5].from, hosts[5].silent = hostAway, 52, true
	hosts[3].speed, hosts[3].bound, hosts[3].offset = 0, 2300*time.Microsecond, -5*time.Second
	return manyHosts(hosts...)
}

func hostsLost() *canned {
	c := hostsGone()
	c.hosts[0].state, c.hosts[0].from, c.hosts[0].silent = hostLost, 20, true
	c.hosts[0].note = "exit status 2"
	return c
}

// hostsWaiting have all ended but one that is away, which is waited for.
func hostsWaiting() *canned {
	c := hostsGone()
	c.header.Duration = 50 * time.Second
	c.notice = "waiting for producer-2 until 03:09:05 UTC; q: without it"
	return c
}

// hostsPaced share a rate out unevenly; the third does not reach its share.
func hostsPaced() *canned {
	hosts := producers()
	for i, share := range []float64{0.375, 0.25, 0.25, 0.125} {
		hosts[i].Share, hosts[i].rate = share, 3e6*share
	}
	hosts[2].rate, hosts[2].cpu = 600e3, 0.5
	c := manyHosts(hosts...)
	c.header.TargetRate = 3e6
	return c
}

// hosts64 have names of which some are for a terminal to choke on.
func hosts64() *canned {
	var hosts []cannedHost
	for i := range 64 {
		hosts = append(hosts, loadHost(fmt.Sprintf("load-%02d.example", i), 50e3+float64(i%5)*200, 0.2+float64(i%7)/20))
	}
	hosts[7].rate = 41e3
	hosts[30].Name, hosts[30].note = "evil\x1b[31m\u202ered\nline界", "a\x07b"
	hosts[30].state = hostRunning
	hosts[31].Name = "a-name-that-is-longer-than-any-table-has-room-for"
	c := manyHosts(hosts...)
	c.seconds = 12
	return c
}

func hostsConsume() *canned {
	c := manyHosts(producers()...)
	c.header.Command, c.header.Group = "consume", "bench"
	return c
}

func hostsRoundtrip() *canned {
	c := manyHosts(append(producers(), brokerHost("kafka-1"))...)
	c.header.Command, c.header.TargetRate = "roundtrip", 3.2e6
	return c
}

// hosts200 have long names that differ near their end alone; some of the last are gone.
func hosts200() *canned {
	var hosts []cannedHost
	for i := range 200 {
		hosts = append(hosts, loadHost(fmt.Sprintf("kafka-load-generator-%03d.eu-central-1.compute.internal", i), 5e3, 0.2))
	}
	for i := range hosts[190:] {
		hosts[190+i].state, hosts[190+i].from, hosts[190+i].silent = hostAway, 5, true
	}
	c := manyHosts(hosts...)
	c.seconds = 12
	return c
}
