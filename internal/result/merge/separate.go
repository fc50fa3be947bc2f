package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// different returns why the parts that count make no load together; "": they do. Parts that were
// started together do, and so do those that wrote to, or read from, the same topics of one cluster.
func (m *merge) different() string {
	parts := m.counted()
	clusters, topics := make(map[string]bool), make(map[string]bool)
	together := parts[0].group().epoch != ""
	for _, p := range parts {
		together = together && p.group().epoch == parts[0].group().epoch
		if id := p.header.Environment.Cluster.ID; id != "" {
			clusters[id] = true
		}
		topics[p.topicNames()] = true
	}
	switch {
	case together:
		return ""
	case len(clusters) > 1:
		return fmt.Sprintf("they ran against %d clusters", len(clusters))
	case len(topics) > 1:
		return "their topics differ: " + strings.Join(some(slices.Sorted(maps.Keys(topics))), "; ")
	}
	return ""
}

// topicNames returns the topics of the part, sorted: "orders, payments".
func (p *mergedPart) topicNames() string {
	var names []string
	for _, t := range allTopics(&p.header.Environment) {
		names = append(names, t.Name)
	}
	return strings.Join(distinct(names), ", ")
}

// oneLoad returns an error if the parts make no load together.
func (m *merge) oneLoad() error {
	if err := (&result.Result{NotAddedUp: m.separate}).OneLoad(); err != nil {
		return fmt.Errorf("%w: name the files of one load", err)
	}
	return nil
}

// bare returns the result of parts that make no load together, without rows.
func (m *merge) bare(h result.Header) result.Result {
	start := m.start()
	r := result.Result{
		Header: h, Trailer: m.trailer(nil), Start: &start, NotAddedUp: m.separate, Headline: "throughput", Invalid: m.invalid(),
		BoundBy: verdict.Verdict{Limit: verdict.Unknown, Evidence: "each process has a limit of its own"},
		Errors:  result.Errors{}, Partitions: []result.PartitionRow{}, Brokers: []result.BrokerRow{}, Series: []result.Point{},
	}
	r.Valid = len(r.Invalid) == 0
	for _, p := range m.counted() {
		if p.doc.Lost() || p.doc.Damaged() {
			m.notes = append(m.notes, p.label()+" lost or damaged records: see kt report of its run file")
		}
	}
	return r
}

// invalid returns why the parts that count are not valid.
func (m *merge) invalid() []string {
	all := []string{}
	for _, p := range m.counted() {
		for _, reason := range p.doc.Invalid {
			all = append(all, p.label()+": "+reason)
		}
	}
	return all
}
