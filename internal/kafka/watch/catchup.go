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

// How far a replica is behind, nobody tells: the OffsetLag of DescribeLogDirs is 0
// on Kafka 4.3.1, even of a follower that is 14,000 records behind. But each broker
// tells the end of its own log, of followers too, when a debug consumer asks it for
// the latest offset. The leader's end less the follower's is the lag, by offsets:
// what a follower has not got because the leader has deleted it counts as well.

const (
	lagInterval = 2 * time.Second // between two measurements, while replicas are out of sync

	// maxLagPartitions is how many partitions may be out of sync for the lag to be
	// measured: a broker must look up the end of each.
	maxLagPartitions = 10_000

	lagSilence = 5 * time.Second // least time between two events of one broker

	// maxLagEvents is what the lag may take of maxWatchEvents, for a catch-up can
	// go on for hours.
	maxLagEvents = 200

	// maxRefusals is how often in a row a broker may leave the question without any
	// end before it is not asked again, for systems that do not know the debug
	// consumer. It is not 1, because connections break, and a broker that was just
	// given a replica does not have it yet.
	maxRefusals = 3

	// debugReplica as the replica's id asks a broker for the end of its own log,
	// whether it leads the partition or follows.
	debugReplica = -2

	maxCaughtUp = 3 // brokers that the end of a catch-up names
)

// ends is how far each broker has come: by broker, by partition.
type ends map[int32]map[int32]int64

// measurement is what the brokers said of the ends of their logs.
type measurement struct {
	at      time.Duration
	answers []endsAnswer
}

type endsAnswer struct {
	broker int32
	said   *kmsg.ListOffsetsResponse
	err    error
}

// catchUp follows how far brokers are behind while replicas are out of sync.
type catchUp struct {
	measured  chan measurement
	measuring bool // a measurement is under way
	brokers   map[int32]*laggard
	told      int // events
}

// laggard is a broker that is or was behind.
type laggard struct {
	most int64         // records, since all replicas were in sync
	told time.Duration // when an event last told of it
	ever bool          // one did
}

// lag is how far a broker is behind.
type lag struct {
	records    int64
	partitions []int32
}

// measure asks for the ends of the logs, if replicas are out of sync whose brokers
// answer. The answers come as one measurement.
//
// The questions go over connections of their own: one that is not answered, or that
// ends the connection, must not make the broker look gone.
func (w *Brokers) measure(ctx context.Context, now func() time.Duration, asking *sync.WaitGroup) {
	if w.catchUp.measuring {
		return
	}
	questions := w.view.questions(w.base, func(broker int32) bool {
		b := w.brokers[broker]
		return b != nil && b.answers() && b.refusals < maxRefusals
	})
	clients := make(map[int32]*kgo.Client)
	for broker := range questions {
		client, err := w.brokers[broker].lagClient(w.client)
		if err != nil {
			return // no client could be made for its address before, either
		}
		clients[broker] = client
	}
	if len(questions) == 0 {
		return
	}
	w.catchUp.measuring = true
	asking.Go(func() {
		m := measurement{answers: make([]endsAnswer, 0, len(questions))}
		var mu sync.Mutex // guards m.answers
		var brokers sync.WaitGroup
		for broker, question := range questions {
			brokers.Go(func() {
				a := endsAnswer{broker: broker}
				a.said, a.err = askEnds(ctx, clients[broker], question)
				mu.Lock()
				defer mu.Unlock()
				m.answers = append(m.answers, a)
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

// lagClient is the client for these questions, made when it is first needed.
func (b *watched) lagClient(client func(addr string) (*kgo.Client, error)) (*kgo.Client, error) {
	var err error
	if b.lag == nil {
		b.lag, err = client(b.addr)
	}
	return b.lag, err
}

func askEnds(ctx context.Context, client *kgo.Client, question *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	for again := false; ; again = true {
		answer, err := question.RequestWith(ctx, client.SeedBrokers()[0])
		if err == nil || again || ctx.Err() != nil {
			return answer, err
		}
		// The connection may be one that broke when the broker went.
	}
}

// questions asks the brokers, of the partitions that are not in sync, for the ends
// of the replicas that have fallen behind and of their leaders. There are none when
// there are too many such partitions.
func (v *view) questions(base map[string]int32, answering func(broker int32) bool) map[int32]*kmsg.ListOffsetsRequest {
	if v.missing == 0 {
		return nil
	}
	parts := make(map[int32]map[string][]int32) // by broker, by topic
	ask := func(broker int32, topic string, number int32) {
		if parts[broker] == nil {
			parts[broker] = make(map[string][]int32)
		}
		parts[broker][topic] = append(parts[broker][topic], number-base[topic])
	}
	behind := 0
	for number, p := range v.partitions {
		if p.leader < 0 || !answering(p.leader) {
			continue
		}
		asked := false
		for _, r := range p.replicas {
			if !slices.Contains(p.isr, r) && answering(r) {
				asked = true
				ask(r, p.topic, number)
			}
		}
		if asked {
			behind++
			ask(p.leader, p.topic, number)
		}
	}
	if behind > maxLagPartitions {
		return nil
	}
	questions := make(map[int32]*kmsg.ListOffsetsRequest)
	for broker, topics := range parts {
		questions[broker] = endsQuestion(topics)
	}
	return questions
}

// endsQuestion asks for the ends of one broker's replicas.
func endsQuestion(topics map[string][]int32) *kmsg.ListOffsetsRequest {
	question := kmsg.NewPtrListOffsetsRequest()
	question.ReplicaID = debugReplica
	for name, numbers := range topics {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for _, number := range numbers {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = number, -1 // the latest
			topic.Partitions = append(topic.Partitions, p)
		}
		question.Topics = append(question.Topics, topic)
	}
	return question
}

// ends are those that an answer has.
func (a *endsAnswer) ends(base map[string]int32) map[int32]int64 {
	found := make(map[int32]int64)
	if a.err != nil {
		return found
	}
	for i := range a.said.Topics {
		t := &a.said.Topics[i]
		for j := range t.Partitions {
			if p := &t.Partitions[j]; p.ErrorCode == 0 && p.Offset >= 0 {
				found[base[t.Topic]+p.Partition] = p.Offset
			}
		}
	}
	return found
}

// learn tells what a measurement has shown.
func (w *Brokers) learn(m measurement) {
	w.catchUp.measuring = false
	known := make(ends)
	for i := range m.answers {
		a := &m.answers[i]
		known[a.broker] = a.ends(w.base)
		b := w.brokers[a.broker]
		if b.refusals++; len(known[a.broker]) > 0 {
			b.refusals = 0
		}
	}
	w.emit(w.catchUp.tell(w.view.behind(known), m.at)...)
}

// behind is how far the brokers are behind in those partitions in which they are
// out of sync.
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

// tell takes note of how far brokers are behind, and returns the events that it is.
func (c *catchUp) tell(lags map[int32]*lag, at time.Duration) []stats.Event {
	var events []stats.Event
	for _, broker := range slices.Sorted(maps.Keys(lags)) {
		l, known := lags[broker], c.brokers[broker]
		if known == nil {
			known = new(laggard)
			c.brokers[broker] = known
		}
		known.most = max(known.most, l.records)
		if known.ever && at-known.told < lagSilence || c.told == maxLagEvents {
			continue
		}
		known.told, known.ever = at, true
		c.told++
		slices.Sort(l.partitions)
		e := stats.Event{
			At: at, Kind: stats.CatchingUp, Broker: broker, To: -1,
			Partitions: slices.Clone(l.partitions[:min(len(l.partitions), stats.MaxEventPartitions)]), Count: len(l.partitions),
			Text: fmt.Sprintf("broker %d is %s behind in %s", broker, theme.Plural(l.records, "record", "records"), theme.Plural(len(l.partitions), "partition", "partitions")),
		}
		if c.told == maxLagEvents {
			e.Text += "; how far brokers are behind after this is left out"
		}
		events = append(events, e)
	}
	return events
}

// done is how far the brokers were behind that are in sync again: the most that was
// seen of each. It forgets that.
func (c *catchUp) done() string {
	var brokers []int32
	for broker, l := range c.brokers {
		if l.most > 0 {
			brokers = append(brokers, broker)
		}
	}
	slices.SortFunc(brokers, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.brokers[b].most, c.brokers[a].most), cmp.Compare(a, b))
	})
	var text strings.Builder
	for i, broker := range brokers {
		switch l := c.brokers[broker]; {
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
