package capture

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

const (
	restShare = 0.001 // of the bytes: topics that are alike and have less, all together, go into the load of the small ones
	restName  = "rest"
)

// class is topics that become one load, those with the most traffic first.
type class struct {
	name   string
	topics []*Topic
}

// middle returns the topic with the median traffic, whose records stand for all.
func (c *class) middle() *Topic { return c.topics[len(c.topics)/2] }

// sum adds up a figure of the topics.
func (c *class) sum(of func(*Topic) float64) (sum float64) {
	for _, t := range c.topics {
		sum += of(t)
	}
	return sum
}

// producers returns how many clients are known to write the topics: one that writes several of them counts once, if its id was read.
func (c *class) producers() int {
	active, unread, ids := 0, 0, make(map[int64]bool)
	for _, t := range c.topics {
		if active, unread = active+t.Producers, unread+t.Producers; t.Records != nil {
			unread -= min(t.Producers, len(t.Records.Producers))
			maps.Copy(ids, t.Records.Producers)
		}
	}
	if active > 0 { // the sample may have those of earlier times too
		return min(active, unread+len(ids))
	}
	return len(ids)
}

// size returns the bytes that a record of a topic takes in the log: those of all topics where neither the system nor a sample tells them.
// 0: no record of any was read.
func (c *Cluster) size(t *Topic) float64 {
	var bytes, records float64
	switch r := t.Records; {
	case t.Bytes > 0:
		return t.Bytes / t.Mean()
	case r != nil && r.Count > 0:
		return float64(r.Packed) / float64(r.Count)
	}
	for i := range c.Topics {
		if r := c.Topics[i].Records; r != nil {
			bytes, records = bytes+float64(r.Packed), records+float64(r.Count)
		}
	}
	return bytes / max(records, 1)
}

// classes returns the topics as loads, those with the most traffic first and the small ones last, and how many have no records.
func (c *Cluster) classes(o Options) (classes []*class, idle int) {
	var busy []*Topic
	traffic, total := make(map[*Topic]float64), 0.0
	for i := range c.Topics {
		if t := &c.Topics[i]; t.Mean() > 0 {
			busy, traffic[t] = append(busy, t), t.Mean()*max(c.size(t), 1)
			total += traffic[t]
		}
	}
	slices.SortStableFunc(busy, func(a, b *Topic) int { return cmp.Compare(traffic[b], traffic[a]) })
	var all []*class
	for _, t := range busy {
		if i := slices.IndexFunc(all, func(c *class) bool { return !o.Each && alike(c.topics[0], t, o.Similar) }); i >= 0 {
			all[i].topics = append(all[i].topics, t)
		} else {
			all = append(all, &class{topics: []*Topic{t}})
		}
	}
	rest := &class{name: restName}
	for _, c := range all {
		if !o.Each && c.sum(func(t *Topic) float64 { return traffic[t] }) < restShare*total {
			rest.topics = append(rest.topics, c.topics...)
		} else {
			classes = append(classes, c)
		}
	}
	for i, c := range classes {
		c.name = numbered("topic", i, len(classes))
	}
	if len(rest.topics) > 0 {
		classes = append(classes, rest)
	}
	return classes, len(c.Topics) - len(busy)
}

// numbered returns the name of one of several: topic-01.
func numbered(what string, i, of int) string {
	return fmt.Sprintf("%s-%0*d", what, max(2, len(fmt.Sprint(of))), i+1)
}

// alike reports whether two topics may be one load: figures differ by a share at most, and all else is the same.
func alike(a, b *Topic, share float64) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) <= share*x }
	if a.Partitions != b.Partitions || a.Replicas != b.Replicas || !maps.Equal(a.Configs, b.Configs) || !near(a.Mean(), b.Mean()) {
		return false
	}
	x, y := a.Records, b.Records
	if x == nil || y == nil || x.Count == 0 || y.Count == 0 {
		return x == y
	}
	return x.Codec() == y.Codec() && (x.Transactions > 0) == (y.Transactions > 0) && near(x.values.mean(), y.values.mean()) &&
		near(x.Ratio(), y.Ratio()) && x.keyKind() == y.keyKind()
}

// keyKind returns how keys are distributed: none, random or zipf.
func (r *Records) keyKind() string {
	switch {
	case r.keys.n == 0 || 2*r.keys.n < r.Count: // most records have none
		return string(plan.NoKeys)
	case r.keys.even():
		return string(plan.RandomKeys)
	}
	return "zipf"
}

// rename returns the names that the topics have in the file: several of a load are as topics: N names them.
func rename(classes []*class, o Options) map[string]string {
	names := make(map[string]string)
	for _, c := range classes {
		for i, t := range c.topics {
			switch names[t.Name] = c.name; {
			case o.Names:
				names[t.Name] = t.Name
			case len(c.topics) > 1:
				names[t.Name] = fmt.Sprintf("%s-%d", c.name, i)
			}
		}
	}
	return names
}

// list returns which topics of the file some topics are, with ranges, as YAML has it: "topic-01-{0..9},topic-02".
func list(topics []*Topic, classes []*class, names map[string]string) string {
	var texts []string
	for _, c := range classes {
		for i := 0; i < len(c.topics); i++ {
			first, name := i, names[c.topics[i].Name]
			if !slices.Contains(topics, c.topics[i]) {
				continue
			}
			for i+1 < len(c.topics) && slices.Contains(topics, c.topics[i+1]) && name == fmt.Sprintf("%s-%d", c.name, first) {
				i++
			}
			if i > first {
				name = fmt.Sprintf("%s-{%d..%d}", c.name, first, i)
			}
			texts = append(texts, name)
		}
	}
	return fmt.Sprintf("%q", strings.Join(texts, ","))
}
