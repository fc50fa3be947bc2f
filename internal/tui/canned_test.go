//go:build !race

package tui

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// canned is a run of 57 seconds as it could have been, the same each time.
type canned struct {
	header   Header
	seconds  int
	warmup   int // seconds
	failover int // second from which the cluster acknowledges nothing for four seconds, and broker 2 is gone; 0: never
	outage   int // second from which an outage is told of, event by event; 0: never
	read     *reading
	notice   string
	last     result.Stage
	fold     *feeder
	rng      *rand.Rand

	hosts    []cannedHost  // empty: kt runs alone
	startsIn time.Duration // told before the load
}

func cannedHeader() Header {
	return Header{
		Command: "produce", Topic: "orders-bench",
		Tags:     []string{"acks=all", "21 partitions", "RF 3", "1 KiB", "zstd"},
		Duration: 2 * time.Minute, TargetRate: 800e3,
		Partitions: 21, BufferBytes: 32 << 20, MaxInFlight: 15,
	}
}

func newCanned() *canned {
	return &canned{header: cannedHeader(), seconds: 57, last: result.Running, rng: rand.New(rand.NewPCG(1, 2))}
}

// each makes the ticks one after the other: all at once they would take a
// gigabyte.
func (c *canned) each(f func(Tick)) {
	for i := range c.seconds {
		if len(c.hosts) > 0 {
			f(c.hostTick(i))
			continue
		}
		f(c.tick(i))
	}
}

// rate is the records of a second: it rises, has a dip, and sways a little.
func (c *canned) rate(second int) float64 {
	v := 820e3 * (1 - math.Exp(-float64(second+1)/3)) * (1 + 0.03*math.Sin(float64(second)/3))
	if c.hiccup(second) {
		v *= 0.6
	}
	if c.gone(second) {
		v = 0
	}
	return v
}

func (c *canned) hiccup(second int) bool { return second == 26 || second == 27 }

func (c *canned) gone(second int) bool {
	return c.failover > 0 && second >= c.failover && second < c.failover+4
}

// feeder makes ticks of windows, as the maker of a run does.
type feeder struct {
	header *Header
	fold   *result.Fold
	hosts  map[string]*result.Fold
	rowOf  func(int32) int32
}

var cannedBrokers = map[int32]string{1: "kafka-1:9092", 2: "kafka-2:9092", 3: "kafka-3:9092"}

// headerOf returns the header of a run that the screen shows with h.
func headerOf(h *Header) result.Header {
	r := result.Header{Plan: plan.Plan{Command: plan.Command(h.Command), Producers: 1, Load: plan.Load{Rate: plan.Rate{PerSecond: h.TargetRate}}}}
	switch h.Command {
	case "consume":
		r.Plan.Producers, r.Plan.Read.Consumers = 0, 3
	case "roundtrip":
		r.Plan.Read.Consumers = 3
	}
	if h.Group == "shares" {
		r.Environment.Share = &result.ShareLimits{Deliveries: 5, Locks: 2000}
	}
	topic := &r.Environment.Topic
	topic.Partitions, topic.Leaders, topic.Replicas = 6, make(map[int32]int32), make(map[int32]result.Replicas)
	var several []result.Topic
	names := (&plan.Topic{Name: h.Topic}).Names()
	for _, name := range names {
		several = append(several, result.Topic{Name: name, Partitions: int(h.Partitions) / len(names)})
	}
	if h.Notice != "" {
		return r
	}
	for id, addr := range cannedBrokers {
		r.Environment.Cluster.Brokers = append(r.Environment.Cluster.Brokers, result.Broker{ID: id, Addr: addr})
		topic.Leaders[2*id], topic.Leaders[2*id+1] = id, id
		topic.Replicas[id] = result.Replicas{All: 6, InSync: 7 - int(id)}
	}
	if len(several) > 1 {
		r.Environment.SetTopics(several)
	}
	return r
}

func newFeeder(h *Header) *feeder {
	header := headerOf(h)
	return &feeder{header: h, fold: result.NewFold(header), hosts: make(map[string]*result.Fold), rowOf: header.Environment.RowOf()}
}

// tick adds a second, and returns the tick after it.
func (f *feeder) tick(stage result.Stage, windows ...stats.Window) Tick {
	for _, w := range windows {
		w.FoldPartitions(f.rowOf)
		f.fold.AddWindow(w)
	}
	t := Tick{Snapshot: f.fold.Snapshot()}
	t.Snapshot.Stage = stage
	return t
}

// given is what a test says of a tick.
type given struct {
	State    result.Stage
	Windows  []stats.Window
	Verdict  verdict.Verdict
	Hosts    []givenHost
	Notice   string
	StartsIn time.Duration
}

// givenHost is what a test says of a host.
type givenHost struct {
	Name      string
	Processes int
	State     string
	Window    stats.Window
	Note      string
}

// told returns the tick that was given.
func (f *feeder) told(g given) Tick {
	t := f.tick(g.State, g.Windows...)
	t.Snapshot.Verdict, t.Notice, t.StartsIn = g.Verdict, g.Notice, g.StartsIn
	for _, h := range g.Hosts {
		t.Hosts = append(t.Hosts, run.Host{
			Name: h.Name, Processes: h.Processes, State: h.State, Note: h.Note, Snapshot: f.host(h.Name, h.Window),
		})
	}
	return t
}

// give sends what was given to the model of a canned run.
func give(m Model, c *canned, g given) Model { return send(m, c.feed().told(g)) }

// watched is what the screen knows of a run that a test makes up.
type watched struct {
	*data
	feed *feeder
}

func watch(h Header) watched { return watched{newData(h), newFeeder(&h)} }

func (w watched) observe(g given) { w.data.observe(w.feed.told(g)) }

// host adds a second of a host, and returns its snapshot.
func (f *feeder) host(name string, w stats.Window) *result.Snapshot {
	if f.hosts[name] == nil && w.IsZero() {
		return nil
	}
	if f.hosts[name] == nil {
		f.hosts[name] = result.NewHostFold(headerOf(f.header))
	}
	if !w.IsZero() {
		f.hosts[name].AddWindow(w)
	}
	s := f.hosts[name].Snapshot()
	return &s
}

// feed returns the feeder of the run: headers change until its first second.
func (c *canned) feed() *feeder {
	if c.fold == nil {
		c.fold = newFeeder(&c.header)
	}
	return c.fold
}

func (c *canned) tick(second int) Tick {
	t := c.tickOf(c.window(second), second)
	if c.header.Command == "consume" {
		t.Snapshot.Buffered, t.Snapshot.InFlight, t.Snapshot.Verdict = 0, 0, limitReader
	}
	return t
}

// window is the load of a second.
func (c *canned) window(second int) stats.Window {
	start := time.Duration(second) * time.Second
	w := stats.Window{Start: start, End: start + time.Second, Warmup: second < c.warmup, ShardTime: time.Second}
	n := int64(c.rate(second))
	if c.header.Command == "consume" {
		c.consume(&w, second, 0)
		return w
	}
	w.Offered, w.Acknowledged, w.Bytes = n, n, n*1024
	w.FirstDue, w.LastDue, w.LastSent, w.LastAck = start, w.End, w.End, w.End
	w.ConnTime, w.InFlightUse = 3*time.Second, 2700*time.Millisecond
	if c.gone(second) {
		w.Oldest = time.Duration(second-c.failover+1) * time.Second
		w.Failed, w.FailedConnects = 1200, 31
		w.Errors = map[string]int64{"NOT_LEADER_OR_FOLLOWER": 1100, "REQUEST_TIMED_OUT": 100}
	}
	slow := 1.0
	if c.hiccup(second) {
		slow = 3
	}
	c.latencies(&w.Service, n, slow)
	c.latencies(&w.Response, n, slow*1.1)
	c.partitions(&w, n)
	c.brokers(&w, second, n)
	if c.outage > 0 {
		c.happen(&w, second)
	}
	if c.read != nil {
		c.consume(&w, second, n)
	}
	return w
}

// tickOf is the tick of one window.
func (c *canned) tickOf(w stats.Window, second int) Tick {
	f := c.feed()
	w.FoldPartitions(f.rowOf)
	f.fold.AddWindow(w)
	f.fold.AddSample(host.Sample{
		At: w.End, Interval: time.Second, Cores: 16, ProcessCPU: 6.7, HostCPU: 9.1, HostCores: 16,
		RSS: 412 << 20, GCPauseMax: 310_000, GCCPU: 0.31, NetSent: 830e6, NetSpeed: 10e9,
	})
	t := Tick{Snapshot: f.fold.Snapshot(), Notice: c.notice}
	t.Snapshot.Live = result.Live{Stage: c.state(second), Buffered: 29<<20 + int64(second)<<14, InFlight: 15}
	t.Snapshot.Verdict = verdict.Verdict{
		Limit:    verdict.BrokerAcks,
		Evidence: "the buffer was full for 93% of the time, waiting for acks; kt used 42% of its CPU",
	}
	return t
}

func (c *canned) state(second int) result.Stage {
	switch {
	case c.last < result.WarmingUp:
		return c.last
	case second == c.seconds-1 && c.last != result.WarmingUp:
		return c.last
	case second < c.warmup:
		return result.WarmingUp
	}
	return result.Running
}

// latencies records n durations, most about 3 ms, one in a hundred about 20 ms
// and one in a thousand about 60 ms.
func (c *canned) latencies(h *stats.Histogram, n int64, slow float64) {
	const groups = 400
	if n == 0 {
		return
	}
	for i := range groups {
		count := n/groups + 1
		ms := 3.2 * math.Exp(0.45*c.rng.NormFloat64())
		switch {
		case i%80 == 0:
			count = n / 1000
			ms = 20 * math.Exp(0.2*c.rng.NormFloat64())
		case i%81 == 0:
			count = n / 8000
			ms = 60 * math.Exp(0.3*c.rng.NormFloat64())
		}
		h.RecordN(time.Duration(slow*ms*float64(time.Millisecond)), max(count, 1))
	}
}

// partitions shares the records out: partition 13 gets half of what the others
// get.
func (c *canned) partitions(w *stats.Window, n int64) {
	if n == 0 {
		return
	}
	w.Partitions = map[int32]stats.Partition{}
	for id := range c.header.Partitions {
		share := 0.95 + 0.1*c.rng.Float64()
		if id == 13 {
			share = 0.55
		}
		records := int64(share * float64(n) / float64(c.header.Partitions))
		w.Partitions[id] = stats.Partition{Records: records, Bytes: records * 1024}
	}
}

// brokers shares the bytes out; broker 2 is slow.
func (c *canned) brokers(w *stats.Window, second int, n int64) {
	w.Brokers = map[int32]stats.Broker{}
	for _, id := range []int32{1, 2, 3} {
		if c.gone(second) && id == 2 {
			continue
		}
		b := stats.Broker{Traffic: stats.Traffic{
			Requests: 400, Batches: n / 3 / 15, Records: n / 3, Bytes: n / 3 * 1024,
			WireBytes: int64(float64(n) / 3 * 1024 / 3.1 * (0.98 + 0.04*c.rng.Float64())),
		}}
		slow := 1.0
		if id == 2 {
			slow = 1.7
		}
		for range 400 {
			b.Latency.Record(time.Duration(slow * 4e6 * math.Exp(0.6*c.rng.NormFloat64())))
		}
		w.Brokers[id] = b
	}
}
