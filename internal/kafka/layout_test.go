package kafka

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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
	must.True(t, l.Count() == 6 && len(seen) == 6 && seen[4] == (Place{"t", 3, 4}), "%d partitions, %v seen; want 6", l.Count(), seen)
	ends, _ := l.byNumber(kadm.ListedOffsets{"u": {2: {Topic: "u", Partition: 2, Offset: 7}}})
	must.True(t, len(ends) == 7 && ends[6] == 7 && ends[0] == -1, "offsets %v, want that of the seventh partition", ends)
	l = NewLayout([]result.Topic{{Name: "t", Partitions: 2}})
	n := l.Number("t", 7)
	must.True(t, n == 7 && l.Count() == 8, "partition 7 of one topic has number %d of %d", n, l.Count())
}

func TestOtherMembersOfAGroupAreNamedWithTheirPartitions(t *testing.T) {
	fake := startFake(t, kfake.SeedTopics(2, "t"))
	c := must.Have(Connect(t.Context(), Access{Bootstrap: fake.ListenAddrs()}))(t)
	defer c.Close()
	other := must.Have(c.Client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ClientID("their-app")))(t)
	defer other.Close()
	l := NewLayout([]result.Topic{{Name: "t", Partitions: 2}})
	g := &NewPositions(l, []string{"g"}, []int64{0, 0}, []int64{0, 0}).Groups[0]
	g.At(0).Owner.Store(1)
	text := ""
	for end := time.Now().Add(30 * time.Second); text == "" && time.Now().Before(end); {
		text = c.OtherMembers(t.Context(), l, g)
	}
	must.True(t, strings.HasPrefix(text, "group g has other members: client id their-app at 127.0.0.1") && strings.HasSuffix(text, " has t-1"),
		"it says %q", text)
	g.At(1).Owner.Store(1)
	must.Match(t, "", c.OtherMembers(t.Context(), l, g), "of partitions that are all read here it says")
}

func TestOfManyProcessesThatMakeTopicsOneHasMadeEachAndAllUseIt(t *testing.T) {
	broker := must.Have(StartEmbedded(false))(t)
	defer broker.Close()
	p := plan.Plan{Topic: plan.Topic{Name: "shared-{0..4}", Partitions: 4}}
	var all sync.WaitGroup
	var made atomic.Int32
	start := make(chan struct{})
	for range 8 {
		cluster := connect(t, broker.Addrs())
		all.Go(func() {
			<-start
			topics, err := cluster.EnsureTopics(context.Background(), p, false)
			must.True(t, err == nil, "%v", err)
			for _, topic := range topics {
				must.Match(t, 4, topic.Partitions, "partitions")
				if topic.Created {
					made.Add(1)
				}
			}
		})
	}
	close(start)
	all.Wait()
	must.Match(t, 5, made.Load(), "topics that a process says it made")
}

func TestAMissingRightIsToldFromOtherErrors(t *testing.T) {
	must.True(t, Denied(fmt.Errorf("look up topic x: %w", kerr.TopicAuthorizationFailed)) && !Denied(kerr.UnknownTopicOrPartition) && !Denied(nil),
		"not the errors of missing rights")
}

// A batch is encoded as Kafka has it: 61 bytes, and the record.
func TestTheSizeOfABatchOfOneRecord(t *testing.T) {
	for _, n := range []int{1, 60, 880, 930, 8180, 1 << 20} {
		record := kmsg.Record{Value: bytes.Repeat([]byte("x"), n)}
		record.Length = int32(len(record.AppendTo(nil)) - 1) // without the length, which is 0 here and takes a byte
		batch := kmsg.RecordBatch{Records: record.AppendTo(nil)}
		got, want := batchBytes(n), len(batch.AppendTo(nil))
		must.True(t, got == want, "%d bytes: %d, Kafka's batch has %d", n, got, want)
	}
}
