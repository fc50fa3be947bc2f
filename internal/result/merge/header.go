package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// differs is the value of a setting that parts have different values of.
const differs = "differs"

// header returns the header of the whole: what the parts that count have in common. Differences
// become notes. A single run file keeps its own header.
func (m *merge) header(runFiles []*runFile) result.Header {
	parts := m.counted()
	first := parts[0]
	if len(runFiles) == 1 {
		h := first.header
		h.Limits = m.judged()
		return h
	}
	h := result.Header{Schema: result.Schema, RunID: runID(runFiles), StartedAt: first.header.StartedAt, Args: first.header.Args}
	var plans []plan.Plan
	var staged bool
	var configs, consumerConfigs [][]result.Setting
	versions := make(map[string]bool)
	for _, p := range parts {
		if p.header.StartedAt.Before(h.StartedAt) {
			h.StartedAt = p.header.StartedAt
		}
		if !slices.Equal(p.header.Args, h.Args) {
			h.Args = []string{}
		}
		h.Embedded = h.Embedded || p.header.Embedded
		versions[p.header.KTVersion] = true
		plans, staged = append(plans, p.plan()), staged || len(p.header.Plan.Load.Rate.Stages) > 0
		configs = append(configs, p.header.Config)
		consumerConfigs = append(consumerConfigs, p.header.ConsumerConfig)
	}
	h.Tags = sharedTags(parts)
	names := slices.Sorted(maps.Keys(versions))
	h.KTVersion = strings.Join(names, ", ")
	if len(names) > 1 {
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
		h.Part = &result.Part{Run: p.Run, Epoch: p.Epoch, Roster: m.members()}
	}
	var clusters bool
	if h.Environment, clusters = m.environment(); clusters && m.separate != "" {
		h.Environment.Cluster = result.Cluster{Brokers: []result.Broker{}}
	} else if clusters {
		m.notes = append(m.notes, "the parts ran against different clusters: rows of brokers and partitions are of several")
	}
	return h
}

// sharedTags returns the tags of all parts together, sorted.
func sharedTags(parts []*mergedPart) []string {
	tags := make(map[string]bool)
	for _, p := range parts {
		for _, tag := range p.header.Tags {
			tags[tag] = true
		}
	}
	return slices.Sorted(maps.Keys(tags))
}

// judged returns the limits of the whole: those that all parts have.
func (m *merge) judged() []string {
	if len(m.limits) > 0 {
		return m.limits
	}
	parts := m.counted()
	limits := parts[0].limits()
	for _, p := range parts[1:] {
		if !slices.Equal(p.limits(), limits) {
			m.notes = append(m.notes, "the parts' limits differ: only those that all have are judged")
			limits = slices.DeleteFunc(slices.Clone(limits), func(l string) bool { return !slices.Contains(p.limits(), l) })
		}
	}
	return limits
}

// limits returns the limits of the run that the part is of.
func (p *mergedPart) limits() []string {
	if of := p.part().Limits; len(of) > 0 {
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

// runID returns a run id that depends on the content of the run files alone.
func runID(runFiles []*runFile) string {
	hash := sha256.New()
	for _, s := range runFiles {
		_, _ = fmt.Fprintln(hash, s.sum) // a hash never fails
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// members returns the roster of all parts, in the order of hosts.
func (m *merge) members() []result.Member {
	var all []result.Member
	for _, name := range slices.Sorted(maps.Keys(m.roster)) {
		all = append(all, m.roster[name])
	}
	return all
}

// sharedSettings merges lists of settings, in the order of the first list. The value of a setting
// is differs unless all lists that are not empty have the same.
func sharedSettings(lists [][]result.Setting) []result.Setting {
	var shared []result.Setting
	at := make(map[string]int)
	count := make(map[string]int)
	having := 0
	for _, list := range lists {
		if len(list) > 0 {
			having++
		}
		for _, s := range list {
			count[s.Name]++
			i, ok := at[s.Name]
			if !ok {
				at[s.Name] = len(shared)
				shared = append(shared, s)
				continue
			}
			if shared[i].Value != s.Value {
				shared[i].Value = differs
			}
			if shared[i].Source != s.Source {
				shared[i].Source = differs
			}
		}
	}
	for i := range shared {
		if count[shared[i].Name] != having {
			shared[i].Value = differs
		}
	}
	return shared
}

// environment returns the environment of the parts that count, and numbers their partitions.
// clusters reports whether they ran against different clusters.
func (m *merge) environment() (e result.Environment, clusters bool) {
	parts := m.counted()
	e.Host, e.Clock = parts[0].header.Environment.Host, parts[0].header.Environment.Clock
	id := ""
	for _, p := range parts {
		of := &p.header.Environment
		if p.host() != parts[0].host() {
			e.Clock = nil
			e.Host = sharedFacts(e.Host, of.Host)
		}
		c := of.Cluster
		if len(c.Brokers) > len(e.Cluster.Brokers) || e.Cluster.ID == "" {
			e.Cluster = c
		}
		clusters = clusters || id != "" && c.ID != "" && c.ID != id
		if id == "" {
			id = c.ID
		}
	}
	m.topics = topicsOf(parts)
	e.Topic = m.topics.all[0]
	if len(m.topics.all) > 1 {
		e.Topics = m.topics.all
	}
	for _, p := range parts {
		p.topics = m.topics.places(&p.header.Environment)
	}
	return e, clusters
}

// sharedFacts returns the facts that two machines have in common. The others are empty.
func sharedFacts(a, b host.Facts) host.Facts {
	x, y := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			x.Field(i).SetZero()
		}
	}
	return a
}

// topics are the topics of all parts, in the order of their names.
type topics struct {
	all  []result.Topic
	from map[string]int32 // by name: the number of the first partition
	next int32            // number of the first partition of one more topic
}

func topicsOf(parts []*mergedPart) topics {
	byName := make(map[string]result.Topic)
	for _, p := range parts {
		for _, t := range allTopics(&p.header.Environment) {
			known, ok := byName[t.Name]
			created := known.Created || t.Created
			if !ok || t.Partitions > known.Partitions || len(known.Leaders) == 0 && len(t.Leaders) > 0 {
				known = t
			}
			known.Created = created
			byName[t.Name] = known
		}
	}
	t := topics{from: make(map[string]int32)}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t.add(byName[name])
	}
	return t
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

func allTopics(e *result.Environment) []result.Topic {
	if len(e.Topics) > 0 {
		return e.Topics
	}
	return []result.Topic{e.Topic}
}

// places maps the partitions of a part to their numbers among those of all parts; nil: no number
// changes.
func (t topics) places(e *result.Environment) []int32 {
	same := true
	var at []int32
	for _, topic := range allTopics(e) {
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
