package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/result"
)

// Tags returns a few words about the kind of load, and the tags of the run with a # before each.
func Tags(h result.Header) []string {
	tags, read, writes := []string{}, h.Plan.Read, writes(&h)
	add := func(is bool, tag string) {
		if is {
			tags = append(tags, tag)
		}
	}
	add(writes, "acks="+setting(h.Config, "acks"))
	if h.Plan.Reads() && !writes {
		add(read.Groups > 1, plural(read.Groups, "group"))
		add(read.Groups <= 1 && read.Group != "", "group "+read.Group)
		add(read.Groups <= 1 && read.Group == "", "no group")
	}
	n := h.Environment.Partitions()
	add(n > 0, plural(n, "partition")) // before a load on other hosts begins, the topic is unknown here
	factor := h.Environment.Topic.ReplicationFactor
	add(factor > 0, fmt.Sprintf("RF %d", factor))
	if writes {
		c := setting(h.Config, "compression.type")
		add(true, h.Plan.Payload.String())
		add(c != "none" && c != "", c)
	}
	add(h.Plan.Producers > 1, plural(h.Plan.Producers, "producer"))
	if h.Plan.Reads() {
		add(read.Consumers > 1, plural(read.Consumers, "consumer"))
		add(setting(h.ConsumerConfig, "isolation.level") == "read_committed", "read_committed")
		add(read.Processing > 0, read.Processing.String()+" a record")
		add(h.Plan.Load.OneAtATime, "one at a time")
	}
	return append(tags, marked(h.Tags)...)
}

func marked(names []string) (tags []string) {
	for _, tag := range names {
		tags = append(tags, "#"+tag)
	}
	return tags
}
