package pulsar

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
)

// property is a setting of a client.
type property struct {
	name, standard string
	client         string // the client's own option
	set            func(s *settings, value string) error
}

// settings are what the clients of a load are set to.
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

	has []property
	all []result.Setting // of each in has
}

// The words of properties, and what they mean.
var (
	codecs        = map[string]client.CompressionType{"none": client.NoCompression, "lz4": client.LZ4, "zlib": client.ZLib, "zstd": client.ZSTD, "snappy": client.SNAPPY}
	subscriptions = map[string]client.SubscriptionType{"failover": client.Failover, "exclusive": client.Exclusive, "shared": client.Shared, "key_shared": client.KeyShared}
	starts        = map[string]bool{"earliest": true, "latest": true}
	truths        = map[string]bool{"true": true, "false": true}
)

var producerProperties = []property{
	{"acks", "all", "SendAsync", func(_ *settings, v string) error {
		if v == "all" || v == "-1" {
			return nil
		}
		return errors.New("a broker of Pulsar always answers, when as many bookies as the ack quorum have the message: write all, and ack.quorum=N for a topic that kt creates")
	}},
	{"ack.quorum", "", "kt itself, in the topic that it creates", func(s *settings, v string) error { return number(v, 1, 100, &s.ackQuorum) }},
	{"batch.size", "131072", "BatchingMaxSize", func(s *settings, v string) error { return number(v, 0, math.MaxInt32, &s.batchBytes) }},
	{"batching.max.messages", "1000", "BatchingMaxMessages", func(s *settings, v string) error { return number(v, 1, math.MaxInt32, &s.batchMessages) }},
	{"linger.ms", "1", "BatchingMaxPublishDelay", func(s *settings, v string) error { return millis(v, 0, &s.linger) }},
	{"compression.type", "none", "CompressionType", func(s *settings, v string) error { return choose(v, codecs, &s.compression) }},
	{"delivery.timeout.ms", "30000", "SendTimeout", func(s *settings, v string) error { return millis(v, 1, &s.timeout) }},
	{"max.block.ms", "60000", "kt itself", func(s *settings, v string) error { return millis(v, 0, &s.maxBlock) }},
	{"buffer.memory", "33554432", "kt itself", func(s *settings, v string) error { return number(v, 1, math.MaxInt64, &s.bufferBytes) }},
	{"max.pending.messages", "", "MaxPendingMessages", func(s *settings, v string) error { return number(v, 1, 1_000_000, &s.pending) }},
}

// The plan has the first three. Here they are checked.
var consumerProperties = []property{
	{"group.id", "", "SubscriptionName", func(*settings, string) error { return nil }},
	{"auto.offset.reset", "earliest", "SubscriptionInitialPosition", func(_ *settings, v string) error { return choose(v, starts, new(bool)) }},
	{"enable.auto.commit", "true", "kt itself, by --commit", func(_ *settings, v string) error { return choose(v, truths, new(bool)) }},
	{"subscription.type", "failover", "Type", func(s *settings, v string) error { return choose(v, subscriptions, &s.subscription) }},
	{"receiver.queue.size", "1000", "ReceiverQueueSize", func(s *settings, v string) error { return number(v, 1, 1_000_000, &s.receiverQueue) }},
}

// ProducerProperties and ConsumerProperties are the names of the properties that the clients have.
var (
	ProducerProperties = names(producerProperties)
	ConsumerProperties = names(consumerProperties)
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

func names(all []property) (list []string) {
	for _, p := range all {
		list = append(list, p.name)
	}
	return list
}

// parse reads the properties of one kind of client.
func parse(has []property, given map[string]plan.Given) (settings, error) {
	s := settings{has: has}
	errs := []error{queue.Refuse("Pulsar", given, names(has), nearest)}
	for _, p := range has {
		value, source := p.standard, "default"
		if g, ok := given[p.name]; ok {
			value, source = g.Value, g.Source
		}
		s.all = append(s.all, result.Setting{Name: p.name, Value: value, Default: p.standard, Source: source, Client: p.client})
		if value == "" && source == "default" {
			continue
		}
		if err := p.set(&s, value); err != nil {
			errs = append(errs, fmt.Errorf("%s=%s (from %s): %w", p.name, value, source, err))
		}
	}
	if _, bounds := given["batch.size"]; bounds {
		s.derive("batching.max.messages", strconv.Itoa(math.MaxInt32), "batch.size alone bounds a batch")
	}
	return s, errors.Join(errs...)
}

// derive sets a property, if the clients have it and nobody gave it.
func (s *settings) derive(name, value, note string) {
	for i := range s.all {
		if p := &s.all[i]; p.Name == name && p.Source == "default" {
			_ = s.has[i].set(s, value) // kt's own values are right
			p.Value, p.Source, p.Note = value, "derived", note
		}
	}
}

// manyTickers is how many are too many: a producer of the client has one for each partition, which ticks even when nothing
// is sent.
const manyTickers = 20

// The client takes memory for the most messages on their way, of each partition, even when there are none: some 24
// bytes for each.
const (
	pendingOfProducer = 200_000
	minPending        = 1000 // Pulsar's default before 3.0
	maxPending        = 50_000
)

// fit fits settings that nobody gave to the size of a load.
func (s *settings) fit(producers, partitions int) {
	if producers*partitions > manyTickers {
		s.derive("linger.ms", "10", "the client's own default, because its timers cost CPU for each producer and partition")
	}
	s.derive("max.pending.messages", strconv.Itoa(min(maxPending, max(minPending, pendingOfProducer/partitions))), "")
}

// batches reports whether messages go in batches.
func (s *settings) batches() bool { return s.linger > 0 && s.batchBytes > 1 }

// choose sets what a word means.
func choose[V any](word string, meanings map[string]V, into *V) error {
	v, known := meanings[word]
	if !known {
		return errors.New("write " + strings.Join(slices.Sorted(maps.Keys(meanings)), " or "))
	}
	*into = v
	return nil
}

func number[N int | uint | int64](value string, least, most int64, into *N) error {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("write a whole number from %d to %d", least, most)
	}
	*into = N(n)
	return nil
}

func millis(value string, least int64, into *time.Duration) error {
	var n int64
	err := number(value, least, math.MaxInt32, &n)
	*into = time.Duration(n) * time.Millisecond
	return err
}
