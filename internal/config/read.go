package config

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// read returns how records are read. A Java property counts as kt's own flag for it would,
// in the layer in which it is given.
func (b *builder) read() plan.Read {
	f := b.f
	group, own := b.group()
	r := plan.Read{
		Consumers: b.clientCount("consumers", f.consumers), Group: group,
		Commit: b.commit(group, own), From: b.start(),
		Processing: b.readTime("processing-time", f.processing), Timeout: b.readTime("timeout", f.timeout),
		AllowGaps: f.allowGaps,
	}
	if f.groups != 1 {
		r.Groups = f.groups
	}
	if f.groups == 0 {
		b.bad("--groups 0: it must be 1 or more")
	}
	return r
}

// group returns the group to read in, "" for none, and whether the user named it.
func (b *builder) group() (id string, own bool) {
	const property = "group.id"
	without := b.chosen("group", "no-group") == "no-group"
	if without {
		b.consumer.drop(property, b.from["no-group"])
		b.consumer.drop("enable.auto.commit", b.from["no-group"])
	}
	if g, ok := b.consumer.given[property]; ok {
		return g.Value, true
	}
	if without || (b.f.run.LedgerFile != "" || b.f.writes() || b.f.engine == string(plan.Wire) || b.given("url") && !strings.HasPrefix(b.f.url, "kafka:")) && b.f.groups < 2 {
		b.groupOnly()
		return "", false
	}
	id = fmt.Sprintf("%s%d", plan.OwnGroup, rand.IntN(100_000)) // as Kafka's consumer test
	b.consumer.given[property] = plan.Given{Value: id, Source: fromNobody}
	return id, false
}

// fromNobody is the source of a property that the command has another default for
// than Kafka's client.
const fromNobody = "default"

// groupOnly refuses flags of the command line that matter in a group only. A file or
// a variable may hold them for the commands that have one.
func (b *builder) groupOnly() {
	for _, flag := range []string{"group-protocol", "group-instance-id"} {
		if b.from[flag] >= fromForeign {
			b.bad("--%s %s: it needs a --group", flag, b.value(flag))
		}
	}
}

// commit returns how offsets are committed. enable.auto.commit reports whether the client
// does it; it cannot tell the other ways apart.
func (b *builder) commit(group string, own bool) plan.Commit {
	const property = "enable.auto.commit"
	c, how := b.consumer, plan.CommitNone
	switch {
	case b.given("commit"):
		how = plan.Commit(b.f.commit)
	case group != "" && (own || len(named(b.f.run.Hosts.On)) > 0): // processes learn from it how far the others are
		how = plan.CommitAuto
	}
	g, ok := c.given[property]
	if ok && (!b.given("commit") || c.levels[property] > b.from["commit"]) {
		switch auto := strings.EqualFold(strings.TrimSpace(g.Value), "true"); {
		case auto && group != "":
			return plan.CommitAuto
		case auto: // the client will say that it needs a group
			return plan.CommitNone
		case how == plan.CommitAuto:
			return plan.CommitNone
		}
		return how
	}
	source := fromNobody
	if b.given("commit") {
		source = b.sources["commit"]
	}
	c.given[property] = plan.Given{Value: fmt.Sprint(how == plan.CommitAuto), Source: source}
	if group == "" { // then the client has nothing to commit
		delete(c.given, property)
	}
	return how
}

// start returns where reading begins. auto.offset.reset can say less than --from: it is
// set too where it can, for it counts again when an offset is out of range.
func (b *builder) start() plan.From {
	const property = "auto.offset.reset"
	c := b.consumer
	if b.f.run.LedgerFile != "" {
		b.chosen("verify", "from", "from-latest") // both is an error
		return plan.From{}                        // the ledger knows
	}
	flag := b.chosen("from", "from-latest")
	if g, ok := c.given[property]; ok && c.levels[property] > b.from[flag] {
		return plan.From{Latest: strings.TrimSpace(g.Value) == "latest"}
	}
	var from plan.From
	source := b.sources[flag]
	switch flag {
	case "from":
		var err error
		if from, err = plan.ParseFrom(b.f.start); err == nil {
			err = from.Check(time.Now())
		}
		if err != nil {
			b.bad("--from %w", err)
		}
	case "from-latest":
		from.Latest = true
	case "":
		if !b.f.writes() {
			return from // as the client does
		}
		from.Latest, source = true, fromNobody
	}
	if !from.HasOffset && from.Time.IsZero() {
		c.given[property] = plan.Given{Value: from.String(), Source: source}
	}
	return from
}

// readTime returns the time in a flag; a bare number is milliseconds.
func (b *builder) readTime(flag, text string) plan.Duration {
	if text == "" {
		return 0
	}
	d, err := plan.ParseTime(text, time.Millisecond)
	if err != nil || d < 0 {
		b.bad("--%s %q: write milliseconds (10000) or a time (10s), 0 or more", flag, text)
		return 0
	}
	return plan.Duration(d)
}
