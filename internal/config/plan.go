package config

import (
	"crypto/rand"
	"fmt"
	numbers "math/rand/v2"
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

// plan completes the plan of a load, which has what its flags say. ofLedger reports whether an earlier run's records are looked for,
// elsewhere whether other hosts make it.
func (b *builder) plan(p *plan.Plan, ofLedger, elsewhere bool) {
	l := b.layers
	p.Command, p.Verify, p.Topic.Configs = plan.Command(b.command), is[bool](l, "verify") || ofLedger, b.pairs("topic-config")
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
	p.Load.Records, p.Load.OneAtATime = is[int64](l, b.chosen("num-records", "messages")), b.oneAtATime
	if name := b.chosen("rate", "throughput"); name != "" && !b.oneAtATime {
		p.Load.Rate = is[plan.Rate](l, name)
	}
	if b.chosen("warmup", "warmup-records") == "warmup-records" {
		p.Load.Warmup = plan.Warmup{Records: is[int64](l, "warmup-records")}
	}
	if b.reads {
		b.read(&p.Read, ofLedger, elsewhere)
	}
	if !b.writes && b.chosen("topic", "include") == "include" {
		p.Topic.Name, p.Read.Include = "", b.text("include")
	}
	if n := is[int64](b.layers, "topics"); n > 0 {
		if plan.CheckTopic(p.Topic.Name) != nil {
			b.bad("topics", n, "it needs one name to number, and --topic is %q", p.Topic.Name)
		}
		p.Topic.Name = plan.NumberedTopics(p.Topic.Name, n)
	}
	if how := b.text("topic-distribution"); how != "even" {
		p.Topic.Distribution = how
	}
	if b.writes {
		p.Producers, p.Load.Transaction = b.clientCount("producers"), b.transaction()
		if b.chosen("stop-at-disk", "until-full") == "until-full" {
			p.Load.UntilFull = true
		} else if !p.Embedded() && (p.URL == "" || b.given("stop-at-disk")) { // elsewhere the log is in memory, or not seen
			p.Load.StopAtDisk = is[float64](l, "stop-at-disk")
		}
		b.payload(&p.Payload)
		p.Payload.Stamp = b.reads || is[bool](l, "stamp") || p.Verify && p.Engine != plan.Wire // where the wire engine needs stamps, it asks for them
	} else {
		p.Load.Arrivals = plan.Uniform
	}
	b.end(p)
}

// clientCount returns a number of producers or consumers; one at a time it is one unless the number counts as much.
func (b *builder) clientCount(flag string) int {
	if b.oneAtATime && b.from(flag) < b.from("one-at-a-time") {
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
	servers := addresses(g.Value)
	if len(servers) == 0 {
		advice := ""
		if b.writes {
			advice = "; leave it out to use the one inside kt"
		}
		flag := "bootstrap-server"
		if b.value("broker-list").source == g.Source {
			flag = "broker-list"
		}
		p := plan.Refuse(flag, nil, "it names no broker%s", advice)
		if g.Source != "--"+flag {
			p = p.From(g.Source)
		}
		b.add(p)
	}
	return servers
}

// end decides when the load is over: stages of a rate end it, unless a duration counts as much.
func (b *builder) end(p *plan.Plan) {
	bounds := p.Load.Rate.Bounds()
	switch {
	case len(bounds) > 0 && b.from("duration") < max(b.from("rate"), b.from("throughput")):
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

func (b *builder) payload(p *plan.Payload) {
	p.Kind = plan.Letters
	for _, h := range b.list("header") {
		if k, v, err := splitProperty("header", h); err != nil {
			b.add(err)
		} else {
			p.Headers = append(p.Headers, plan.Header{Key: k, Value: v})
		}
	}
	switch b.chosen("record-size", "payload-file", "payload-template", "payload-monotonic") {
	case "payload-file":
		p.Kind, p.File, p.Delimiter = plan.File, b.text("payload-file"), is[string](b.layers, "payload-delimiter")
	case "payload-template":
		p.Kind, p.File = plan.Template, b.text("payload-template")
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
		b.bad("", nil, "--compressibility goes with generated payloads, not with --payload-file, --payload-template or --payload-monotonic")
	}
}

// read completes how records are read. A Java property counts as kt's own flag for it would in its layer.
func (b *builder) read(r *plan.Read, ofLedger, elsewhere bool) {
	share := b.share(r)
	group, own := b.group(ofLedger, share)
	r.Consumers, r.Group, r.Commit = b.clientCount("consumers"), group, plan.CommitNone
	if share {
		switch from := b.from("threads"); { // as Kafka's test of share groups names them
		case from > b.from("consumers"):
			r.Consumers = b.clientCount("threads")
		case from != fromDefault && from == b.from("consumers"):
			b.exclude("consumers", "threads")
		}
		r.From.Latest = b.text("share-start") == "latest" || b.writes && !b.given("share-start")
	} else {
		r.Commit, r.From = b.commit(group, own || elsewhere), b.start(ofLedger)
	}
	if r.Groups == 1 {
		r.Groups = 0
	}
}

// share completes how records are read in a share group. It reports whether the group is one.
func (b *builder) share(r *plan.Read) bool {
	if !strings.EqualFold(strings.TrimSpace(b.consumer.given["group.protocol"].Value), "share") {
		for _, flag := range []string{"share-max-records", "share-acquire-mode", "share-start", "share-ack"} {
			if b.isTyped(flag) {
				b.bad(flag, b.text(flag), "it needs --group-protocol share")
			}
			if b.given(flag) { // a file or a variable may hold it for loads in share groups
				b.consumer.drop(b.value(flag).Java["consumer"], b.from(flag))
			}
		}
		return false
	}
	for _, flag := range []string{"commit", "from", "from-latest"} {
		if b.isTyped(flag) && b.text(flag) != "false" {
			b.bad(flag, nil, "it does not go with --group-protocol share: the brokers keep the offsets, and --share-start says where a new group begins")
		}
	}
	share := is[plan.ShareGroup](b.layers, "share-ack")
	r.Share = &share
	return true
}

// group returns the group to read in, "" for none, and whether the user named it.
func (b *builder) group(ofLedger, share bool) (id string, own bool) {
	const property = "group.id"
	without := b.chosen("group", "no-group") == "no-group"
	if without {
		b.consumer.drop(property, b.from("no-group"))
		b.consumer.drop("enable.auto.commit", b.from("no-group"))
	}
	if g, ok := b.consumer.given[property]; ok {
		return g.Value, true
	}
	alone := !share && (ofLedger || b.writes || b.text("engine") == string(plan.Wire) || b.given("url") && !strings.HasPrefix(b.text("url"), "kafka:"))
	if without || alone && is[int64](b.layers, "groups") < 2 {
		for _, flag := range []string{"group-protocol", "group-instance-id"} {
			if b.isTyped(flag) && !share { // a file or a variable may hold it for the commands that have a group
				b.bad(flag, b.text(flag), "it needs a --group")
			}
		}
		return "", false
	}
	id = fmt.Sprintf("%s%d", plan.OwnGroup, numbers.IntN(100_000))    // as Kafka's consumer test
	if share && !b.writes && b.from("group-protocol") > fromForeign { // not of one of several loads
		id = shareGroup
	}
	b.consumer.given[property] = plan.Given{Value: id, Source: fromNobody}
	return id, false
}

// shareGroup is the group of Kafka's test of share groups. Its settings are the user's, so its name is the same each time.
const shareGroup = "perf-share-consumer"

// fromNobody is the source of a property that the command has another default for
// than Kafka's client.
const fromNobody = "default"

// commit returns how offsets are committed. enable.auto.commit reports whether the client
// does it; it cannot tell the other ways apart.
func (b *builder) commit(group string, own bool) plan.Commit {
	const property = "enable.auto.commit"
	c, how, source := b.consumer, plan.CommitNone, fromNobody
	switch {
	case b.given("commit"):
		how, source = plan.Commit(b.text("commit")), b.value("commit").source
	case group != "" && own: // processes on other hosts learn from it how far the others are
		how = plan.CommitAuto
	}
	g, ok := c.given[property]
	auto := strings.EqualFold(strings.TrimSpace(g.Value), "true")
	switch counts := ok && (!b.given("commit") || c.levels[property] > b.from("commit")); {
	case counts && auto && group != "":
		return plan.CommitAuto
	case counts && (auto || how == plan.CommitAuto): // without a group the client will say that it needs one
		return plan.CommitNone
	case counts:
		return how
	case group == "": // then the client has nothing to commit
		delete(c.given, property)
	default:
		c.given[property] = plan.Given{Value: fmt.Sprint(how == plan.CommitAuto), Source: source}
	}
	return how
}

// start returns where reading begins. auto.offset.reset can say less than --from: it is
// set too where it can, for it counts again when an offset is out of range.
func (b *builder) start(ofLedger bool) plan.From {
	const property = "auto.offset.reset"
	c := b.consumer
	if ofLedger {
		b.chosen("verify", "from", "from-latest") // both is an error
		return plan.From{}                        // the ledger knows
	}
	flag := b.chosen("from", "from-latest")
	if g, ok := c.given[property]; ok && c.levels[property] > b.from(flag) {
		return plan.From{Latest: strings.TrimSpace(g.Value) == "latest"}
	}
	var from plan.From
	source := b.value(flag).source
	switch flag {
	case "from":
		from = is[plan.From](b.layers, "from")
	case "from-latest":
		from.Latest = true
	case "":
		if !b.writes {
			return from // as the client does
		}
		from.Latest, source = true, fromNobody
	}
	if !from.HasOffset && from.Time.IsZero() {
		c.given[property] = plan.Given{Value: from.String(), Source: source}
	}
	return from
}

// execs pairs every --at with its --exec, in the order in which they were given.
// length is how long the run lasts; 0: not known.
func execs(l *layers, p *problems, length time.Duration) []plan.Exec {
	at, commands := l.list("at"), l.list("exec")
	switch {
	case len(at) > len(commands):
		p.bad("at", at[len(commands)], "there is no command to run then: give it an --exec COMMAND of its own")
		return nil
	case len(commands) > len(at):
		p.bad("exec", commands[len(at)], "there is no time to run it at: give it an --at TIME of its own")
		return nil
	}
	var all []plan.Exec
	for i, text := range at {
		after, err := plan.ParseTime(text, time.Second)
		switch {
		case err != nil || after < 0:
			p.bad("at", text, "write a time from the start of the run (30s)")
		case length > 0 && after >= length:
			p.bad("at", text, "the run is over by then, with --duration %s", length)
		case strings.TrimSpace(commands[i]) == "":
			p.bad("exec", commands[i], "it is no command")
		}
		all = append(all, plan.Exec{After: after, Command: commands[i]})
	}
	return all
}
