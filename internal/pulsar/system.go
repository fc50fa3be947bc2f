// Package pulsar is Apache Pulsar as a system that runs are made on, by its Go client.
//
//	system, warnings, err := pulsar.New(&p, producer, consumer, access)
//	res, err := run.Run(ctx, run.Request{Plan: p, System: system, …})
//
// A record is a message, a partition one of a partitioned topic. Topics are made, and backlogs and
// brokers watched, over the admin API (HTTP). Pulsar counts a backlog in entries, which are batches.
package pulsar

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/run"
)

// System is Pulsar, with the settings of the clients of one plan. New makes it.
type System struct {
	queue.System[settings]
	namespace string // behind its tenant and a slash
}

// What Pulsar can do beside runs.
var _ interface {
	run.System
	run.Acknowledging
	run.Delivering
	run.Partitioned
	run.TopicLister
	run.TopicDeleter
} = (*System)(nil)

// New checks a plan and the properties of its clients, and makes what its messages hold. It completes the plan with what a
// payload file says.
func New(p *plan.Plan, producer, consumer map[string]plan.Given, a queue.Access) (*System, []string, error) {
	q, err := properties.New(p, producer, consumer, a)
	if q == nil {
		return nil, nil, err
	}
	s := &System{*q, cmp.Or(strings.Trim(q.URL.Path, "/"), "public/default")}
	if _, bounds := producer["batch.size"]; bounds {
		s.Derive("batching.max.messages", strconv.Itoa(math.MaxInt32), "batch.size alone bounds a batch")
	}
	return s, nil, errors.Join(err, s.fits(p))
}

func (s *System) fits(p *plan.Plan) error {
	var errs []error
	bad := func(flag string, value any, why string, args ...any) {
		errs = append(errs, plan.Refuse(flag, value, why, args...))
	}
	if s.URL.User != nil {
		bad("url", nil, "Pulsar has no users: leave out what is before the @, and give a token by url.password")
	}
	if strings.Count(s.namespace, "/") != 1 {
		bad("url", nil, "/%s: write pulsar://HOST:PORT/TENANT/NAMESPACE", s.namespace)
	}
	if strings.Contains(p.Topic.Name, "/") {
		bad("topic", p.Topic.Name, "give the name alone; the tenant and the namespace go into --url")
	}
	if from := p.Read.From; p.Reads() && (from.HasOffset || !from.Time.IsZero()) {
		bad("from", from, "a subscription of Pulsar begins at earliest or latest")
	}
	if p.Reads() && p.Read.Commit == plan.CommitSync {
		bad("commit", "sync", "kt does not wait until Pulsar has an acknowledgement: async comes nearest, which sends it within 0.1 s of the reading")
	}
	return errors.Join(errs...)
}

// ReadsByPartition reports that each partition is read by one consumer of a subscription.
func (*System) ReadsByPartition() bool { return true }

// DeliveryTimeout returns how long a message may wait for its outcome. The client looks for late ones once in
// delivery.timeout.ms, so one may wait twice as long.
func (s *System) DeliveryTimeout() time.Duration { return 2 * s.Settings.timeout }

type property = queue.Property[settings]

type settings struct {
	batchBytes, batchMessages uint
	linger                    time.Duration // 0: no batches
	compression               client.CompressionType
	timeout, maxBlock         time.Duration
	bufferBytes               int64
	pending                   int // most messages of a partition on their way
	ackQuorum                 int // 0: that of the namespace, or as many as replicas
	subscription              client.SubscriptionType
	receiverQueue             int
}

var properties = queue.Properties[settings]{System: "Pulsar", Producer: producerProperties, Consumer: consumerProperties, Nearest: nearest}

// The words of properties, and what they mean.
var (
	codecs        = map[string]client.CompressionType{"none": client.NoCompression, "lz4": client.LZ4, "zlib": client.ZLib, "zstd": client.ZSTD, "snappy": client.SNAPPY}
	subscriptions = map[string]client.SubscriptionType{"failover": client.Failover, "exclusive": client.Exclusive, "shared": client.Shared, "key_shared": client.KeyShared}
	starts        = map[string]bool{"earliest": true, "latest": true}
)

var producerProperties = []property{
	{Name: "acks", Default: "all", Client: "SendAsync", Set: func(_ *settings, v string) error {
		if v == "all" || v == "-1" {
			return nil
		}
		return errors.New("a broker of Pulsar always answers, when as many bookies as the ack quorum have the message: write all, and ack.quorum=N for a topic that kt creates")
	}},
	{Name: "ack.quorum", Client: "kt itself, in the topic that it creates", Set: func(s *settings, v string) error { return queue.Number(v, 1, 100, &s.ackQuorum) }},
	{Name: "batch.size", Default: "131072", Client: "BatchingMaxSize", Set: func(s *settings, v string) error { return queue.Number(v, 0, math.MaxInt32, &s.batchBytes) }},
	{Name: "batching.max.messages", Default: "1000", Client: "BatchingMaxMessages", Set: func(s *settings, v string) error { return queue.Number(v, 1, math.MaxInt32, &s.batchMessages) }},
	{Name: "linger.ms", Default: "1", Client: "BatchingMaxPublishDelay", Set: func(s *settings, v string) error { return queue.Millis(v, 0, &s.linger) }},
	{Name: "compression.type", Default: "none", Client: "CompressionType", Set: func(s *settings, v string) error { return queue.Choice(v, codecs, &s.compression) }},
	{Name: "delivery.timeout.ms", Default: "30000", Client: "SendTimeout", Set: func(s *settings, v string) error { return queue.Millis(v, time.Millisecond, &s.timeout) }},
	{Name: "max.block.ms", Default: "60000", Client: "kt itself", Set: func(s *settings, v string) error { return queue.Millis(v, 0, &s.maxBlock) }},
	{Name: "buffer.memory", Default: "33554432", Client: "kt itself", Set: func(s *settings, v string) error { return queue.Number(v, 1, math.MaxInt64, &s.bufferBytes) }},
	{Name: "max.pending.messages", Client: "MaxPendingMessages", Set: func(s *settings, v string) error { return queue.Number(v, 1, 1_000_000, &s.pending) }},
}

// The plan has the first three. Here they are checked.
var consumerProperties = []property{
	{Name: "group.id", Client: "SubscriptionName", Set: func(*settings, string) error { return nil }},
	{Name: "auto.offset.reset", Default: "earliest", Client: "SubscriptionInitialPosition", Set: func(_ *settings, v string) error { return queue.Choice(v, starts, new(bool)) }},
	{Name: "enable.auto.commit", Default: "true", Client: "kt itself, by --commit", Set: func(_ *settings, v string) error { return queue.Choice(v, queue.YesNo, new(bool)) }},
	{Name: "subscription.type", Default: "failover", Client: "Type", Set: func(s *settings, v string) error { return queue.Choice(v, subscriptions, &s.subscription) }},
	{Name: "receiver.queue.size", Default: "1000", Client: "ReceiverQueueSize", Set: func(s *settings, v string) error { return queue.Number(v, 1, 1_000_000, &s.receiverQueue) }},
}

// ProducerProperties and ConsumerProperties are the names of the properties that the clients have.
var (
	ProducerProperties = queue.Names(producerProperties)
	ConsumerProperties = queue.Names(consumerProperties)
)

// nearest tells what comes nearest to properties of Kafka's clients.
var nearest = map[string]string{
	"enable.idempotence":            "kt sends each message once, and the client again after a lost connection; deduplicationEnabled=true of --topic-config drops those",
	"max.in.flight.requests":        "max.pending.messages bounds what is on its way",
	"compression.zstd.level":        "the client's levels are not Java's: write zstd without one",
	"compression.lz4.level":         "the client's levels are not Java's: write lz4 without one",
	"compression.gzip.level":        "write compression.type=zlib",
	"max.request.size":              "batch.size bounds a batch, and the brokers' maxMessageSize a message",
	"request.timeout.ms":            "delivery.timeout.ms is how long a message may take",
	"retries":                       "delivery.timeout.ms is how long the client goes on",
	"isolation.level":               "kt makes no transactions with Pulsar",
	"partition.assignment.strategy": "subscription.type: failover, exclusive, shared or key_shared",
	"group.protocol":                "subscription.type: failover, exclusive, shared or key_shared",
	"fetch.max.bytes":               "receiver.queue.size, in messages",
	"max.partition.fetch.bytes":     "receiver.queue.size, in messages",
}

// manyTickers is how many are too many: a producer of the client has one for each partition.
const manyTickers = 20

// The client takes memory for the most messages on their way, of each partition, even when there are none: some 24 bytes for
// each.
const (
	pendingOfProducer = 200_000
	minPending        = 1000 // Pulsar's default before 3.0
	maxPending        = 50_000
)

func (s *System) fit(producers, partitions int) {
	if producers*partitions > manyTickers {
		s.Derive("linger.ms", "10", "the client's own default, because its timers cost CPU for each producer and partition")
	}
	s.Derive("max.pending.messages", strconv.Itoa(min(maxPending, max(minPending, pendingOfProducer/partitions))), "")
}

func (s *settings) shared() bool {
	return s.subscription == client.Shared || s.subscription == client.KeyShared
}

func (s *settings) batches() bool { return s.linger > 0 && s.batchBytes > 1 }
