package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/theme"
)

// view is what is known of a cluster while kt looks at it.
type view struct {
	capture.Look
	client *kgo.Client
	admin  *kadm.Client
	say    func(string)
	began  time.Time
	topics []*topic
	byName map[string]*topic
	groups map[string]*group
	notes  []string

	mu   sync.Mutex     // guards gone, and the errors of partitions
	gone map[int32]bool // brokers that do not answer
}

type topic struct {
	capture.Topic
	id                [16]byte
	compacted, tiered bool
	partitions        []*partition // by their ids
	sampled
}

type partition struct {
	topic      *topic
	id         int32
	leader     int32             // when kt began to look
	start, end int64             // of the log; -1: not known
	at         time.Time         // of end
	grown      float64           // records/s while kt looked
	bounds     []point           // the first record at or after the begin of each stage; none: not asked
	counted    map[int64]offsets // in the sample, by their time in bins
	readFrom   int64             // its records from here to the end are in the sample; -1: none are
	err        error             // it cannot be asked any more
}

// own is the prefix of topics and groups that kt doctor makes for a moment.
const own = "kt-doctor-"

// answers is how long brokers may take for one question, with all tries.
const answers = 8 * time.Second

// At looks at a cluster.
func At(ctx context.Context, c *kafka.Cluster, l capture.Look, say func(string)) (*capture.Cluster, error) {
	client, err := c.Client(kgo.ClientID("kt-capture"), kgo.RequestRetries(3), kgo.RetryTimeout(answers), kgo.DialTimeout(answers/2), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	v := &view{
		Look: l, client: client, admin: kadm.NewClient(client), say: say, began: time.Now(),
		byName: make(map[string]*topic), groups: make(map[string]*group), gone: make(map[int32]bool),
	}
	if err := v.findTopics(ctx); err != nil {
		return nil, err
	}
	v.findEnds(ctx)
	v.findGroups(ctx)
	var all sync.WaitGroup
	watching, done := context.WithTimeout(ctx, max(l.Live, leastWatch))
	defer done()
	all.Go(func() { v.watch(watching) })
	if l.Live == 0 {
		all.Go(func() { v.lookUp(ctx) })
	}
	if l.Sample > 0 {
		all.Go(func() { newSampler(v).all(ctx) })
	}
	all.Wait()
	v.measureGrowth(ctx)
	v.countProducers(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := &capture.Cluster{System: "kafka", Version: c.Info.Version, Brokers: len(c.Info.Brokers), At: v.began, Last: cmp.Or(l.Live, l.Last), Stage: l.Stage}
	for _, t := range v.topics {
		if t.deleted() {
			say("topic " + theme.Name(t.Name) + " was deleted meanwhile")
			v.notes = append(v.notes, "a topic was deleted while kt looked")
			continue
		}
		v.settle(t)
		found.Topics = append(found.Topics, t.Topic)
	}
	found.Groups, found.Notes = v.settleGroups(), v.notes
	return found, nil
}

// findTopics finds the topics that are not Kafka's own, with their settings.
func (v *view) findTopics(ctx context.Context) error {
	all, err := v.admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, d := range all.Sorted() {
		if d.Err != nil || len(d.Partitions) == 0 || strings.HasPrefix(d.Topic, "__") || strings.HasPrefix(d.Topic, own) {
			continue
		}
		t := &topic{Topic: capture.Topic{Name: d.Topic, Partitions: len(d.Partitions), Replicas: d.Partitions.NumReplicas()}, id: d.ID}
		for _, p := range d.Partitions.Sorted() {
			made := &partition{topic: t, id: p.Partition, leader: p.Leader, start: -1, end: -1, readFrom: -1}
			if p.Leader < 0 {
				made.err = kerr.LeaderNotAvailable
			}
			t.partitions = append(t.partitions, made)
		}
		v.topics, v.byName[t.Name] = append(v.topics, t), t
	}
	if len(v.topics) == 0 {
		v.say("kt sees no topic: there is none, or this client has no right to see them")
	}
	const many = 200 // topics in a question
	for names := range slices.Chunk(slices.Sorted(maps.Keys(v.byName)), many) {
		described, _ := v.admin.DescribeTopicConfigs(ctx, names...) // a client may not read them
		for _, d := range described {
			if t := v.byName[d.Name]; t != nil && d.Err == nil {
				t.describe(d.Configs)
			}
		}
	}
	v.say(fmt.Sprintf("looking at %s with %s", theme.Plural(len(v.topics), "topic", "topics"), theme.Plural(len(v.alive()), "partition", "partitions")))
	return nil
}

// describe keeps the settings that are not Kafka's defaults, whoever set them. Those of a replica's throttle name brokers.
func (t *topic) describe(all []kadm.Config) {
	t.Configs = make(map[string]string)
	for _, c := range all {
		if c.Value == nil || c.Sensitive {
			continue
		}
		t.compacted = t.compacted || c.Key == "cleanup.policy" && strings.Contains(*c.Value, "compact")
		t.tiered = t.tiered || c.Key == "remote.storage.enable" && *c.Value == "true"
		if c.Source != kmsg.ConfigSourceDefaultConfig && !strings.HasSuffix(c.Key, ".throttled.replicas") {
			t.Configs[c.Key] = *c.Value
		}
	}
}

func (t *topic) note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

// deleted reports whether the brokers do not know the topic any more.
func (t *topic) deleted() bool {
	return !slices.ContainsFunc(t.partitions, func(p *partition) bool { return !kafka.IsAny(p.err, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID) })
}

// inWords returns Kafka's name of an error, if a broker gave one.
func inWords(err error) string {
	if known := new(kerr.Error); errors.As(err, &known) {
		return known.Message
	}
	return "no broker answered"
}

// partition returns one of a topic; nil: kt does not look at it.
func (v *view) partition(topic string, id int32) *partition {
	if t := v.byName[topic]; t != nil && id >= 0 && int(id) < len(t.partitions) {
		return t.partitions[id]
	}
	return nil
}

// alive returns the partitions that can be asked.
func (v *view) alive() (all []*partition) {
	for _, t := range v.topics {
		for _, p := range t.partitions {
			if !v.failed(p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// fail keeps the error of a partition. A broker that is away is not asked for others: each question would wait for it.
func (v *view) fail(p *partition, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p.err = err
	if known := new(kerr.Error); !errors.As(err, &known) {
		v.gone[p.leader] = true
	}
}

func (v *view) failed(p *partition) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return p.err != nil || v.gone[p.leader]
}
