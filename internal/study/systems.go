package study

import (
	"slices"

	"github.com/kt-bench/kt/internal/plan"
)

// promises are what the acknowledgement of a message means with each system's own settings. Sources: Kafka's documentation
// of acks and flush.messages; RabbitMQ's of publisher confirms and quorum queues; Pulsar's of persistence and
// journalSyncData.
var promises = map[plan.System]string{
	plan.Kafka:    "Kafka acknowledges when all replicas in sync have a record in memory, and leaves the flush to the operating system unless flush.messages says otherwise",
	plan.RabbitMQ: "RabbitMQ confirms when a classic queue has handed a persistent message to the file system, or when most members of a quorum queue have flushed it; messages go one by one",
	plan.Pulsar:   "Pulsar acknowledges when an ack quorum of bookies has a message in the journal, which they flush first unless journalSyncData is false",
}

// unequal returns what was not equal between the systems of a study: none if it has only one.
func (s *Study) unequal() (sentences []string) {
	var systems []plan.System
	note := func(name, value string) {
		if p := (plan.Plan{URL: value}); name == "url" && !slices.Contains(systems, p.System()) {
			systems = append(systems, p.System())
		}
	}
	for _, l := range s.Loads {
		for _, f := range l.Flags {
			note(f.Name, f.Value)
		}
	}
	for i := range s.Factors {
		_, flag := s.target(s.Factors[i].Name)
		for _, v := range s.Factors[i].Values {
			note(flag, v)
		}
	}
	if len(systems) < 2 {
		return nil
	}
	for _, system := range systems {
		sentences = append(sentences, promises[system])
	}
	return sentences
}
