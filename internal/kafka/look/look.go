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
	topics []*topic
	byName map[string]*topic
	notes  []string

	mu   sync.Mutex // guards the failures of partitions and brokers
	gone map[int32]bool
}

type topic struct {
	capture.Topic
	id                [16]byte
	compacted, tiered bool
	partitions        []*partition
	sampled
}

type partition struct {
	topic      *topic
	id, leader int32
	start, end int64     // of the log; -1: not known
	at         time.Time // of end
	last       int64     // the end when kt had looked
	grown      float64   // records/s meanwhile
	bounds     []point   // the first record at or after each bound; nil: not asked
	readFrom   int64     // its records from here to end are in the sample
	err        error     // it cannot be asked any more
}

// point is a record of a log. Without one, ms is 0, and the offset the end.
type point struct{ offset, ms int64 }

// own is the prefix of topics that kt doctor makes for a moment.
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
	v := &view{Look: l, client: client, admin: kadm.NewClient(client), say: say, byName: make(map[string]*topic), gone: make(map[int32]bool)}
	if err := v.findTopics(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	v.findBounds(ctx)
	groups := v.findGroups(ctx)
	var all sync.WaitGroup
	watched, rest := context.WithTimeout(ctx, max(l.Live, leastWatch))
	defer rest()
	all.Go(func() { v.watch(watched, groups) })
	if l.Live == 0 {
		all.Go(func() { v.lookUp(ctx, began) })
	}
	sample := v.newSampler()
	if l.Sample > 0 {
		all.Go(func() { sample.all(ctx) })
	}
	all.Wait()
	v.measureGrowth(ctx)
	sample.again(ctx)
	v.producers(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := &capture.Cluster{System: "kafka", Version: c.Info.Version, Brokers: len(c.Info.Brokers), At: began, Last: cmp.Or(l.Live, l.Last), Stage: l.Stage, Groups: groups.settle(v)}
	deleted := 0
	for _, t := range v.topics {
		if t.deleted() {
			say("topic " + theme.Name(t.Name) + " was deleted meanwhile")
			deleted++
			continue
		}
		v.settle(t, began)
		found.Topics = append(found.Topics, t.Topic)
	}
	if deleted > 0 {
		v.notes = append(v.notes, theme.Plural(deleted, "topic was", "topics were")+" deleted while kt looked")
	}
	found.Notes = v.notes
	return found, nil
}

// findTopics finds the topics that are not Kafka's own, with their settings.
func (v *view) findTopics(ctx context.Context) error {
	all, err := v.admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, d := range all.Sorted() {
		if d.Err != nil || strings.HasPrefix(d.Topic, "__") || strings.HasPrefix(d.Topic, own) {
			continue
		}
		t := &topic{Topic: capture.Topic{Name: d.Topic, Partitions: len(d.Partitions), Replicas: d.Partitions.NumReplicas()}, id: d.ID}
		for _, p := range d.Partitions.Sorted() {
			made := &partition{topic: t, id: p.Partition, leader: p.Leader, start: -1, end: -1}
			if p.Leader < 0 {
				made.err = kerr.LeaderNotAvailable
			}
			t.partitions = append(t.partitions, made)
		}
		v.topics, v.byName[t.Name] = append(v.topics, t), t
	}
	const many = 200 // topics in a question
	for names := range slices.Chunk(slices.Sorted(maps.Keys(v.byName)), many) {
		described, _ := v.admin.DescribeTopicConfigs(ctx, names...) // a client may not read them
		for _, d := range described {
			if t := v.byName[d.Name]; t != nil && d.Err == nil {
				t.describe(d.Configs)
			}
		}
		for _, name := range names {
			if t := v.byName[name]; t.Configs == nil {
				t.note("its settings may not be read")
			}
		}
	}
	v.say(fmt.Sprintf("looking at %s with %s", theme.Plural(len(v.topics), "topic", "topics"), theme.Plural(len(v.partitions()), "partition", "partitions")))
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
	return len(t.partitions) > 0 && !slices.ContainsFunc(t.partitions, func(p *partition) bool {
		return !kafka.IsAny(p.err, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID)
	})
}

// cause returns the name of an error of a broker, or what kept kt from asking.
func cause(err error) string { return kafka.ErrorCode(err) }

func (v *view) alive(p *partition) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return p.err == nil && !v.gone[p.leader]
}

// partitions returns those that can be asked.
func (v *view) partitions() (all []*partition) {
	for _, t := range v.topics {
		for _, p := range t.partitions {
			if v.alive(p) {
				all = append(all, p)
			}
		}
	}
	return all
}

func (v *view) partition(topic string, id int32) *partition {
	t := v.byName[topic]
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.partitions, id, func(p *partition, id int32) int { return cmp.Compare(p.id, id) })
	if !ok {
		return nil
	}
	return t.partitions[i]
}

// fail keeps the first error of a partition. A broker that is away is not asked for others: each question would wait for it.
func (v *view) fail(p *partition, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	if known := new(kerr.Error); !errors.As(err, &known) {
		v.gone[p.leader] = true
	}
}
