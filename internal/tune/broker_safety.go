package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func safetySettings() []*Setting {
	return []*Setting{
		{
			ID: "kafka.replication", Title: "copies of a new topic", Severity: Informational, Confidence: Documented, Want: ">=3",
			Why:     "with one copy a lost disk is lost data; with two, no broker can be missing while another is serviced",
			Detail:  "default.replication.factor; Kafka takes 1.",
			Sources: []string{"Kafka documentation, Broker configs", "Confluent Platform: production deployment"},
			Check:   countCheck("default.replication.factor", 1, Info, nil),
		},
		{
			ID: "kafka.min_insync", Title: "copies that must confirm a write", Severity: Informational, Confidence: Documented, Want: ">=2",
			Why:     "with acks=all and one copy enough, a write can be lost with the broker that confirmed it",
			Detail:  "min.insync.replicas; Kafka takes 1. It must stay below the number of copies: as many as copies means that nothing can be written while any broker is down.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   ofBroker(checkMinInSync),
		},
		{
			ID: "kafka.unclean_election", Title: "leaders that lack records", Severity: Informational, Confidence: Documented, Want: "false",
			Why:     "a replica that was behind becomes leader, and what it lacks is lost",
			Detail:  "unclean.leader.election.enable; Kafka takes false. True prefers being available to keeping records.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   wordCheck("unclean.leader.election.enable", "false", Info),
		},
		{
			ID: "kafka.internal_replication", Title: "copies of Kafka's own topics", Severity: Informational, Confidence: Documented, Want: ">=3",
			Why:     "consumers and transactions stop when the only copy of their offsets is on a broker that is down",
			Detail:  "The smaller of offsets.topic.replication.factor and transaction.state.log.replication.factor: Kafka takes 3 for both, but its example file sets 1. It counts when the topics are made, later they must be reassigned.",
			Sources: []string{"Kafka documentation, Broker configs", "Kafka: config/server.properties"},
			Check:   ofBroker(checkInternalReplication),
		},
		{
			ID: "kafka.auto_create", Title: "topics that nobody made", Severity: Informational, Confidence: Documented, Want: "false",
			Why:     "a misspelt name becomes a topic, with the defaults for partitions and copies",
			Detail:  "auto.create.topics.enable; Kafka takes true.",
			Sources: []string{"Kafka documentation, Broker configs", "Confluent Platform: production deployment"},
			Check:   wordCheck("auto.create.topics.enable", "true", Info),
		},
		{
			ID: "kafka.rack", Title: "the zone that the broker is in", Severity: Informational, Confidence: Documented, Want: "yes",
			Why:     "without it all copies of a partition may be in one zone",
			Detail:  `The value is "yes" or "no": broker.rack. It is asked for in a cloud only.`,
			Reads:   []string{"server.properties", "/sys/class/dmi/id/sys_vendor"},
			Sources: []string{"Kafka documentation, Operations: Balancing replicas across racks"},
			Check: ofBroker(func(m *Machine, want Rule) Reading {
				if m.Cloud == "" {
					return Absent("this is no machine of a cloud that kt knows")
				}
				rack := strings.TrimSpace(m.Config.Get("broker.rack", ""))
				if rack != "" {
					r, _ := question(true, want, Info, rack, "set")
					return r
				}
				r, wrong := question(false, want, Info, "not set", "set")
				if wrong {
					r.Command = "broker.rack=ZONE"
				}
				return r
			}),
		},
	}
}

func checkMinInSync(m *Machine, want Rule) Reading {
	confirm, bad, ok := m.Config.number("min.insync.replicas", 1)
	if !ok {
		return bad
	}
	copies, bad, ok := m.Config.number("default.replication.factor", 1)
	if !ok {
		return bad
	}
	r := Compare(strconv.FormatInt(confirm, 10), want, Info)
	switch {
	case confirm > 1 && confirm >= copies:
		r.Verdict = Info
		r.Note = fmt.Sprintf("new topics have %d copies: with any broker down nothing can be written to them with acks=all", copies)
		r.Command = fmt.Sprintf("default.replication.factor=%d", confirm+1)
	case !want.Holds(r.Current):
		r.Command = "min.insync.replicas=" + want.Target(r.Current)
	}
	if _, set := m.Config.Values["min.insync.replicas"]; !set && r.Note == "" {
		r.Note = notSet
	}
	return r
}

func checkInternalReplication(m *Machine, want Rule) Reading {
	least := int64(math.MaxInt64)
	for _, name := range []string{"offsets.topic.replication.factor", "transaction.state.log.replication.factor"} {
		n, bad, ok := m.Config.number(name, 3)
		if !ok {
			return bad
		}
		least = min(least, n)
	}
	r := Compare(strconv.FormatInt(least, 10), want, Info)
	if !want.Holds(r.Current) {
		r.Note = "raise both, and transaction.state.log.min.isr to one less"
		r.Command = "offsets.topic.replication.factor=" + want.Target(r.Current)
	}
	return r
}
