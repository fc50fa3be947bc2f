package config

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

const (
	// defaultDuration is how long a load lasts when neither a count nor a duration
	// is given: long enough to see a cluster settle, and an end if the user forgot one.
	defaultDuration = time.Minute

	// defaultTransaction is the transaction length of Kafka's own tool.
	defaultTransaction = 3 * time.Second

	// oneAtATimeRecords is how many records go one at a time when nothing is said:
	// enough for a 99.9th percentile.
	oneAtATimeRecords = 5000
)

func (b *builder) plan() plan.Plan {
	f := b.f
	p := f.run.Plan
	p.Command, p.Engine, p.Verify = f.command, plan.Engine(f.engine), f.verify || f.run.LedgerFile != ""
	switch {
	case !b.given("url") || b.chosen("bootstrap-server", "url") != "url":
		p.Bootstrap = b.bootstrap()
	case strings.HasPrefix(f.url, "kafka://"): // where a study varies the system
		p.Bootstrap = named((&plan.Plan{URL: f.url}).Addresses())
	default:
		p.URL = b.url()
	}
	p.Topic = b.topic()
	p.Load = plan.Load{Rate: b.rate(), Records: b.records(), Arrivals: plan.Uniform, Warmup: b.warmup()}
	p.Load.OneAtATime = b.oneAtATime
	if f.reads() {
		p.Read = b.read()
	}
	if !f.writes() && b.chosen("topic", "include") == "include" {
		p.Topic.Name, p.Read.Include = "", f.include
	}
	if f.writes() {
		p.Producers = b.clientCount("producers", f.producers)
		p.Load.Arrivals, p.Load.Transaction = plan.Arrivals(f.arrivals), b.transaction()
		p.Load.StopAtDisk, p.Load.UntilFull = b.disk()
		if p.Embedded() || p.URL != "" && !b.given("stop-at-disk") {
			p.Load.StopAtDisk = 0 // its log is in memory, or not seen
		}
		p.Payload = b.payload()
		p.Payload.Stamp = f.reads() || f.stamp || p.Verify && p.Engine != plan.Wire // where the wire engine needs stamps, it asks for them
	}
	b.end(&p)
	return p
}

// clientCount returns a number of producers or consumers. One at a time there is one,
// unless the number was given in the same layer or above.
func (b *builder) clientCount(flag string, n int) int {
	if b.oneAtATime && b.from[flag] < b.from["one-at-a-time"] {
		return 1
	}
	return n
}

func (b *builder) topic() plan.Topic {
	t := b.f.run.Plan.Topic
	t.Configs = b.pairs("topic-config", b.f.topicConfig)
	if b.given("partitions") && t.Partitions == 0 {
		b.bad("--partitions 0: it must be 1 or more")
	}
	if b.given("replication-factor") && t.ReplicationFactor == 0 {
		b.bad("--replication-factor 0: it must be 1 or more")
	}
	return t
}

// url returns the address of a system that is not Kafka.
func (b *builder) url() string {
	u, err := plan.ParseURL(b.f.url)
	if err != nil {
		b.bad("--url: %w", err)
		return ""
	}
	return u.String()
}

// bootstrap returns the list of brokers; none: the one inside kt. A list that is given and
// names nobody is an error: it is a variable that was not set, and not a wish for the
// embedded broker.
func (b *builder) bootstrap() []string {
	g, ok := b.producer.given["bootstrap.servers"]
	also, alsoOK := b.consumer.given["bootstrap.servers"]
	switch {
	case ok && alsoOK && also.Value != g.Value:
		b.bad("bootstrap.servers: the producer's are %s (from %s), the consumer's %s (from %s); give both the same", g.Value, g.Source, also.Value, also.Source)
	case alsoOK:
		g = also
	case !ok && !b.f.writes():
		b.bad("--bootstrap-server: kt consume needs it, for the broker inside kt holds no records; kt roundtrip writes and reads there")
		return nil
	case !ok:
		return nil
	}
	servers := named(strings.Split(g.Value, ","))
	switch {
	case len(servers) > 0:
	case b.f.writes():
		b.bad("%s: it names no broker; leave it out to use the one inside kt", g.Source)
	default:
		b.bad("%s: it names no broker", g.Source)
	}
	return servers
}

func (b *builder) rate() plan.Rate {
	name := b.chosen("rate", "throughput")
	if name == "" || b.oneAtATime {
		return plan.Unlimited
	}
	r, err := plan.ParseTarget(b.value(name))
	if err != nil {
		b.bad("--%s: %w", name, err)
	}
	return r
}

func (b *builder) records() int64 {
	name, n := b.chosen("num-records", "messages"), b.f.records
	if name == "messages" {
		b.deprecated("messages", "num-records")
		n = b.f.messages
	}
	if name != "" && n < 1 {
		b.bad("--%s %d: it must be 1 or more", name, n)
		return 0
	}
	return n
}

// end decides when the load is over, where that was left open. Stages of a rate end it, unless
// a duration was given in the same layer or above.
func (b *builder) end(p *plan.Plan) {
	bounds := p.Load.Rate.Bounds()
	switch {
	case len(bounds) > 0 && b.from["duration"] < max(b.from["rate"], b.from["throughput"]):
		p.Load.Duration = plan.Duration(bounds[len(bounds)-1])
	case b.given("duration"):
		p.Load.Duration = b.duration()
	case p.Load.Records > 0 || p.Load.UntilFull:
	case p.Load.OneAtATime:
		p.Load.Records = oneAtATimeRecords
	case p.Command == plan.Consume && !p.Read.From.Latest:
		p.Read.ToEnd = true
	default:
		p.Load.Duration = plan.Duration(defaultDuration)
	}
}

// disk returns how full a log directory may get, and whether it may be filled.
func (b *builder) disk() (share float64, untilFull bool) {
	text := b.f.stopAtDisk
	switch {
	case b.chosen("stop-at-disk", "until-full") == "until-full":
		return 0, true
	case text == "never":
		return 0, false
	}
	number, percent := strings.CutSuffix(text, "%")
	v, err := plan.ParseNumber(number)
	if !percent || err != nil || !(v >= 1 && v <= 100) {
		b.bad("--stop-at-disk %q: write a share from 1%% to 100%%, or never", text)
	}
	if v == 100 {
		return 0, false
	}
	return v / 100, false
}

func (b *builder) duration() plan.Duration {
	d, err := plan.ParseTime(b.f.duration, time.Second)
	if err != nil || d < 0 {
		b.bad("--duration %q: write a time above 0 (90s, 5m), or 0 for no end", b.f.duration)
		return 0
	}
	return plan.Duration(d)
}

func (b *builder) warmup() plan.Warmup {
	f := b.f
	if b.chosen("warmup", "warmup-records") == "warmup-records" {
		return plan.Warmup{Records: f.warmupRecords}
	}
	if f.warmup == "" {
		return plan.Warmup{}
	}
	if n, err := plan.ParseCount(f.warmup); err == nil {
		return plan.Warmup{Records: n}
	}
	d, err := plan.ParseDuration(f.warmup)
	if err != nil {
		b.bad("--warmup %q: write a time (10s) or a number of records (100000, 100k)", f.warmup)
	}
	return plan.Warmup{Duration: plan.Duration(d)}
}

// transaction follows Kafka's own tool: an id, a duration or the transactional.id
// property turns transactions on, and what is missing gets its default.
func (b *builder) transaction() plan.Duration {
	props := b.producer.given
	_, id := props["transactional.id"]
	if !id && !b.given("transaction-duration-ms") {
		return 0
	}
	if !id {
		props["transactional.id"] = plan.Given{Value: "performance-producer-" + rand.Text(), Source: "--transaction-duration-ms"}
	}
	if !b.given("transaction-duration-ms") {
		return plan.Duration(defaultTransaction)
	}
	if b.f.transactionMS < 1 {
		b.bad("--transaction-duration-ms %d: it must be 1 or more", b.f.transactionMS)
		return 0
	}
	return plan.Duration(time.Duration(b.f.transactionMS) * time.Millisecond)
}
