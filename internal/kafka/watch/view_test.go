package watch

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

func TestViewTellsWhatChanged(t *testing.T) {
	all := []int32{1, 2, 3}
	at := func(seconds int) time.Duration { return time.Duration(seconds) * time.Second }
	before := said(1, at(1), part(0, 1, 5, all), part(1, 2, 5, all), part(2, 1, 5, all))
	event := func(kind stats.EventKind, broker, to int32, text string, partitions ...int32) stats.Event {
		return stats.Event{At: at(2), Kind: kind, Broker: broker, To: to, Partitions: partitions, Count: len(partitions), Text: text}
	}
	inSync := stats.Event{At: at(2) + 1, Kind: stats.InSync, Broker: -1, To: -1, Text: "all replicas are in sync again"}
	for _, r := range []struct {
		name    string
		silent  int32 // the broker that does not answer
		answers [][]answer
		want    []stats.Event
	}{
		{name: "nothing, when nothing has", answers: [][]answer{{before}}},
		{
			name:    "leaders that moved from one broker to another, at once",
			answers: [][]answer{{said(3, at(2), part(2, 3, 6, all), part(0, 3, 6, all), part(1, 2, 5, all))}},
			want:    []stats.Event{event(stats.LeaderMoved, 1, 3, "leader of 2 partitions moved from broker 1 to 3", 0, 2)},
		},
		{
			name:    "leaders that moved to different brokers, one by one",
			answers: [][]answer{{said(3, at(2), part(0, 3, 6, all), part(2, 2, 6, all))}},
			want: []stats.Event{
				event(stats.LeaderMoved, 1, 2, "leader of 1 partition moved from broker 1 to 2", 2),
				event(stats.LeaderMoved, 1, 3, "leader of 1 partition moved from broker 1 to 3", 0),
			},
		},
		{
			name: "a leader that is lost and returns",
			answers: [][]answer{
				{said(2, at(2), part(0, -1, 6, all))},
				{said(2, at(2), part(0, 1, 7, all))},
			},
			want: []stats.Event{
				event(stats.LeaderLost, 1, -1, "no leader for 1 partition that broker 1 led", 0),
				event(stats.LeaderMoved, -1, 1, "broker 1 leads 1 partition that had no leader", 0),
			},
		},
		{
			name: "a replica out of sync, and back, in the words of the leaders",
			answers: [][]answer{
				{said(1, at(2), part(0, 1, 5, []int32{1, 2})), said(2, at(2), part(1, 2, 5, []int32{2, 1}))},
				{said(1, at(2), part(0, 1, 5, []int32{1, 2, 3}))},
				{said(2, at(2), part(1, 2, 5, []int32{2, 1, 3}))},
			},
			want: []stats.Event{
				event(stats.ISRShrank, 3, -1, "broker 3 out of sync in 2 partitions", 0, 1),
				event(stats.ISRGrew, 3, -1, "broker 3 in sync again in 1 partition", 0),
				event(stats.ISRGrew, 3, -1, "broker 3 in sync again in 1 partition", 1),
				inSync,
			},
		},
		{
			name:    "two replicas out of sync, each for itself",
			answers: [][]answer{{said(1, at(2), part(0, 1, 5, []int32{1}))}},
			want: []stats.Event{
				event(stats.ISRShrank, 2, -1, "broker 2 out of sync in 1 partition", 0),
				event(stats.ISRShrank, 3, -1, "broker 3 out of sync in 1 partition", 0),
			},
		},
		{
			name:    "nothing of a broker that has not heard of the new leader",
			answers: [][]answer{{said(2, at(2), part(0, 3, 4, []int32{3}))}},
		},
		{
			name:    "nothing of a follower that says another thing than the leader",
			answers: [][]answer{{said(3, at(2), part(0, 1, 5, []int32{1, 3}))}, {said(3, at(2), part(0, -1, 5, all))}},
		},
		{
			name:    "what a follower says, while the leader does not answer",
			silent:  1,
			answers: [][]answer{{said(3, at(2), part(0, 1, 5, []int32{1, 3}))}},
			want:    []stats.Event{event(stats.ISRShrank, 2, -1, "broker 2 out of sync in 1 partition", 0)},
		},
		{
			name: "the new leader's word rather than another's",
			answers: [][]answer{{
				said(2, at(2), part(0, 3, 6, []int32{3})),
				said(3, at(2), part(0, 3, 6, all)),
			}},
			want: []stats.Event{event(stats.LeaderMoved, 1, 3, "leader of 1 partition moved from broker 1 to 3", 0)},
		},
		{
			name:    "nothing of replicas that were moved elsewhere",
			answers: [][]answer{{said(1, at(2), kmsg.MetadataResponseTopicPartition{Partition: 0, Leader: 1, LeaderEpoch: 5, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})}},
		},
		{
			name:    "nothing of an answer that is an error",
			answers: [][]answer{{said(1, at(2), kmsg.MetadataResponseTopicPartition{Partition: 0, Leader: -1, LeaderEpoch: 9})}},
		},
		{name: "nothing of partitions that are new", answers: [][]answer{{said(1, at(2), part(7, 1, 0, all))}}},
	} {
		t.Run(r.name, func(t *testing.T) {
			v := view{partitions: make(map[int32]*partitionView)}
			answering := func(broker int32) bool { return broker != r.silent }
			if got := v.update([]answer{before}, ofT, answering); got != nil {
				t.Fatalf("the first answer is told as %v", got)
			}
			var got []stats.Event
			for _, answers := range r.answers {
				got = append(got, v.update(answers, ofT, answering)...)
			}
			must.Match(t, r.want, got, "events")
		})
	}
}

func TestAnEventListsTheFirstPartitionsAndCountsAll(t *testing.T) {
	v := view{partitions: make(map[int32]*partitionView)}
	var before, after []kmsg.MetadataResponseTopicPartition
	for p := int32(99); p >= 0; p-- {
		before = append(before, part(p, 1, 0, []int32{1, 2}))
		after = append(after, part(p, 2, 1, []int32{1, 2}))
	}
	base := kafka.NewLayout([]result.Topic{{Name: "s", Partitions: 1000}, {Name: "t", Partitions: 100}})
	v.update([]answer{said(1, 0, before...)}, base, func(int32) bool { return true })
	got := v.update([]answer{said(1, 0, after...)}, base, func(int32) bool { return true })
	if len(got) != 1 || got[0].Count != 100 || len(got[0].Partitions) != stats.MaxEventPartitions || got[0].Partitions[0] != 1000 {
		t.Errorf("events %v, want one of 100 partitions that lists those from 1000 on", got)
	}
}

func TestPartitionsThatATopicGetsHaveNumbersOfTheirOwn(t *testing.T) {
	topics := kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}, {Name: "u", Partitions: 1}})
	v := view{partitions: make(map[int32]*partitionView)}
	everyone := func(int32) bool { return true }
	v.update([]answer{said(1, 0, part(0, 1, 0, []int32{1}), part(1, 1, 0, []int32{1}))}, topics, everyone)
	got := v.update([]answer{said(2, 0, part(1, 2, 1, []int32{1}))}, topics, everyone)
	if len(got) == 0 || got[0].Partitions[0] != 2 { // 1 is that of the topic u
		t.Errorf("events %v, want one of partition 2", got)
	}
	must.Match(t, 1, topics.Number("u", 0), "partition 0 of u has number")
}

// ofT is the layout of the topic t.
var ofT = kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 10_000}})

// said is what a broker says of partitions of the topic t.
func said(broker int32, at time.Duration, parts ...kmsg.MetadataResponseTopicPartition) answer {
	return answer{broker: broker, at: at, metadata: &kmsg.MetadataResponse{
		Topics: []kmsg.MetadataResponseTopic{{Topic: kmsg.StringPtr("t"), Partitions: parts}},
	}}
}

// part is a partition with replicas on brokers 1 to 3.
func part(number, leader, epoch int32, isr []int32) kmsg.MetadataResponseTopicPartition {
	return kmsg.MetadataResponseTopicPartition{Partition: number, Leader: leader, LeaderEpoch: epoch, Replicas: []int32{1, 2, 3}, ISR: isr}
}
