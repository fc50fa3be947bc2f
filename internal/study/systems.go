package study

import (
	"slices"

	"github.com/kt-bench/kt/internal/plan"
)

// promises are what the acknowledgement of a message means with each system's own settings, and how messages are gathered
// in batches unless a setting says otherwise. Sources:
//   - Kafka's documentation of acks, flush.messages, batch.size and linger.ms
//   - RabbitMQ's of publisher confirms and quorum queues
//   - Pulsar's of persistence and journalSyncData; the defaults of the batches are kt's, as docs/pulsar.md has them
var promises = map[plan.System]string{
	plan.Kafka: "Kafka acknowledges when all in-sync replicas have a record in memory. Unless flush.messages is set, the operating system decides when to flush. " +
		"By default a batch has 16 KiB and waits for 5 ms",
	plan.RabbitMQ: "RabbitMQ confirms when a classic queue has given a persistent message to the file system. A quorum queue confirms when most members have flushed the message. There are no batches",
	plan.Pulsar: "Pulsar acknowledges when an ack quorum of bookies has a message in the journal, which they flush first unless journalSyncData is false. " +
		"By default a batch has 128 KiB or 1,000 messages, and waits for 1 ms (10 ms with many partitions)",
}

// unequal returns what was not equal between the systems of a study: none if it has only one.
func (s *Study) unequal() (sentences []string) {
	systems := s.Systems()
	if len(systems) < 2 {
		return nil
	}
	for _, system := range systems {
		sentences = append(sentences, promises[system])
	}
	return sentences
}

// Systems returns the systems that the runs of a study are made on, in the order of plan's.
func (s *Study) Systems() (systems []plan.System) {
	for _, part := range s.Parts {
		systems = append(systems, part.Systems()...)
	}
	for _, c := range s.Cells() {
		for _, l := range s.Loads {
			systems = append(systems, systemOf(s.at(c, l)))
		}
	}
	slices.Sort(systems)
	return slices.Compact(systems)
}

// systemOf returns the system that a load goes to.
func systemOf(l Load) plan.System {
	p := plan.Plan{URL: l.value("url")} // "": Kafka, whose brokers are elsewhere
	return p.System()
}
