package merge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
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
	h.Accepted = slices.Clone(first.Accepted)
	for _, p := range parts {
		if !slices.Equal(p.header.Args, h.Args) {
			h.Args = []string{}
		}
		h.Embedded = h.Embedded || p.header.Embedded
		h.Accepted = slices.DeleteFunc(h.Accepted, func(id string) bool { return !slices.Contains(p.header.Accepted, id) })
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
		h.Part = &result.Part{Run: p.Run, Epoch: p.Epoch, Asked: p.Asked}
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
	first := &parts[0].header.Environment
	e.Host, e.Clock, e.Share = first.Host, first.Clock, first.Share
	facts, id, byName, names := reflect.ValueOf(&e.Host).Elem(), "", make(map[string]result.Topic), []string(nil)
	for _, p := range parts {
		of := &p.header.Environment
		if of.Share == nil { // not all of them read in a share group
			e.Share = nil
		}
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
			if !ok {
				names = append(names, t.Name)
			}
			if !ok || t.Partitions > known.Partitions || len(known.Leaders) == 0 && len(t.Leaders) > 0 {
				known = t
			}
			known.Created = created
			byName[t.Name] = known
		}
	}
	m.topics = nil
	for _, name := range names {
		m.topics = append(m.topics, byName[name])
	}
	e.SetTopics(m.topics)
	m.byTopic = e.ByTopic
	for _, p := range parts {
		p.rows, p.numbers = m.places(&p.header.Environment)
	}
	return e, clusters
}

// places returns the functions from the keys of the rows of a part, and from the numbers of its partitions, to those among the topics
// of all parts; nil: none changes. Those that topics got during the run come after all others.
func (m *merge) places(e *result.Environment) (rows, numbers func(int32) int32) {
	firsts, index := result.Firsts(m.topics), make(map[string]int32, len(m.topics)) // of all parts
	for i, t := range m.topics {
		index[t.Name] = int32(i)
	}
	own := e.AllTopics()
	begins, same := result.Firsts(own), len(own) == len(m.topics)
	var of []int32 // by topic of the part, and behind them of those that were added
	for i, t := range own {
		of = append(of, index[t.Name])
		same = same && firsts[of[i]] == begins[i]
	}
	of = append(of, int32(len(m.topics)))
	all, end := firsts[len(m.topics)], begins[len(own)]
	same = same && (end == all || len(own) == 1)
	topic := func(number int32) int { // one below 0 is of none, and so after all others
		return sort.Search(len(own), func(i int) bool { return uint32(begins[i+1]) > uint32(number) })
	}
	if !same {
		numbers = func(number int32) int32 {
			i := topic(number)
			if i == len(own) {
				return all
			}
			return firsts[of[i]] + number - begins[i]
		}
	}
	switch {
	case m.byTopic && e.ByTopic:
		rows = func(key int32) int32 { return of[min(uint32(key), uint32(len(own)))] }
	case m.byTopic:
		rows = func(number int32) int32 { return of[topic(number)] }
	case e.ByTopic: // of a topic that the whole does not count, as the others of such a part
		rows = func(int32) int32 { return all }
	default:
		rows = numbers
	}
	return rows, numbers
}

// different returns why the parts that count make no load together; "": they do. Those that were started together do.
func (m *merge) different() string {
	clusters, topics, epochs, loads := make(map[string]bool), make(map[string]string), make(map[string]bool), make(map[string]bool)
	for _, p := range m.counted() {
		if id := p.header.Environment.Cluster.ID; id != "" {
			clusters[id] = true
		}
		names := p.topicNames()
		topics[strings.Join(names, ",")], epochs[p.part.Epoch], loads[p.part.Load] = few(names, ", "), true, true
	}
	switch {
	case len(loads) > 1:
		return "they are loads of one workload: " + few(slices.Sorted(maps.Keys(loads)), ", ")
	case len(epochs) == 1 && !epochs[""]:
		return ""
	case len(clusters) > 1:
		return fmt.Sprintf("they ran against %d clusters", len(clusters))
	case len(topics) > 1:
		return "their topics differ: " + few(slices.Sorted(maps.Values(topics)), "; ")
	}
	return ""
}

// topicNames returns the topics of the part, sorted.
func (p *mergedPart) topicNames() (names []string) {
	for _, t := range p.header.Environment.AllTopics() {
		names = append(names, t.Name)
	}
	return distinct(names)
}
