package watch

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
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
	must.True(t, len(got) == 1 && got[0].Count == 100 && len(got[0].Partitions) == stats.MaxEventPartitions && got[0].Partitions[0] == 1000,
		"events %v, want one of 100 partitions that lists those from 1000 on", got)
}

func TestPartitionsThatATopicGetsHaveNumbersOfTheirOwn(t *testing.T) {
	topics := kafka.NewLayout([]result.Topic{{Name: "t", Partitions: 1}, {Name: "u", Partitions: 1}})
	v := view{partitions: make(map[int32]*partitionView)}
	everyone := func(int32) bool { return true }
	v.update([]answer{said(1, 0, part(0, 1, 0, []int32{1}), part(1, 1, 0, []int32{1}))}, topics, everyone)
	got := v.update([]answer{said(2, 0, part(1, 2, 1, []int32{1}))}, topics, everyone)
	must.True(t, len(got) != 0 && got[0].Partitions[0] == 2, "events %v, want one of partition 2", got) // 1 is that of the topic u
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

// The lag is measured at 2 s, 4 s and so on. At 6 s less than 5 s have passed since
// broker 2 was told of.
func TestABrokerThatCatchesUpIsToldOfUntilAllReplicasAreInSync(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.start()
		c.until(1200 * time.Millisecond)
		c.leave(2, 0, 1, 3)
		c.until(1900 * time.Millisecond)
		c.wants(stats.Event{
			At: 1500 * time.Millisecond, Kind: stats.ISRShrank, Broker: 2, To: -1,
			Partitions: []int32{0, 1, 3}, Count: 3,
		})
		c.lag(2, 10_000, 21_204, 0, 0)
		c.until(3 * time.Second)
		c.lag(2, 12_000, 22_000, 7, 0) // in partition 2 it is in sync
		c.until(5 * time.Second)
		c.lag(2, 0, 1, 0, 0)
		c.until(9 * time.Second)
		c.wants(
			c.behind(2*time.Second, 2, "broker 2 is 31,204 records behind in 2 partitions", 0, 1),
			c.behind(8*time.Second, 2, "broker 2 is 1 record behind in 1 partition", 1),
		)
		c.lag(2, 0, 0, 0, 0)
		c.until(19800 * time.Millisecond)
		c.wants()
		c.enter(2)
		c.until(21 * time.Second)
		c.wants(
			stats.Event{
				At: 20 * time.Second, Kind: stats.ISRGrew, Broker: 2, To: -1,
				Partitions: []int32{0, 1, 3}, Count: 3,
			},
			stats.Event{
				At: 20*time.Second + 1, Kind: stats.InSync, Broker: -1, To: -1,
				Text: "all replicas are in sync again; broker 2 caught up at least 34,000 records",
			},
		)
	})
}

func TestABrokerThatReturnsIsAskedAtOnceAndNotWhileItIsGone(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.start()
		c.until(1200 * time.Millisecond)
		c.lag(1, 500, 500, 500, 500)
		c.leave(1, 0, 2)
		c.network.kill(c.address(1))
		c.until(8700 * time.Millisecond)
		c.take()
		must.Match(t, 0, c.measured.Load(), "questions while the broker that is behind was gone")
		c.network.revive(c.address(1))
		c.until(9500 * time.Millisecond)
		c.wants(
			stats.Event{At: 9 * time.Second, Kind: stats.BrokerBack, Broker: 1, To: -1},
			c.behind(9*time.Second, 1, "broker 1 is 1,000 records behind in 2 partitions", 0, 2),
		)
	})
}

// The client of these questions has a connection from before, which broke.
func TestABrokerThatReturnsIsAskedAtOnceAgain(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.start()
		c.until(1200 * time.Millisecond)
		c.leave(1, 0)
		c.lag(1, 7, 0, 0, 0)
		c.until(4200 * time.Millisecond)
		c.network.kill(c.address(1))
		c.until(7200 * time.Millisecond)
		c.take()
		c.lag(1, 500, 0, 0, 0)
		c.network.revive(c.address(1))
		c.until(7600 * time.Millisecond)
		c.wants(
			stats.Event{At: 7500 * time.Millisecond, Kind: stats.BrokerBack, Broker: 1, To: -1},
			c.behind(7500*time.Millisecond, 1, "broker 1 is 500 records behind in 1 partition", 0),
		)
	})
}

func TestNobodyIsAskedForTheLagWhileAllReplicasAreInSync(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.lag(2, 9, 9, 9, 9)
		c.start()
		c.until(time.Minute)
		c.wants()
		must.Match(t, 0, c.measured.Load(), "questions")
	})
}

func TestABrokerThatDoesNotKnowTheQuestionIsAskedNoMore(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.refuse.Store(true)
		c.lag(2, 9, 9, 9, 9)
		c.start()
		c.until(1200 * time.Millisecond)
		c.leave(2, 0, 1, 2, 3)
		c.until(1900 * time.Millisecond)
		c.take()
		c.until(time.Minute)
		c.wants()
		// The leader answered as long as there was a follower to ask.
		must.Match(t, 2*maxRefusals, c.measured.Load(), "questions")
	})
}

// One that was just given a replica does not have it yet.
func TestABrokerMayLeaveTheQuestionOpenForAWhile(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.refuse.Store(true)
		c.lag(2, 9, 9, 9, 9)
		c.start()
		c.until(1200 * time.Millisecond)
		c.leave(2, 0)
		c.until(5 * time.Second)
		c.take()
		c.refuse.Store(false)
		c.until(7 * time.Second)
		c.wants(c.behind(6*time.Second, 2, "broker 2 is 9 records behind in 1 partition", 0))
	})
}

// A connection that ends on the question would end another question too, if there
// were one on it.
func TestAQuestionThatEndsTheConnectionMakesNoBrokerGone(t *testing.T) {
	catchUpTest(t, func(c *laggingCluster) {
		c.hangUp.Store(true)
		c.start()
		c.until(1200 * time.Millisecond)
		c.leave(2, 0)
		c.until(1900 * time.Millisecond)
		c.take()
		c.until(time.Minute)
		c.wants()
	})
}

func TestAboveABoundTheLagIsNotMeasured(t *testing.T) {
	const base = 9_000 // of the topic u
	for _, n := range []int{maxLagPartitions, maxLagPartitions + 1} {
		v := view{partitions: make(map[int32]*partitionView), missing: n}
		for number := range int32(n) {
			p := &partitionView{topic: "t", id: number, leader: 1, replicas: []int32{1, 2, 3}, isr: []int32{1}}
			if number >= base {
				p.topic, p.id = "u", number-base
			}
			v.partitions[number] = p
		}
		got := v.questions(func(broker int32) bool { return broker != 3 })
		if n > maxLagPartitions {
			must.True(t, got == nil, "of %d partitions: questions to %d brokers, want none", n, len(got))
			continue
		}
		for broker := int32(1); broker <= 2; broker++ {
			asked := 0
			for _, topic := range got[broker].Topics {
				asked += len(topic.Partitions)
				for _, p := range topic.Partitions {
					must.Hold(t, topic.Topic != "u" || p.Partition < int32(n)-base, "broker %d is asked of partition %d of u", broker, p.Partition)
				}
			}
			must.Match(t, []int{2, n}, []int{len(got), asked}, "%d brokers are asked, broker %d of %d partitions", len(got), broker, asked)
		}
	}
}

func TestABrokerThatCatchesUpIsToldOfNowAndThen(t *testing.T) {
	c := catchUp{brokers: make(map[int32]*laggard)}
	var got []stats.Event
	for at := time.Duration(0); at < time.Minute; at += lagInterval {
		got = append(got, c.tell(map[int32]*lag{1: {records: 10, partitions: []int32{4}}}, at)...)
	}
	must.True(t, len(got) == 10 && got[1].At >= lagSilence,
		"%d events, the second at %v; want 10, with %v between two", len(got), got[1].At, lagSilence)
}

func TestWhatWasCaughtUpNamesTheBrokersThatWereFurthestBehind(t *testing.T) {
	for want, most := range map[string][]int64{
		"":                                       {0, 0, 0, 0, 0},
		"; broker 1 caught up at least 1 record": {0, 1, 0, 0, 0},
		"; broker 4 caught up at least 2,000 records, broker 0 1,999":                                  {1999, 0, 0, 0, 2000},
		"; broker 1 caught up at least 1,234,567 records, broker 2 1,000, broker 3 1,000, others less": {7, 1_234_567, 1000, 1000, 8},
	} {
		c := catchUp{brokers: make(map[int32]*laggard)}
		for broker, n := range most {
			c.brokers[int32(broker)] = &laggard{most: n}
		}
		must.Match(t, want, c.done(), "%v", most)
		must.Match(t, "", c.done(), "%v: the next catch-up begins with", most)
	}
}

// laggingCluster is a cluster that says what a test wants of its replicas: broker 0
// leads all partitions.
type laggingCluster struct {
	*watchedCluster
	replicas atomic.Pointer[replicas]
	measured atomic.Int64 // questions for the ends of logs
	refuse   atomic.Bool  // followers do not know the debug consumer
	hangUp   atomic.Bool  // it makes brokers end the connection
}

// replicas are those out of sync, and how far the brokers are behind.
type replicas struct {
	out  [4][]int32         // by partition
	lags map[int32][4]int64 // by broker, by partition
}

const (
	listOffsetsKey = 2
	leaderEnd      = 100_000
)

func catchUpTest(t *testing.T, test func(c *laggingCluster)) {
	watch(t, func(watched *watchedCluster) {
		c := &laggingCluster{watchedCluster: watched}
		c.replicas.Store(new(replicas))
		c.ControlKey(metadataKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			return c.metadata(req), nil, true
		})
		c.ControlKey(listOffsetsKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			c.measured.Add(1)
			if c.hangUp.Load() {
				return nil, fmt.Errorf("replica %d is unknown", debugReplica), true
			}
			return c.listOffsets(req.(*kmsg.ListOffsetsRequest)), nil, true
		})
		test(c)
	})
}

func (c *laggingCluster) metadata(req kmsg.Request) kmsg.Response {
	answer := req.ResponseKind().(*kmsg.MetadataResponse)
	for i, addr := range c.ListenAddrs() {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			c.t.Error(err)
		}
		answer.Brokers = append(answer.Brokers, kmsg.MetadataResponseBroker{NodeID: int32(i), Host: host, Port: 9092 + int32(i)})
	}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr("t")
	for number, out := range c.replicas.Load().out {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch, p.Replicas = int32(number), 0, 1, []int32{0, 1, 2}
		for _, r := range p.Replicas {
			if !slices.Contains(out, r) {
				p.ISR = append(p.ISR, r)
			}
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	answer.Topics = append(answer.Topics, topic)
	return answer
}

func (c *laggingCluster) listOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	broker := c.CurrentNode()
	answer := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, asked := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = asked.Topic
		for _, p := range asked.Partitions {
			said := kmsg.NewListOffsetsResponseTopicPartition()
			said.Partition = p.Partition
			switch {
			case req.ReplicaID != debugReplica || p.Timestamp != -1 || broker != 0 && c.refuse.Load():
				said.ErrorCode = kerr.NotLeaderForPartition.Code
			default:
				said.Offset = leaderEnd - c.replicas.Load().lags[broker][p.Partition]
			}
			topic.Partitions = append(topic.Partitions, said)
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer
}

// leave makes replicas of a broker fall out of sync; enter brings them back.
func (c *laggingCluster) leave(broker int32, partitions ...int32) {
	r := *c.replicas.Load()
	for number := range r.out {
		r.out[number] = nil
		if slices.Contains(partitions, int32(number)) {
			r.out[number] = []int32{broker}
		}
	}
	c.replicas.Store(&r)
}

func (c *laggingCluster) enter(broker int32) { c.leave(broker) }

func (c *laggingCluster) lag(broker int32, records ...int64) {
	r := *c.replicas.Load()
	r.lags = map[int32][4]int64{broker: [4]int64(records)}
	c.replicas.Store(&r)
}

func (c *laggingCluster) behind(at time.Duration, broker int32, text string, partitions ...int32) stats.Event {
	return stats.Event{At: at, Kind: stats.CatchingUp, Broker: broker, To: -1, Partitions: partitions, Count: len(partitions), Text: text}
}
