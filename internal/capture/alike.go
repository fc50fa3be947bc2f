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

// restShare is the share of the bytes below which a topic goes into the load "rest".
const restShare = 0.001

// class is topics that become one load. The first has the most traffic, and its records stand for all.
type class struct {
	name   string
	topics []*Topic
}

// sum adds up a figure of the topics.
func (c *class) sum(of func(*Topic) float64) (sum float64) {
	for _, t := range c.topics {
		sum += of(t)
	}
	return sum
}

// traffic returns the bytes/s of a topic in the log. Where neither the system nor a sample tells them, its records are taken to
// have a size.
func (t *Topic) traffic(size float64) float64 {
	switch {
	case t.Bytes > 0:
		return t.Bytes
	case t.Records != nil && t.Records.Count > 0:
		size = float64(t.Records.Packed) / float64(t.Records.Count)
	}
	return t.Mean() * size
}

// classes returns the topics as loads, those with the most traffic first and the small ones last, and the topics without records.
func (c *Cluster) classes(o Options) (classes []*class, idle []*Topic) {
	var bytes, records float64
	for i := range c.Topics {
		if r := c.Topics[i].Records; r != nil {
			bytes, records = bytes+float64(r.Packed), records+float64(r.Count)
		}
	}
	if records == 0 {
		bytes, records = plan.DefaultRecordSize, 1
	}
	traffic := func(t *Topic) float64 { return t.traffic(bytes / records) }
	var busy []*Topic
	total := 0.0
	for i := range c.Topics {
		if t := &c.Topics[i]; t.Mean() > 0 {
			busy, total = append(busy, t), total+traffic(t)
		} else {
			idle = append(idle, t)
		}
	}
	slices.SortStableFunc(busy, func(a, b *Topic) int { return cmp.Or(cmp.Compare(traffic(b), traffic(a)), cmp.Compare(a.Name, b.Name)) })
	rest := &class{name: "rest"}
	for _, t := range busy {
		same := slices.IndexFunc(classes, func(c *class) bool { return alike(c.topics[0], t, o.Similar) })
		switch {
		case !o.Each && traffic(t) < restShare*total:
			rest.topics = append(rest.topics, t)
		case !o.Each && same >= 0:
			classes[same].topics = append(classes[same].topics, t)
		default:
			classes = append(classes, &class{topics: []*Topic{t}})
		}
	}
	for i, c := range classes {
		c.name = numbered("topic", i, len(classes))
	}
	if len(rest.topics) > 0 {
		classes = append(classes, rest)
	}
	return classes, idle
}

// numbered returns the name of one of several: topic-01.
func numbered(what string, i, of int) string {
	return fmt.Sprintf("%s-%0*d", what, max(2, len(fmt.Sprint(of))), i+1)
}

// alike reports whether two topics may be one load: figures differ by a share at most, and all else is the same.
func alike(a, b *Topic, share float64) bool {
	close := func(of func(t *Topic) float64) bool { return math.Abs(of(a)-of(b)) <= share*of(a) }
	if a.Partitions != b.Partitions || a.Replicas != b.Replicas || !maps.Equal(a.Configs, b.Configs) || !close((*Topic).Mean) {
		return false
	}
	x, y := a.Records, b.Records
	if x == nil || y == nil || x.Count == 0 || y.Count == 0 {
		return x == y
	}
	return x.Codec() == y.Codec() && x.keyKind() == y.keyKind() && (x.Transactions > 0) == (y.Transactions > 0) &&
		close(func(t *Topic) float64 { return t.Records.values.mean() }) && close(func(t *Topic) float64 { return t.Records.Ratio() })
}

// keyKind returns how keys are distributed, as --key-distribution has it without the exponent.
func (r *Records) keyKind() string {
	if 2*r.keys.n < r.Count || r.keys.n == 0 { // most records have none
		return "none"
	}
	if r.keys.even() {
		return "random"
	}
	return "zipf"
}

// rename returns the names that the topics have in the file.
func rename(classes []*class, o Options) map[string]string {
	names := make(map[string]string)
	for _, c := range classes {
		for i, t := range c.topics {
			switch {
			case o.Names:
				names[t.Name] = t.Name
			case len(c.topics) == 1:
				names[t.Name] = c.name
			default: // as topics: N names them
				names[t.Name] = fmt.Sprintf("%s-%d", c.name, i)
			}
		}
	}
	return names
}

// list returns which topics of the file some topics are, as ranges: topic-01-{0..9},topic-02.
func list(topics []string, classes []*class, names map[string]string) string {
	reads := make(map[string]bool)
	for _, t := range topics {
		reads[t] = true
	}
	var texts []string
	for _, c := range classes {
		for i := 0; i < len(c.topics); i++ {
			name, first := names[c.topics[i].Name], i
			for i+1 < len(c.topics) && reads[c.topics[i].Name] && reads[c.topics[i+1].Name] && name == fmt.Sprintf("%s-%d", c.name, first) {
				i++
			}
			switch {
			case i > first:
				texts = append(texts, fmt.Sprintf("%s-{%d..%d}", c.name, first, i))
			case reads[c.topics[i].Name]:
				texts = append(texts, name)
			}
		}
	}
	return strings.Join(texts, ",")
}
