package kafka

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func TestALayoutGrowsWithItsTopics(t *testing.T) {
	l := NewLayout([]result.Topic{{Name: "t", Partitions: 2}, {Name: "u", Partitions: 1}})
	var mu sync.Mutex
	var seen []Place
	l.Follow(func(of []Place) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, of...)
	})
	for _, tc := range []struct {
		topic    string
		id, want int32
	}{
		{"t", 0, 0},
		{"t", 1, 1},
		{"u", 0, 2},
		{"t", 3, 4}, // and those before it
		{"t", 2, 3},
		{"u", 1, 5},
		{"t", 3, 4},
		{"v", 0, -1},
		{"t", -1, -1},
		{"t", plan.MaxPartitions, -1},
	} {
		must.Match(t, tc.want, l.Number(tc.topic, tc.id), "partition %d of %s has number", tc.id, tc.topic)
	}
	if l.Count() != 6 || len(seen) != 6 || seen[4] != (Place{"t", 3, 4}) {
		t.Errorf("%d partitions, %v seen; want 6", l.Count(), seen)
	}
	ends, _ := l.byNumber(kadm.ListedOffsets{"u": {2: {Topic: "u", Partition: 2, Offset: 7}}})
	if len(ends) != 7 || ends[6] != 7 || ends[0] != -1 {
		t.Errorf("offsets %v, want that of the seventh partition", ends)
	}
	l = NewLayout([]result.Topic{{Name: "t", Partitions: 2}})
	if n := l.Number("t", 7); n != 7 || l.Count() != 8 {
		t.Errorf("partition 7 of one topic has number %d of %d", n, l.Count())
	}
}
