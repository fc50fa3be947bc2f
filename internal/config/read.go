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
func (b *builder) read(ofLedger, elsewhere bool) plan.Read {
	l := b.layers
	group, own := b.group(ofLedger)
	r := plan.Read{
		Consumers: b.clientCount("consumers"), Group: group, Commit: b.commit(group, own || elsewhere), From: b.start(ofLedger),
		Processing: plan.Duration(is[time.Duration](l, "processing-time")), Timeout: plan.Duration(is[time.Duration](l, "timeout")),
		AllowGaps: is[bool](l, "allow-gaps"),
	}
	if n := int(is[int64](l, "groups")); n != 1 {
		r.Groups = n
	}
	return r
}

// group returns the group to read in, "" for none, and whether the user named it.
func (b *builder) group(ofLedger bool) (id string, own bool) {
	const property = "group.id"
	without := b.chosen("group", "no-group") == "no-group"
	if without {
		b.consumer.drop(property, b.from["no-group"])
		b.consumer.drop("enable.auto.commit", b.from["no-group"])
	}
	if g, ok := b.consumer.given[property]; ok {
		return g.Value, true
	}
	alone := ofLedger || b.writes || b.text("engine") == string(plan.Wire) || b.given("url") && !strings.HasPrefix(b.text("url"), "kafka:")
	if without || alone && is[int64](b.layers, "groups") < 2 {
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
			b.bad(flag, b.text(flag), "it needs a --group")
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
		how = plan.Commit(b.text("commit"))
	case group != "" && own: // processes on other hosts learn from it how far the others are
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
func (b *builder) start(ofLedger bool) plan.From {
	const property = "auto.offset.reset"
	c := b.consumer
	if ofLedger {
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
