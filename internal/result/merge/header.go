package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// differs is the value of a setting that parts have different values of.
const differs = "differs"

// header returns what the parts that count have in common. Differences become notes. A single run file keeps its own header.
func (m *merge) header(runFiles []*runFile) result.Header {
	parts := m.counted()
	first := parts[0]
	if len(runFiles) == 1 {
		h := first.header
		h.Limits = m.judged()
		return h
	}
	h := result.Header{Schema: result.Schema, StartedAt: first.header.StartedAt, Args: first.header.Args}
	hash := sha256.New() // the id depends on the content of the run files alone
	for _, s := range runFiles {
		hash.Write([]byte(s.sum + "\n"))
	}
	h.RunID = hex.EncodeToString(hash.Sum(nil))[:16]
	var plans []plan.Plan
	var staged bool
	var versions []string
	var configs, consumerConfigs [][]result.Setting
	for _, p := range parts {
		if p.header.StartedAt.Before(h.StartedAt) {
			h.StartedAt = p.header.StartedAt
		}
		if !slices.Equal(p.header.Args, h.Args) {
			h.Args = []string{}
		}
		h.Embedded = h.Embedded || p.header.Embedded
		h.Tags, versions = append(h.Tags, p.header.Tags...), append(versions, p.header.KTVersion)
		plans, staged = append(plans, p.plan()), staged || len(p.header.Plan.Load.Rate.Stages) > 0
		configs, consumerConfigs = append(configs, p.header.Config), append(consumerConfigs, p.header.ConsumerConfig)
	}
	h.Tags, versions = distinct(h.Tags), distinct(versions)
	h.KTVersion = strings.Join(versions, ", ")
	if len(versions) > 1 {
		m.notes = append(m.notes, "the parts are of different versions of kt: "+h.KTVersion)
	}
	var differ []string
	if h.Plan, differ, _ = plan.Together(plans); len(differ) > 0 {
		m.notes = append(m.notes, "the parts' plans differ in "+strings.Join(differ, ", "))
	}
	if m.separate == "" && staged && len(h.Plan.Load.Rate.Stages) == 0 {
		m.notes = append(m.notes, "the parts' stages do not add up to stages, so there are no rows of them")
	}
	if m.separate == "" {
		h.Limits = m.judged()
	}
	h.Config, h.ConsumerConfig = sharedSettings(configs), sharedSettings(consumerConfigs)
	if p := first.header.Part; p != nil {
		h.Part = &result.Part{Run: p.Run, Epoch: p.Epoch}
		for _, name := range slices.Sorted(maps.Keys(m.roster)) {
			h.Part.Roster = append(h.Part.Roster, m.roster[name])
		}
	}
	var clusters bool
	if h.Environment, clusters = m.environment(); clusters && m.separate != "" {
		h.Environment.Cluster = result.Cluster{Brokers: []result.Broker{}}
	} else if clusters {
		m.notes = append(m.notes, "the parts ran against different clusters: rows of brokers and partitions are of several")
	}
	return h
}

// distinct returns each of some names once, sorted.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// judged returns the limits of the whole: those that all parts have.
func (m *merge) judged() []string {
	if len(m.limits) > 0 {
		return m.limits
	}
	parts := m.counted()
	limits := parts[0].limits()
	for _, p := range parts[1:] {
		if of := p.limits(); !slices.Equal(of, limits) {
			m.notes = append(m.notes, "the parts' limits differ: only those that all have are judged")
			limits = slices.DeleteFunc(slices.Clone(limits), func(l string) bool { return !slices.Contains(of, l) })
		}
	}
	return limits
}

// limits returns the limits of the run that the part is of.
func (p *mergedPart) limits() []string {
	if of := p.part.Limits; len(of) > 0 {
		return of
	}
	return p.header.Limits
}

// plan returns the part's plan as of common time.
func (p *mergedPart) plan() plan.Plan {
	own := p.header.Plan
	own.Load.Rate = own.Load.Rate.Delayed(p.shift)
	return own
}

// sharedSettings merges lists of settings, in the order of the first list. The value of a setting
// is differs unless all lists that are not empty have the same.
func sharedSettings(lists [][]result.Setting) (shared []result.Setting) {
	lists = slices.DeleteFunc(lists, func(list []result.Setting) bool { return len(list) == 0 })
	at, count := make(map[string]int), make(map[string]int)
	for _, s := range slices.Concat(lists...) {
		count[s.Name]++
		i, known := at[s.Name]
		if !known {
			i, at[s.Name] = len(shared), len(shared)
			shared = append(shared, s)
		}
		if shared[i].Value != s.Value {
			shared[i].Value = differs
		}
		if shared[i].Source != s.Source {
			shared[i].Source = differs
		}
	}
	for i := range shared {
		if count[shared[i].Name] != len(lists) {
			shared[i].Value = differs
		}
	}
	return shared
}

// environment returns what the parts that count have in common, and numbers their partitions. clusters reports whether there are several.
func (m *merge) environment() (e result.Environment, clusters bool) {
	parts := m.counted()
	e.Host, e.Clock = parts[0].header.Environment.Host, parts[0].header.Environment.Clock
	facts, id, byName := reflect.ValueOf(&e.Host).Elem(), "", make(map[string]result.Topic)
	for _, p := range parts {
		of := &p.header.Environment
		if p.part.Host != parts[0].part.Host {
			e.Clock = nil
			for i := range facts.NumField() {
				if !reflect.DeepEqual(facts.Field(i).Interface(), reflect.ValueOf(of.Host).Field(i).Interface()) {
					facts.Field(i).SetZero()
				}
			}
		}
		if len(of.Cluster.Brokers) > len(e.Cluster.Brokers) || e.Cluster.ID == "" {
			e.Cluster = of.Cluster
		}
		clusters = clusters || id != "" && of.Cluster.ID != "" && of.Cluster.ID != id
		if id == "" {
			id = of.Cluster.ID
		}
		for _, t := range of.AllTopics() {
			known, ok := byName[t.Name]
			created := known.Created || t.Created
			if !ok || t.Partitions > known.Partitions || len(known.Leaders) == 0 && len(t.Leaders) > 0 {
				known = t
			}
			known.Created = created
			byName[t.Name] = known
		}
	}
	m.topics = topics{from: make(map[string]int32)}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		m.topics.add(byName[name])
	}
	if e.Topic = m.topics.all[0]; len(m.topics.all) > 1 {
		e.Topics = m.topics.all
	}
	for _, p := range parts {
		p.topics = m.topics.places(&p.header.Environment)
	}
	return e, clusters
}

// topics are the topics of all parts, in the order of their names.
type topics struct {
	all  []result.Topic
	from map[string]int32 // by name: the number of the first partition
	next int32            // number of the first partition of one more topic
}

// add numbers the partitions of a topic, unless it is known.
func (t *topics) add(topic result.Topic) {
	if _, known := t.from[topic.Name]; known {
		return
	}
	t.all = append(t.all, topic)
	t.from[topic.Name] = t.next
	t.next += int32(topic.Partitions)
}

// places maps the partitions of a part to their numbers among those of all parts; nil: no number changes.
func (t topics) places(e *result.Environment) (at []int32) {
	same := true
	for _, topic := range e.AllTopics() {
		for n := range topic.Partitions {
			place := t.from[topic.Name] + int32(n)
			same = same && place == int32(len(at))
			at = append(at, place)
		}
	}
	if same {
		return nil
	}
	return at
}

// partition returns the number of a partition of the part among those of all parts.
func (p *mergedPart) partition(id int32) int32 {
	if id < 0 || int(id) >= len(p.topics) {
		return id
	}
	return p.topics[id]
}

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
	for _, t := range p.header.Environment.AllTopics() {
		names = append(names, t.Name)
	}
	return strings.Join(distinct(names), ", ")
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
