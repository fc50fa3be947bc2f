package kafka

import (
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Layout numbers the partitions of several topics, counting on from one topic to the next. Partitions that a topic
// gets later have the next numbers, so those of a single topic are always the ids of its partitions.
type Layout struct {
	Topics []result.Topic

	mu      sync.Mutex // guards the rest
	places  []Place    // by number
	numbers map[string][]int32
	follow  []func([]Place)
}

// Place is a partition of a Layout.
type Place struct {
	Topic      string
	ID, Number int32 // in its topic, and in the Layout
}

// NewLayout numbers the partitions of these topics.
func NewLayout(topics []result.Topic) *Layout {
	l := &Layout{Topics: topics, numbers: make(map[string][]int32, len(topics))}
	for _, t := range topics {
		l.numbers[t.Name] = nil
		l.add(t.Name, t.Partitions)
	}
	return l
}

// add numbers the partitions of a topic up to a count. The caller holds mu.
func (l *Layout) add(topic string, count int) (added []Place) {
	numbers := l.numbers[topic]
	for id := len(numbers); id < count; id++ {
		p := Place{topic, int32(id), int32(len(l.places) + len(added))}
		numbers, added = append(numbers, p.Number), append(added, p)
	}
	l.numbers[topic], l.places = numbers, append(l.places, added...)
	return added
}

// Number returns the number of a partition that the cluster has named, -1: of a topic that is not known, or above what kt
// takes, because a broker may name any. A partition that the topic has got since gets a number, and so do those before it.
func (l *Layout) Number(topic string, id int32) int32 {
	l.mu.Lock()
	if numbers, known := l.numbers[topic]; !known || id < 0 || int(id) >= max(len(numbers), plan.MaxPartitions) {
		l.mu.Unlock()
		return -1
	}
	added := l.add(topic, int(id)+1)
	number, follow := l.numbers[topic][id], l.follow
	l.mu.Unlock()
	for i := 0; i < len(follow) && len(added) > 0; i++ {
		follow[i](added)
	}
	return number
}

// Follow calls f with all partitions, and with those that topics get later.
func (l *Layout) Follow(f func([]Place)) {
	l.mu.Lock()
	l.follow = append(slices.Clip(l.follow), f)
	all := slices.Clip(l.places)
	l.mu.Unlock()
	f(all)
}

// All returns the partitions by number. The caller must not change them.
func (l *Layout) All() []Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.places)
}

// Count returns the number of all partitions.
func (l *Layout) Count() int { return len(l.All()) }

// Names returns the names of the topics.
func (l *Layout) Names() []string {
	var names []string
	for _, t := range l.Topics {
		names = append(names, t.Name)
	}
	return names
}

// Each calls f for every partition, in the order of their numbers.
func (l *Layout) Each(f func(topic string, partition, number int32)) {
	for _, p := range l.All() {
		f(p.Topic, p.ID, p.Number)
	}
}

// byNumber returns offsets in the order of the partitions' numbers, and the epochs of their leaders; -1 for unknown
// ones. New partitions among the offsets get their numbers.
func (l *Layout) byNumber(offsets kadm.ListedOffsets) (out []int64, epochs []int32) {
	offsets.Each(func(o kadm.ListedOffset) { _ = l.Number(o.Topic, o.Partition) })
	l.Each(func(topic string, partition, _ int32) {
		at, epoch := int64(-1), int32(-1)
		if o, ok := offsets.Lookup(topic, partition); ok && o.Err == nil {
			at, epoch = o.Offset, o.LeaderEpoch
		}
		out, epochs = append(out, at), append(epochs, epoch)
	})
	return out, epochs
}
