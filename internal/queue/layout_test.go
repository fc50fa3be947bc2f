package queue

import (
	"errors"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func TestQueuesOfSeveralTopicsAreNumberedOn(t *testing.T) {
	l := NewLayout(result.Topic{Name: "a", Partitions: 2}, result.Topic{Name: "b", Partitions: 1}, result.Topic{Name: "c", Partitions: 3})
	must.Match(t, 6, l.Count(), "queues")
	for number, want := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}, {2, 2}} {
		topic, id := l.Place(int32(number))
		must.Match(t, want, [2]int{topic, id}, "queue %d", number)
		must.Match(t, int32(number), l.Number(l.All[topic].Name, id), "the number of queue %d of topic %d", id, topic)
	}
	for _, tc := range []struct {
		topic string
		id    int
		want  int32
	}{{"a", 2, 6}, {"c", 4, 7}, {"d", 0, -1}} {
		must.Match(t, tc.want, l.Number(tc.topic, tc.id), "the number of queue %d of topic %s, which is not among these", tc.id, tc.topic)
	}
	one := NewLayout(result.Topic{Name: "t", Partitions: 3})
	must.Match(t, int32(5), one.Number("t", 5), "the number of a queue that a single topic has got since")
}

func TestEachTopicIsAskedOnceAndItsErrorKept(t *testing.T) {
	l, bad := Named([]string{"a", "b", "c", "d", "e", "f"}), errors.New("bad")
	asked := make([]int, len(l.All))
	errs := l.Each(func(i int, topic *result.Topic) error {
		asked[i]++
		if topic.Name == "e" {
			return bad
		}
		return nil
	})
	must.Match(t, []int{1, 1, 1, 1, 1, 1}, asked, "how often")
	must.True(t, slices.Equal(errs, []error{nil, nil, nil, nil, bad, nil}), "errors: %v", errs)
}

// A process writes to the topics of which it has a queue, and there to its own ones.
func TestMessagesGoToTopicsInTurn(t *testing.T) {
	l := NewLayout(result.Topic{Name: "a", Partitions: 2}, result.Topic{Name: "b", Partitions: 1}, result.Topic{Name: "c", Partitions: 2})
	for _, tc := range []struct {
		name  string
		share plan.Share
		want  []int // messages by queue
	}{
		{"a whole load", plan.Share{}, []int{2, 2, 4, 2, 2}},
		{"one of two processes", plan.Share{Producers: 2, Slot: 0, Slots: 2}, []int{4, 0, 4, 0, 4}},
		{"the other one", plan.Share{Producers: 2, Producer: 1, Slot: 1, Slots: 2}, []int{0, 6, 0, 6, 0}},
		{"one that has the queues of one topic alone", plan.Share{Producers: 5, Slot: 2, Slots: 5}, []int{0, 0, 12, 0, 0}},
	} {
		p := plan.Plan{Topic: plan.Topic{Name: "a,b,c"}, Producers: 1, Share: tc.share}
		lanes := NewAccounts(&p, 0, l).Add(&engine.Shard{}, nil)
		got := make([]int, l.Count())
		for range 12 {
			got[lanes.Choose(lanes.Topic(), nil)]++
		}
		must.Match(t, tc.want, got, tc.name)
	}
}
