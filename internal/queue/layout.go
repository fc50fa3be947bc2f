package queue

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kt-bench/kt/internal/result"
)

// Layout numbers the queues of topics, counting on from one topic to the next. So those of a single topic have its own numbers.
type Layout struct {
	All []result.Topic // whose queues Lay numbers

	first  []int32        // by topic: the number of its first queue; and behind all topics
	topics map[string]int // by name
}

// NewLayout numbers the queues of topics, of which it takes no more than their names and how many queues they have.
func NewLayout(topics ...result.Topic) *Layout {
	l := new(Layout)
	for _, t := range topics {
		l.All = append(l.All, result.Topic{Name: t.Name, Partitions: t.Partitions, Leaders: map[int32]int32{}, Configs: map[string]string{}})
	}
	l.Lay()
	return l
}

// Named returns topics that have no queues yet.
func Named(names []string) *Layout {
	all := make([]result.Topic, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return NewLayout(all...)
}

// Lay numbers the queues that the topics have now.
func (l *Layout) Lay() {
	l.first, l.topics = result.Firsts(l.All), make(map[string]int)
	for i := range l.All {
		l.topics[l.All[i].Name] = i
	}
}

// Count returns how many queues all topics have.
func (l *Layout) Count() int { return int(l.first[len(l.All)]) }

// Place returns the index of a queue's topic, and the queue's number there.
func (l *Layout) Place(queue int32) (topic, id int) {
	topic, _ = slices.BinarySearch(l.first[1:], queue+1)
	topic = min(topic, len(l.All)-1)
	return topic, int(queue - l.first[topic])
}

// Number returns the number of a queue, -1 if the topic is none of these. One that the topic has got since is behind all others.
func (l *Layout) Number(topic string, id int) int32 {
	i, known := l.topics[topic]
	switch behind := id - l.All[i].Partitions; {
	case !known:
		return -1
	case behind < 0:
		return l.first[i] + int32(id)
	default:
		return l.first[len(l.All)] + int32(behind)
	}
}

// atOnce is how many topics a system is asked about at the same time.
const atOnce = 4

// Each calls f for all topics, for some at the same time, and returns the errors by topic.
func (l *Layout) Each(f func(i int, t *result.Topic) error) []error {
	errs := make([]error, len(l.All))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(atOnce, len(l.All)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				errs[i] = f(i, &l.All[i])
			}
		})
	}
	all.Wait()
	return errs
}
