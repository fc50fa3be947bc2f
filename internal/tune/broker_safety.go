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
			Why:     "a lost disk means lost data with one copy. With two copies, no broker may fail while another is serviced",
			Detail:  "default.replication.factor; Kafka's default is 1.",
			Sources: []string{"Kafka documentation, Broker configs", "Confluent Platform: production deployment"},
			Check:   countCheck("default.replication.factor", 1, Info, nil),
		},
		{
			ID: "kafka.min_insync", Title: "copies that must confirm a write", Severity: Informational, Confidence: Documented, Want: ">=2",
			Why: "an acknowledged write can be lost. With acks=all and 1 here, one broker alone confirms it",
			Detail: "min.insync.replicas; Kafka's default is 1. It must be below the number of copies. If both are equal, no write succeeds " +
				"while any broker is down.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   ofBroker(checkMinInSync),
		},
		{
			ID: "kafka.unclean_election", Title: "leader election of replicas that lack records", Severity: Informational, Confidence: Documented, Want: "false",
			Why:     "acknowledged records are lost. A replica that lacks them can become leader",
			Detail:  "unclean.leader.election.enable; Kafka's default is false. True prefers availability to safety.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   wordCheck("unclean.leader.election.enable", "false", Info),
		},
		{
			ID: "kafka.internal_replication", Title: "copies of Kafka's own topics", Severity: Informational, Confidence: Documented, Want: ">=3",
			Why: "consumers and transactions stop with one broker. It may hold the only copy of their offsets",
			Detail: "The smaller of offsets.topic.replication.factor and transaction.state.log.replication.factor. Kafka's default is 3 for " +
				"both, but its example file sets 1. The value is used when Kafka creates these topics. Later the partitions must be " +
				"reassigned.",
			Sources: []string{"Kafka documentation, Broker configs", "Kafka: config/server.properties"},
			Check:   ofBroker(checkInternalReplication),
		},
		{
			ID: "kafka.auto_create", Title: "automatic creation of topics", Severity: Informational, Confidence: Documented, Want: "false",
			Why:     "a misspelt name creates a topic. It gets the default partitions and copies",
			Detail:  "auto.create.topics.enable; Kafka's default is true.",
			Sources: []string{"Kafka documentation, Broker configs", "Confluent Platform: production deployment"},
			Check:   wordCheck("auto.create.topics.enable", "true", Info),
		},
		{
			ID: "kafka.rack", Title: "the availability zone of the broker", Severity: Informational, Confidence: Documented, Want: "yes",
			Why:     "all copies may be in one zone. Kafka spreads copies over zones only if it knows them",
			Detail:  `The value is "yes" or "no": broker.rack. It is checked only in a cloud.`,
			Reads:   []string{"server.properties", "/sys/class/dmi/id/sys_vendor"},
			Sources: []string{"Kafka documentation, Operations: Balancing replicas across racks"},
			Check:   ofBroker(checkRack),
		},
	}
}

func checkRack(m *Machine, want Rule) Reading {
	if m.Cloud == "" {
		return Absent("not in a cloud that kt knows")
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
		r.Note = fmt.Sprintf("new topics have %d copies: with any broker down, writes with acks=all fail", copies)
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
