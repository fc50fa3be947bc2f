package merge

import (
	"context"
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
		names := slices.Sorted(maps.Keys(topics))
		if n := len(names) - mostNamed; n > 0 {
			names = append(names[:mostNamed], fmt.Sprintf("%d more", n))
		}
		return "their topics differ: " + strings.Join(names, "; ")
	}
	return ""
}

// topicNames returns the topics of the part, sorted: "orders, payments".
func (p *mergedPart) topicNames() string {
	var names []string
	for _, t := range allTopics(&p.header.Environment) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// oneLoad returns an error if the parts make no load together.
func (m *merge) oneLoad() error {
	if err := (&result.Result{NotAddedUp: m.apart}).OneLoad(); err != nil {
		return fmt.Errorf("%w: name the files of one load", err)
	}
	return nil
}

// beside returns the result of parts that make no load together: a row for each process and host, and no
// figures of the whole.
func (m *merge) beside(ctx context.Context, runFiles []*runFile) (result.Result, error) {
	if len(m.limits) > 0 {
		return result.Result{}, m.oneLoad()
	}
	header := m.header(runFiles)
	if err := m.read(ctx, nil); err != nil {
		return result.Result{}, err
	}
	start := m.start()
	r := result.Result{
		Header: header, Trailer: m.trailer(nil), Start: &start, NotAddedUp: m.apart, Headline: "throughput",
		BoundBy: verdict.Verdict{Limit: verdict.Unknown, Evidence: "each process has a limit of its own"},
		Errors:  result.Errors{}, Partitions: []result.PartitionRow{}, Brokers: []result.BrokerRow{}, Series: []result.Point{},
	}
	for _, p := range m.parts {
		p.doc = p.fold.Result()
	}
	r.Invalid = m.invalid()
	r.Valid = len(r.Invalid) == 0
	o, _ := m.overlap()
	r.Processes, r.Hosts = m.rows(&r, frame{own: true})
	if err := m.busy(r.Hosts, result.Overlap{SpanSeconds: o.SpanSeconds}); err != nil {
		return result.Result{}, err
	}
	r.RunFiles, r.Apart = m.listRunFiles(), apartOf(r.Processes)
	say := append([]string{"different loads, side by side and not added up: " + m.apart}, m.notices(&r, "")...)
	for _, p := range m.counted() {
		if p.doc.Lost() || p.doc.Damaged() {
			say = append(say, p.label()+" lost or damaged records: see kt report of its run file")
		}
	}
	r.Notice = strings.Join(append(say, m.notes...), "; ")
	return r, nil
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
