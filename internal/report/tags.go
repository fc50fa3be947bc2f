package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/result"
)

// Tags returns a few words about the kind of load, and the tags of the run with a # before each.
func Tags(h result.Header) []string {
	tags := []string{}
	if writes(&h) {
		tags = append(tags, "acks="+setting(h.Config, "acks"))
	}
	if h.Plan.Reads() && !writes(&h) {
		tags = append(tags, groupTag(h))
	}
	// Before a load on other hosts begins, the topic is unknown here.
	if n := h.Environment.Partitions(); n > 0 {
		tags = append(tags, plural(n, "partition"))
	}
	if n := h.Environment.Topic.ReplicationFactor; n > 0 {
		tags = append(tags, fmt.Sprintf("RF %d", n))
	}
	if writes(&h) {
		tags = append(tags, h.Plan.Payload.String())
		if c := setting(h.Config, "compression.type"); c != "none" && c != "" {
			tags = append(tags, c)
		}
	}
	if n := h.Plan.Producers; n > 1 {
		tags = append(tags, plural(n, "producer"))
	}
	if h.Plan.Reads() {
		tags = append(tags, readTags(h)...)
	}
	return append(tags, marked(h.Tags)...)
}

// RunTags returns Tags of a result, without the kind of load if it is of several.
func RunTags(r *result.Result) []string {
	if r.NotAddedUp != "" {
		return marked(r.Tags)
	}
	return Tags(r.Header)
}

func marked(names []string) (tags []string) {
	for _, tag := range names {
		tags = append(tags, "#"+tag)
	}
	return tags
}

func groupTag(h result.Header) string {
	read := h.Plan.Read
	switch {
	case read.Groups > 1:
		return plural(read.Groups, "group")
	case read.Group != "":
		return "group " + read.Group
	}
	return "no group"
}

func readTags(h result.Header) []string {
	var tags []string
	read := h.Plan.Read
	if n := read.Consumers; n > 1 {
		tags = append(tags, plural(n, "consumer"))
	}
	if v := setting(h.ConsumerConfig, "isolation.level"); v == "read_committed" {
		tags = append(tags, v)
	}
	if d := read.Processing; d > 0 {
		tags = append(tags, d.String()+" a record")
	}
	if h.Plan.Load.OneAtATime {
		tags = append(tags, "one at a time")
	}
	return tags
}
