package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Kafka does not report the lag of a replica: the OffsetLag of DescribeLogDirs is 0 on Kafka 4.3.1, even for a follower that is
// 14,000 records behind. But a broker answers a debug consumer's request for the latest offset with the end of its own log, as
// a follower too. The lag is the leader's end less the follower's. It counts offsets, so records that the leader has deleted
// meanwhile are in it.

const (
	lagInterval = 2 * time.Second // between two measurements, while replicas are out of sync

	// maxLagPartitions is the most partitions out of sync whose lag is measured.
	maxLagPartitions = 10_000

	lagSilence = 5 * time.Second // least time between two events of one broker

	// maxRefusals is after how many requests without any end a broker is not asked again: some systems do not know the debug
	// consumer.
	maxRefusals = 3

	// debugReplica is the replica id with which a broker returns the end of its own log, also as a follower.
	debugReplica = -2

	maxCaughtUp = 3 // brokers that the end of a catch-up names
)

type ends map[int32]map[int32]int64

type measurement struct {
	at   time.Duration
	ends ends
}

type catchUp struct {
	measured  chan measurement
	measuring bool // a measurement is under way
	brokers   map[int32]*laggard
}

type laggard struct {
	most int64         // records, since all replicas were in sync
	next time.Duration // time of its next event
}

type lag struct {
	records    int64
	partitions []int32
}

// measure asks for the ends of the logs in one measurement, if replicas are out of sync whose brokers answer. It has connections of
// its own: one that is not answered, or that ends, must not make the broker look gone.
func (w *Brokers) measure(ctx context.Context, now func() time.Duration, asking *sync.WaitGroup) {
	if w.catchUp.measuring {
		return
	}
	questions := w.view.questions(func(broker int32) bool {
		b := w.brokers[broker]
		return b != nil && b.answers() && b.refusals < maxRefusals
	})
	clients := make(map[int32]*kgo.Client)
	for broker := range questions {
		b := w.brokers[broker]
		if b.lag == nil {
			var err error
			if b.lag, err = w.client(b.addr); err != nil {
				return // as for its address before
			}
		}
		clients[broker] = b.lag
	}
	if len(questions) == 0 {
		return
	}
	w.catchUp.measuring = true
	asking.Go(func() {
		m := measurement{ends: make(ends)}
		var mu sync.Mutex // guards m.ends
		var brokers sync.WaitGroup
		for broker, question := range questions {
			brokers.Go(func() {
				found := w.askEnds(ctx, clients[broker], question)
				mu.Lock()
				defer mu.Unlock()
				m.ends[broker] = found
			})
		}
		brokers.Wait()
		m.at = now()
		select {
		case w.catchUp.measured <- m:
		case <-ctx.Done():
		}
	})
}

func (w *Brokers) askEnds(ctx context.Context, client *kgo.Client, question *kmsg.ListOffsetsRequest) map[int32]int64 {
	found := make(map[int32]int64)
	said, err := twice(ctx, client, question.RequestWith)
	if err != nil {
		return found
	}
	for _, t := range said.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Offset >= 0 {
				found[w.topics.Number(t.Topic, p.Partition)] = p.Offset
			}
		}
	}
	return found
}

// questions returns the requests, by broker, for the ends of replicas out of sync and of their leaders; none for too many.
func (v *view) questions(answering func(broker int32) bool) map[int32]*kmsg.ListOffsetsRequest {
	if v.missing == 0 {
		return nil
	}
	questions := make(map[int32]*kmsg.ListOffsetsRequest)
	ask := func(broker int32, name string, id int32) {
		q := questions[broker]
		if q == nil {
			q = kmsg.NewPtrListOffsetsRequest()
			q.ReplicaID = debugReplica
			questions[broker] = q
		}
		at := slices.IndexFunc(q.Topics, func(t kmsg.ListOffsetsRequestTopic) bool { return t.Topic == name })
		if at < 0 {
			topic := kmsg.NewListOffsetsRequestTopic()
			topic.Topic = name
			at, q.Topics = len(q.Topics), append(q.Topics, topic)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = id, -1 // the latest
		q.Topics[at].Partitions = append(q.Topics[at].Partitions, p)
	}
	behind := 0
	for _, p := range v.partitions {
		if p.leader < 0 || !answering(p.leader) {
			continue
		}
		asked := false
		for _, r := range p.replicas {
			if !slices.Contains(p.isr, r) && answering(r) {
				asked = true
				ask(r, p.topic, p.id)
			}
		}
		if asked {
			behind++
			ask(p.leader, p.topic, p.id)
		}
	}
	if behind > maxLagPartitions {
		return nil
	}
	return questions
}

func (v *view) behind(known ends) map[int32]*lag {
	lags := make(map[int32]*lag)
	for number, p := range v.partitions {
		for _, r := range p.replicas {
			if slices.Contains(p.isr, r) {
				continue
			}
			leads, ok := known[p.leader][number]
			follows, too := known[r][number]
			if !ok || !too || leads <= follows {
				continue
			}
			if lags[r] == nil {
				lags[r] = new(lag)
			}
			lags[r].records += leads - follows
			lags[r].partitions = append(lags[r].partitions, number)
		}
	}
	return lags
}

func (c *catchUp) tell(lags map[int32]*lag, at time.Duration) []stats.Event {
	var events []stats.Event
	for _, broker := range slices.Sorted(maps.Keys(lags)) {
		l, known := lags[broker], c.brokers[broker]
		if known == nil {
			known = new(laggard)
			c.brokers[broker] = known
		}
		known.most = max(known.most, l.records)
		if at < known.next {
			continue
		}
		known.next = at + lagSilence
		slices.Sort(l.partitions)
		events = append(events, stats.Event{
			At: at, Kind: stats.CatchingUp, Broker: broker, To: -1,
			Partitions: slices.Clone(l.partitions[:min(len(l.partitions), stats.MaxEventPartitions)]), Count: len(l.partitions),
			Text: fmt.Sprintf("broker %d is %s behind in %s", broker, theme.Plural(l.records, "record", "records"), theme.Plural(len(l.partitions), "partition", "partitions")),
		})
	}
	return events
}

// done returns the highest lag of each broker that is in sync again, as the end of a sentence, and forgets it.
func (c *catchUp) done() string {
	brokers := slices.SortedFunc(maps.Keys(c.brokers), func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.brokers[b].most, c.brokers[a].most), cmp.Compare(a, b))
	})
	var text strings.Builder
	for i, broker := range brokers {
		switch l := c.brokers[broker]; {
		case l.most == 0:
		case i == 0:
			fmt.Fprintf(&text, "; broker %d caught up at least %s", broker, theme.Plural(l.most, "record", "records"))
		case i < maxCaughtUp:
			fmt.Fprintf(&text, ", broker %d %s", broker, theme.Count(l.most))
		case i == maxCaughtUp:
			text.WriteString(", others less")
		}
		c.brokers[broker].most = 0
	}
	return text.String()
}
