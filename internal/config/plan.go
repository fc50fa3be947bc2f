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

// plan makes the plan of a load. ofLedger reports whether an earlier run's records are looked for, elsewhere whether other hosts make it.
func (b *builder) plan(ofLedger, elsewhere bool) plan.Plan {
	l := b.layers
	p := plan.Plan{
		Command: plan.Command(b.command), Engine: plan.Engine(b.text("engine")), Verify: is[bool](l, "verify") || ofLedger, Seed: is[int64](l, "seed"),
		Topic: plan.Topic{
			Name: b.text("topic"), Partitions: int32(is[int64](l, "partitions")), ReplicationFactor: int16(is[int64](l, "replication-factor")),
			Configs: b.pairs("topic-config"), Delete: is[bool](l, "delete-topic"),
		},
	}
	switch url := b.text("url"); {
	case !b.given("url") || b.chosen("bootstrap-server", "url") != "url":
		p.Bootstrap = b.bootstrap()
	case strings.HasPrefix(url, "kafka://"): // where a study varies the system
		p.Bootstrap = named((&plan.Plan{URL: url}).Addresses())
	default:
		if u, err := plan.ParseURL(url); err != nil {
			b.bad("url", nil, "%w", err)
		} else {
			p.URL = u.String()
		}
	}
	p.Load = plan.Load{Rate: b.rate(), Records: b.records(), Arrivals: plan.Uniform, Warmup: is[plan.Warmup](l, "warmup"), OneAtATime: b.oneAtATime}
	if b.chosen("warmup", "warmup-records") == "warmup-records" {
		p.Load.Warmup = plan.Warmup{Records: is[int64](l, "warmup-records")}
	}
	if b.reads {
		p.Read = b.read(ofLedger, elsewhere)
	}
	if !b.writes && b.chosen("topic", "include") == "include" {
		p.Topic.Name, p.Read.Include = "", b.text("include")
	}
	if b.writes {
		p.Producers = b.clientCount("producers")
		p.Load.Arrivals, p.Load.Transaction = plan.Arrivals(b.text("arrivals")), b.transaction()
		if b.chosen("stop-at-disk", "until-full") == "until-full" {
			p.Load.UntilFull = true
		} else if !p.Embedded() && (p.URL == "" || b.given("stop-at-disk")) { // elsewhere the log is in memory, or not seen
			p.Load.StopAtDisk = is[float64](l, "stop-at-disk")
		}
		p.Payload = b.payload()
		p.Payload.Stamp = b.reads || is[bool](l, "stamp") || p.Verify && p.Engine != plan.Wire // where the wire engine needs stamps, it asks for them
	}
	b.end(&p)
	return p
}

// clientCount returns a number of producers or consumers. One at a time there is one,
// unless the number was given in the same layer or above.
func (b *builder) clientCount(flag string) int {
	if b.oneAtATime && b.from[flag] < b.from["one-at-a-time"] {
		return 1
	}
	return int(is[int64](b.layers, flag))
}

// bootstrap returns the list of brokers; none: the one inside kt. A list that is given and
// names nobody is an error: it is a variable that was not set, and not a wish for the
// embedded broker.
func (b *builder) bootstrap() []string {
	g, ok := b.producer.given[bootstrapProperty]
	also, alsoOK := b.consumer.given[bootstrapProperty]
	switch {
	case ok && alsoOK && also.Value != g.Value:
		b.bad("", nil, "bootstrap.servers: the producer's are %s (from %s), the consumer's %s (from %s); give both the same", g.Value, g.Source, also.Value, also.Source)
	case alsoOK:
		g = also
	case !ok && !b.writes:
		b.bad("bootstrap-server", nil, "kt consume needs it, for the broker inside kt holds no records; kt roundtrip writes and reads there")
		return nil
	case !ok:
		return nil
	}
	servers := named(strings.Split(g.Value, ","))
	if len(servers) == 0 {
		advice := ""
		if b.writes {
			advice = "; leave it out to use the one inside kt"
		}
		flag := "bootstrap-server"
		if b.sources["broker-list"] == g.Source {
			flag = "broker-list"
		}
		p := plan.Refuse(flag, nil, "it names no broker%s", advice)
		if g.Source != "--"+flag {
			p = p.From(g.Source)
		}
		b.problems = append(b.problems, p)
	}
	return servers
}

func (b *builder) rate() plan.Rate {
	if name := b.chosen("rate", "throughput"); name != "" && !b.oneAtATime {
		return is[plan.Rate](b.layers, name)
	}
	return plan.Unlimited
}

func (b *builder) records() int64 {
	name := b.chosen("num-records", "messages")
	if name == "messages" {
		b.deprecated("messages", "num-records")
	}
	return is[int64](b.layers, name)
}

// end decides when the load is over, where that was left open. Stages of a rate end it, unless
// a duration was given in the same layer or above.
func (b *builder) end(p *plan.Plan) {
	bounds := p.Load.Rate.Bounds()
	switch {
	case len(bounds) > 0 && b.from["duration"] < max(b.from["rate"], b.from["throughput"]):
		p.Load.Duration = plan.Duration(bounds[len(bounds)-1])
	case b.given("duration"):
		p.Load.Duration = plan.Duration(is[time.Duration](b.layers, "duration"))
	case p.Load.Records > 0 || p.Load.UntilFull:
	case p.Load.OneAtATime:
		p.Load.Records = oneAtATimeRecords
	case p.Command == plan.Consume && !p.Read.From.Latest:
		p.Read.ToEnd = true
	default:
		p.Load.Duration = plan.Duration(defaultDuration)
	}
}

// transaction follows Kafka's own tool: an id, a duration or the transactional.id
// property turns transactions on, and what is missing gets its default.
func (b *builder) transaction() plan.Duration {
	const flag, property = "transaction-duration-ms", "transactional.id"
	_, id := b.producer.given[property]
	switch {
	case !id && !b.given(flag):
		return 0
	case !id:
		b.producer.given[property] = plan.Given{Value: "performance-producer-" + rand.Text(), Source: "--" + flag}
	case !b.given(flag):
		return plan.Duration(defaultTransaction)
	}
	return plan.Duration(is[int64](b.layers, flag)) * plan.Duration(time.Millisecond)
}

func (b *builder) payload() plan.Payload {
	p := plan.Payload{
		Kind: plan.Letters, Keys: plan.KeyDistribution(b.text("key-distribution")), KeyRange: is[int64](b.layers, "record-key-range"),
		Compressibility: is[float64](b.layers, "compressibility"),
	}
	for _, h := range b.list("header") {
		if k, v, err := splitProperty("header", h); err != nil {
			b.problems = append(b.problems, err)
		} else {
			p.Headers = append(p.Headers, plan.Header{Key: k, Value: v})
		}
	}
	switch b.chosen("record-size", "payload-file", "payload-monotonic") {
	case "payload-file":
		p.Kind, p.File, p.Delimiter = plan.File, b.text("payload-file"), is[string](b.layers, "payload-delimiter")
	case "payload-monotonic":
		p.Kind = plan.Monotonic
	default:
		if p.Size = plan.FixedSize(plan.DefaultRecordSize); b.given("record-size") {
			p.Size = is[plan.Size](b.layers, "record-size")
		}
		if b.given("compressibility") {
			p.Kind = plan.Mixed
		}
	}
	if b.given("compressibility") && p.Kind != plan.Mixed {
		b.bad("", nil, "--compressibility goes with generated payloads, not with --payload-file or --payload-monotonic")
	}
	return p
}
