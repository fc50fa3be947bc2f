package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// MaxTopics bounds the topics of one load.
const MaxTopics = 100_000

// topicName matches the names that Kafka accepts (org.apache.kafka.common.internals.Topic).
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// topicRange matches an element of Topic.Name with a range: "orders-{00..99}".
var topicRange = regexp.MustCompile(`^([^{}]*)\{(\d{1,9})\.\.(\d{1,9})\}([^{}]*)$`)

// CheckTopic returns an error unless Kafka takes a topic of that name.
func CheckTopic(name string) error {
	if !topicName.MatchString(name) || name == "." || name == ".." {
		return errors.New("a topic name has 1 to 249 letters, digits, '.', '_' or '-'")
	}
	return nil
}

// ParseTopics returns the names that an expression means, in its order: names with commas between them, each of which may have one
// range of numbers, padded with zeros as its first number is. The error says which part is no name, or is there twice.
func ParseTopics(expression string) ([]string, error) {
	var names []string
	for _, element := range strings.Split(expression, ",") {
		m := topicRange.FindStringSubmatch(element)
		if m == nil {
			if strings.ContainsAny(element, "{}") {
				return nil, fmt.Errorf("%.300q: write one range, as orders-{00..99}", element)
			}
			names = append(names, element)
			continue
		}
		first, _ := strconv.Atoi(m[2]) // nine digits at most
		last, _ := strconv.Atoi(m[3])
		width := 0
		if m[2][0] == '0' {
			width = len(m[2])
		}
		if last < first {
			return nil, fmt.Errorf("%.300q: the range ends before it begins", element)
		}
		if last-first >= MaxTopics-len(names) {
			return nil, fmt.Errorf("it means more than %d topics", MaxTopics)
		}
		for n := first; n <= last; n++ {
			names = append(names, fmt.Sprintf("%s%0*d%s", m[1], width, n, m[4]))
		}
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		err := CheckTopic(name)
		switch {
		case err != nil && len(names) == 1:
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%.300q: %w", name, err)
		case seen[name]:
			return nil, fmt.Errorf("topic %s is there twice", name)
		}
		seen[name] = true
	}
	return names, nil
}

// NumberedTopics is the expression of n topics: "NAME-{0..99}" for 100.
func NumberedTopics(name string, n int64) string { return fmt.Sprintf("%s-{0..%d}", name, n-1) }

// Names returns the topics that the load goes to, in the order in which their partitions are numbered. A pattern of topics to read
// has none.
func (t *Topic) Names() []string {
	names, _ := ParseTopics(t.Name) // a plan that was validated has names
	return names
}

// Several reports whether the load goes to more than one topic by its plan.
func (t *Topic) Several() bool {
	m := topicRange.FindStringSubmatch(t.Name)
	return strings.Contains(t.Name, ",") || m != nil && strings.TrimLeft(m[2], "0") != strings.TrimLeft(m[3], "0")
}

// alike returns two names that Kafka's metrics take for one, as '.' and '_' are the same there; the broker refuses the second.
func alike(names []string) (one, other string) {
	seen := make(map[string]string, len(names))
	for _, name := range names {
		metric := strings.ReplaceAll(name, ".", "_")
		if before, ok := seen[metric]; ok {
			return before, name
		}
		seen[metric] = name
	}
	return "", ""
}

// OwnTopics is the distribution by which each producer writes to, and each member of a group reads, topics of its own.
const OwnTopics = "own"

// Own returns those of some topics that are a client's own, by its number among all, from 0: the topics go to the clients in turns, and
// of more clients than topics several have the same one. Without OwnTopics all are everybody's.
func Own[T any](t *Topic, of []T, number, all int) []T {
	if t.Distribution != OwnTopics || all < 1 || len(of) == 0 {
		return of
	}
	own := []T{of[number%len(of)]}
	for i := number + all; i < len(of); i += all {
		own = append(own, of[i])
	}
	return own
}

// Turns chooses the topics of the records, or batches, of one producer, one after the other. Nil chooses the first topic always.
type Turns struct {
	n, at       int
	first, step int   // of the topics that it has
	zipf        *Zipf // nil: evenly
	rng         *rand.Rand
}

// Turns returns those of a producer of this process among n topics, at least one.
func (p *Plan) Turns(index, n int) *Turns {
	if n == 1 {
		return nil
	}
	number, all := p.Shard(index)
	t := &Turns{n: n, at: number * max(1, n/max(1, all)) % n, step: 1}
	if p.Topic.Distribution == OwnTopics {
		if p.Share.Slots > 0 { // the process has topics that no other has
			number, all = index, p.Producers
		}
		t.n, t.at, t.first, t.step = 1+max(0, n-1-number)/all, 0, number%n, all // as Own
	}
	if s, err := ParseZipf(p.Topic.Distribution); err == nil {
		t.zipf, t.rng = NewZipf(s, int64(n)), rand.New(rand.NewPCG(uint64(p.Seed), uint64(number)^0x746f706963)) // other numbers than those of the payload
	}
	return t
}

// Next returns the index of the next topic.
func (t *Turns) Next() int {
	switch {
	case t == nil:
		return 0
	case t.zipf != nil:
		return int(t.zipf.Draw(t.rng))
	}
	t.at = (t.at + 1) % t.n
	return t.first + t.step*t.at
}

// Short is the expression as a part of a name of a file, or of a line: of several topics the first one and how many there are more.
func (t *Topic) Short() string {
	names := t.Names()
	if len(names) < 2 {
		return cmp.Or(strings.Join(names, ""), t.Name)
	}
	return fmt.Sprintf("%s-and-%d-more", names[0], len(names)-1)
}
