package kafka

import (
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/result"
)

// Layout numbers the partitions of several topics, counting on from one topic to the next.
type Layout struct {
	Topics []result.Topic
	Base   map[string]int32 // the number of each topic's partition 0
	Count  int              // of all partitions
}

// NewLayout numbers the partitions of these topics.
func NewLayout(topics []result.Topic) *Layout {
	l := &Layout{Topics: topics, Base: make(map[string]int32, len(topics))}
	for _, t := range topics {
		l.Base[t.Name] = int32(l.Count)
		l.Count += t.Partitions
	}
	return l
}

// Names returns the names of the topics.
func (l *Layout) Names() []string {
	var names []string
	for _, t := range l.Topics {
		names = append(names, t.Name)
	}
	return names
}

// Each calls f for every partition.
func (l *Layout) Each(f func(topic string, partition, number int32)) {
	for _, t := range l.Topics {
		for p := range int32(t.Partitions) {
			f(t.Name, p, l.Base[t.Name]+p)
		}
	}
}

// byNumber returns offsets in the order of the partitions' numbers, -1 for unknown ones.
func (l *Layout) byNumber(offsets kadm.ListedOffsets) []int64 {
	out := make([]int64, l.Count)
	l.Each(func(topic string, partition, number int32) {
		out[number] = -1
		if o, ok := offsets.Lookup(topic, partition); ok && o.Err == nil {
			out[number] = o.Offset
		}
	})
	return out
}
