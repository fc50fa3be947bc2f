package merge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// differs is the value of a setting that parts have different values of.
const differs = "differs"

// startedAt returns when the first part that counts was started, or the first machine watched.
func (m *merge) startedAt() time.Time {
	of := m.counted()
	if len(of) == 0 {
		of = m.watched
	}
	return slices.MinFunc(of, func(a, b *mergedPart) int { return a.header.StartedAt.Compare(b.header.StartedAt) }).header.StartedAt
}

// header returns what the parts that count have in common. Differences become notes. A single run file keeps its own header.
func (m *merge) header(runFiles []*runFile) result.Header {
	parts := m.counted()
	first := &parts[0].header
	if len(runFiles) == 1 {
		h := *first
		h.Limits = m.judged()
		return h
	}
	hash := sha256.New() // the id depends on the content of the run files alone
	for _, s := range runFiles {
		hash.Write([]byte(s.sum + "\n"))
	}
	h := result.Header{Schema: result.Schema, RunID: hex.EncodeToString(hash.Sum(nil))[:16], StartedAt: m.startedAt(), Args: first.Args}
	var plans []plan.Plan
	var versions []string
	var configs, consumerConfigs [][]result.Setting
	for _, p := range parts {
		if !slices.Equal(p.header.Args, h.Args) {
			h.Args = []string{}
		}
		h.Embedded = h.Embedded || p.header.Embedded
		h.Tags, versions, plans = append(h.Tags, p.header.Tags...), append(versions, p.header.KTVersion), append(plans, p.plan())
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
	staged := slices.ContainsFunc(plans, func(p plan.Plan) bool { return len(p.Load.Rate.Stages) > 0 })
	if m.separate == "" && staged && len(h.Plan.Load.Rate.Stages) == 0 {
		m.notes = append(m.notes, "the parts' stages do not add up to stages, so there are no rows of them")
	}
	h.Config, h.ConsumerConfig = sharedSettings(configs), sharedSettings(consumerConfigs)
	if p := first.Part; p != nil {
		h.Part = &result.Part{Run: p.Run, Epoch: p.Epoch}
		for _, name := range slices.Sorted(maps.Keys(m.roster)) {
			h.Part.Roster = append(h.Part.Roster, m.roster[name])
		}
	}
	var clusters bool
	h.Environment, clusters = m.environment()
	if m.separate == "" {
		h.Limits = m.judged()
	}
	switch {
	case clusters && m.separate != "":
		h.Environment.Cluster = result.Cluster{Brokers: []result.Broker{}}
	case clusters:
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
	limits := parts[0].part.Limits
	for _, p := range parts[1:] {
		if of := p.part.Limits; !slices.Equal(of, limits) {
			m.notes = append(m.notes, "the parts' limits differ: only those that all have are judged")
			limits = slices.DeleteFunc(slices.Clone(limits), func(l string) bool { return !slices.Contains(of, l) })
		}
	}
	return limits
}

// plan returns the part's plan as of common time.
func (p *mergedPart) plan() plan.Plan {
	own := p.header.Plan
	own.Load.Rate = own.Load.Rate.Delayed(p.shift)
	return own
}

// sharedSettings merges lists of settings. A value is differs unless all lists that are not empty have it.
func sharedSettings(lists [][]result.Setting) (shared []result.Setting) {
	lists = slices.DeleteFunc(lists, func(list []result.Setting) bool { return len(list) == 0 })
	for _, s := range slices.Concat(lists...) {
		named := func(o result.Setting) bool { return o.Name == s.Name }
		if slices.ContainsFunc(shared, named) {
			continue
		}
		for _, list := range lists {
			i := slices.IndexFunc(list, named)
			if i < 0 || list[i].Value != s.Value {
				s.Value = differs
			}
			if i >= 0 && list[i].Source != s.Source {
				s.Source = differs
			}
		}
		shared = append(shared, s)
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
		id = cmp.Or(id, of.Cluster.ID)
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
	m.topics = nil
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		m.topics = append(m.topics, byName[name])
	}
	if e.Topic = m.topics[0]; len(m.topics) > 1 {
		e.Topics = m.topics
	}
	for _, p := range parts {
		p.topics = m.places(&p.header.Environment)
	}
	return e, clusters
}

// places maps the partitions of a part to their numbers among those of all parts; nil: no number changes.
func (m *merge) places(e *result.Environment) (at []int32) {
	same := true
	for _, topic := range e.AllTopics() {
		first := int32(0)
		for i := 0; i < len(m.topics) && m.topics[i].Name != topic.Name; i++ {
			first += int32(m.topics[i].Partitions)
		}
		same = same && int(first) == len(at)
		for n := range topic.Partitions {
			at = append(at, first+int32(n))
		}
	}
	if same {
		return nil
	}
	return at
}

// different returns why the parts that count make no load together; "": they do. Those that were started together do.
func (m *merge) different() string {
	clusters, topics, epochs, loads := make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, p := range m.counted() {
		if id := p.header.Environment.Cluster.ID; id != "" {
			clusters[id] = true
		}
		topics[p.topicNames()], epochs[p.part.Epoch], loads[p.part.Load] = true, true, true
	}
	switch {
	case len(loads) > 1:
		return "they are loads of one workload: " + few(slices.Sorted(maps.Keys(loads)), ", ")
	case len(epochs) == 1 && !epochs[""]:
		return ""
	case len(clusters) > 1:
		return fmt.Sprintf("they ran against %d clusters", len(clusters))
	case len(topics) > 1:
		return "their topics differ: " + few(slices.Sorted(maps.Keys(topics)), "; ")
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
