package javaconf

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
)

const (
	byteArray    = "org.apache.kafka.common.serialization.ByteArraySerializer"
	byteArrayOut = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
)

// client makes a franz-go client, which connects to nothing until it is used.
func client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl := must.Have(kgo.NewClient(options...))(t)
	t.Cleanup(cl.Close)
	return cl
}

// option asks a client for one option, by name so that tables can show it.
func option(cl *kgo.Client, name string) any {
	switch got := cl.OptValue(name).(type) {
	case kgo.Partitioner:
		return describePartitioner(got)
	case compressor:
		return got.codec.String()
	case []kgo.GroupBalancer:
		var names []string
		for _, b := range got {
			names = append(names, b.ProtocolName())
		}
		return strings.Join(names, " ")
	default:
		return got
	}
}

// describePartitioner reads the partitioner's fields, which franz-go does not export.
func describePartitioner(p kgo.Partitioner) string {
	v := reflect.ValueOf(p).Elem()
	if _, ok := v.Type().FieldByName("adaptive"); !ok {
		return v.Type().Name()
	}
	return fmt.Sprintf("%s bytes=%d adaptive=%t keys=%t", v.Type().Name(),
		v.FieldByName("bytes").Int(), v.FieldByName("adaptive").Bool(), v.FieldByName("keys").Bool())
}

// mapping is one expectation: with these properties, the option has this value.
type mapping struct {
	name       string
	properties string
	option     string
	want       any
}

func mappings() []mapping {
	return slices.Concat(deliveryMappings(), batchMappings(), connectionMappings())
}

func deliveryMappings() []mapping {
	return []mapping{
		{"all replicas by default", "", "RequiredAcks", kgo.AllISRAcks()},
		{"the leader alone", "acks=1", "RequiredAcks", kgo.LeaderAck()},
		{"no replica", "acks=0", "RequiredAcks", kgo.NoAck()},
		{"idempotent by default", "", "DisableIdempotentWrite", false},
		{"not idempotent when asked", "enable.idempotence=false", "DisableIdempotentWrite", true},
		{"not idempotent with acks=1", "acks=1", "DisableIdempotentWrite", true},
		{"franz-go's own limit in flight with idempotence", "", "MaxProduceRequestsInflightPerBroker", 1},
		{"Java's limit in flight without", "acks=1", "MaxProduceRequestsInflightPerBroker", 5},
		{"the given limit in flight without", "acks=1 max.in.flight.requests.per.connection=2", "MaxProduceRequestsInflightPerBroker", 2},
		{"Java's retries", "", "RecordRetries", int64(math.MaxInt32)},
		{"the given retries", "retries=3", "RecordRetries", int64(3)},
		{"unknown topics retried like the rest", "", "UnknownTopicRetries", int64(-1)},
		{"Java's delivery timeout", "", "RecordDeliveryTimeout", 2 * time.Minute},
		{"the given delivery timeout", "delivery.timeout.ms=60000", "RecordDeliveryTimeout", time.Minute},
		{"a delivery timeout for records in flight", "", "AllowIdempotentProduceCancellation", true},
		{"none for those of a transaction", "transactional.id=t", "AllowIdempotentProduceCancellation", false},
		{"Java's request timeout", "", "ProduceRequestTimeout", 30 * time.Second},
		{"at most franz-go's overhead on top", "", "RequestTimeoutOverhead", 10 * time.Second},
		{"the given request timeout", "request.timeout.ms=4000", "ProduceRequestTimeout", 4 * time.Second},
		{"no more than that on top", "request.timeout.ms=4000", "RequestTimeoutOverhead", 4 * time.Second},
		{"metadata as soon as Java", "", "MetadataMinAge", 100 * time.Millisecond},
		{"metadata no sooner than franz-go can", "retry.backoff.ms=0", "MetadataMinAge", 10 * time.Millisecond},
		{"no transactions", "", "TransactionalID", ""},
		{"a transactional id", "transactional.id=t", "TransactionalID", "t"},
		{"Java's transaction timeout", "transactional.id=t", "TransactionTimeout", time.Minute},
		{"the given transaction timeout", "transactional.id=t transaction.timeout.ms=5000", "TransactionTimeout", 5 * time.Second},
	}
}

func batchMappings() []mapping {
	return []mapping{
		{"Java's batches", "", "ProducerBatchMaxBytes", int32(16384)},
		{"larger batches", "batch.size=131072", "ProducerBatchMaxBytes", int32(131072)},
		{"the smallest batches", "batch.size=0", "ProducerBatchMaxBytes", int32(1128)},
		{"Java's linger", "", "ProducerLinger", 5 * time.Millisecond},
		{"no linger", "linger.ms=0", "ProducerLinger", time.Duration(0)},
		{"Java's requests and their frame", "", "BrokerMaxWriteBytes", int32(1<<20 + requestOverhead + len("kt-producer"))},
		{"larger requests", "max.request.size=4194304 client.id=x", "BrokerMaxWriteBytes", int32(4<<20 + requestOverhead + 1)},
		{"requests no smaller than a batch", "max.request.size=2000 client.id=", "BrokerMaxWriteBytes", int32(16384 + requestOverhead)},
		{"no limit on records", "", "MaxBufferedRecords", int64(math.MaxInt32)},
		{"no limit on bytes", "buffer.memory=100000", "MaxBufferedBytes", int64(0)},
		{"no compression by default", "", "ProducerBatchCompression", []kgo.CompressionCodec{kgo.NoCompression()}},
		{"snappy", "compression.type=snappy", "WithCompressor", "snappy"},
		{"gzip", "compression.type=gzip", "WithCompressor", "gzip:6"},
		{"gzip, fast", "compression.type=gzip compression.gzip.level=1", "WithCompressor", "gzip:1"},
		{"lz4, fast as in Java", "compression.type=lz4", "WithCompressor", "lz4:9"},
		{"lz4 at 17", "compression.type=lz4 compression.lz4.level=17", "WithCompressor", "lz4:17"},
		{"zstd", "compression.type=zstd", "WithCompressor", "zstd:3"},
		{"zstd, fast", "compression.type=zstd compression.zstd.level=-5", "WithCompressor", "zstd:-5"},
		{"zstd, thorough", "compression.type=zstd compression.zstd.level=22", "WithCompressor", "zstd:22"},
	}
}

func connectionMappings() []mapping {
	return []mapping{
		{"kt's client id", "", "ClientID", "kt-producer"},
		{"the given client id", "client.id=perf-producer-client", "ClientID", "perf-producer-client"},
		{"a rack", "client.rack=a", "Rack", "a"},
		{"Java's idle time", "", "ConnIdleTimeout", 9 * time.Minute},
		{"the given idle time", "connections.max.idle.ms=1000", "ConnIdleTimeout", time.Second},
		{"Java's metadata age", "", "MetadataMaxAge", 5 * time.Minute},
		{"the given metadata age", "metadata.max.age.ms=50", "MetadataMaxAge", 50 * time.Millisecond},
		{"the least metadata age no more than the greatest", "metadata.max.age.ms=50", "MetadataMinAge", 50 * time.Millisecond},
		{"Java's time to connect", "", "DialTimeout", 10 * time.Second},
		{"the given time to connect", "socket.connection.setup.timeout.ms=200", "DialTimeout", 200 * time.Millisecond},
		{"metrics pushed by default", "", "DisableClientMetrics", false},
		{"metrics not pushed", "enable.metrics.push=false", "DisableClientMetrics", true},
		{"Java's partitioner", "", "RecordPartitioner", "uniformBytesPartitioner bytes=16384 adaptive=true keys=true"},
		{"turning with the batch size", "batch.size=100", "RecordPartitioner", "uniformBytesPartitioner bytes=100 adaptive=true keys=true"},
		{"turning with each record", "batch.size=0", "RecordPartitioner", "uniformBytesPartitioner bytes=1 adaptive=true keys=true"},
		{"without keys", "partitioner.ignore.keys=true", "RecordPartitioner", "uniformBytesPartitioner bytes=16384 adaptive=true keys=false"},
		{"evenly", "partitioner.adaptive.partitioning.enable=false", "RecordPartitioner", "uniformBytesPartitioner bytes=16384 adaptive=false keys=true"},
		{"in turn", "partitioner.class=RoundRobinPartitioner", "RecordPartitioner", "roundRobinPartitioner"},
		{"any rack", "client.rack=a", "RackAwarePartitioning", false},
		{"the own rack first", "client.rack=a partitioner.rack.aware=true", "RackAwarePartitioning", true},
	}
}

func TestPropertiesBecomeOptions(t *testing.T) {
	t.Run("producer", func(t *testing.T) {
		checkMappings(t, rows()["producer"], mappings(), func(t *testing.T, words ...string) *kgo.Client {
			return client(t, parse(t, 1000, words...).Options()...)
		})
	})
	t.Run("consumer", func(t *testing.T) {
		checkMappings(t, rows()["consumer"], consumerMappings(), func(t *testing.T, words ...string) *kgo.Client {
			s := parseConsumer(t, words...)
			return client(t, append(s.Options(), s.GroupOptions()...)...)
		})
	})
}

// checkMappings checks that each mapping holds, and that each option that the table names has one.
func checkMappings(t *testing.T, table []property, all []mapping, client func(*testing.T, ...string) *kgo.Client) {
	tested := map[string]bool{
		"Dialer": true, "RetryBackoffFn": true, // functions, with tests of their own
		"InstanceID": true, // set by the caller
	}
	for _, m := range all {
		tested[m.option] = true
		t.Run(m.name, func(t *testing.T) {
			got := option(client(t, strings.Fields(m.properties)...), m.option)
			if diff := cmp.Diff(m.want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("%s with %q (-want +got):\n%s", m.option, m.properties, diff)
			}
		})
	}
	cl := client(t, "retry.backoff.ms=7000", "retry.backoff.max.ms=3000")
	for _, p := range table {
		if p.client == "" || p.client == hasNoTwin {
			continue
		}
		for name := range strings.SplitSeq(p.client, ", ") {
			if cl.OptValues(name) == nil {
				t.Errorf("%s: franz-go has no option %s", p.name, name)
			}
			must.True(t, tested[name], "%s: no mapping tests %s", p.name, name)
		}
	}
	if pause := cl.OptValue(kgo.RetryBackoffFn).(func(int) time.Duration)(1); pause != 3*time.Second {
		t.Errorf("a pause of %v, want 3s", pause)
	}
}

func TestPausesBetweenRetriesGrowAsInJava(t *testing.T) {
	for _, tc := range []struct {
		name             string
		initial, longest time.Duration
		fails            int
		low, high        time.Duration
	}{
		{"the first, a fifth either way", 100 * time.Millisecond, time.Second, 1, 80 * time.Millisecond, 120 * time.Millisecond},
		{"the third, doubled twice", 100 * time.Millisecond, time.Second, 3, 320 * time.Millisecond, 480 * time.Millisecond},
		{"the hundredth, at the limit", 100 * time.Millisecond, time.Second, 100, 800 * time.Millisecond, time.Second},
		{"before any failure", 100 * time.Millisecond, time.Second, 0, 80 * time.Millisecond, 120 * time.Millisecond},
		{"a limit below the first pause", 2 * time.Second, time.Second, 1, time.Second, time.Second},
		{"no pause", 0, time.Second, 9, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pause := retryBackoff(tc.initial, tc.longest)
			for range 100 {
				if got := pause(tc.fails); got < tc.low || got > tc.high {
					t.Fatalf("%v after %d failures, want %v to %v", got, tc.fails, tc.low, tc.high)
				}
			}
		})
	}
}

func TestABrokerThatIsOlderThanZstdGetsNoZstd(t *testing.T) {
	records := []byte(strings.Repeat("a", 1000))
	c := parse(t, 1000, "compression.type=zstd").Compressor()
	if got, kind := c.Compress(new(bytes.Buffer), records, kgo.CompressDisableZstd); kind != kgo.CodecNone || !bytes.Equal(got, records) {
		t.Errorf("codec %d, %d bytes", kind, len(got))
	}
}

func TestEveryPropertyHasOneRowThatCanBeExplained(t *testing.T) {
	t.Run("producer", func(t *testing.T) { checkRows(t, rows()["producer"]) })
	t.Run("consumer", func(t *testing.T) { checkRows(t, rows()["consumer"]) })
}

func checkRows(t *testing.T, table []property) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range table {
		must.True(t, !seen[p.name], "%s: has two rows", p.name)
		seen[p.name] = true
		if p.note != "" && !strings.HasSuffix(p.note, ".") {
			t.Errorf("%s: note %q is no sentence", p.name, p.note)
		}
		if p.client == hasNoTwin && p.note == "" {
			t.Errorf("%s: ignored without saying why", p.name)
		}
	}
}

func TestEveryDefaultPassesItsOwnCheck(t *testing.T) {
	t.Run("producer", func(t *testing.T) { checkPresets(t, rows()["producer"]) })
	t.Run("consumer", func(t *testing.T) { checkPresets(t, rows()["consumer"]) })
}

func checkPresets(t *testing.T, table []property) {
	t.Helper()
	for _, p := range table {
		if p.preset == "" {
			continue // unset
		}
		if got, err := p.check(p.preset); err != nil || got != p.preset {
			t.Errorf("%s: check(%q) = %q, %v", p.name, p.preset, got, err)
		}
	}
}

// A property on the left only is one that kt does not know; on the right only,
// one that Kafka 4.3.1 does not.
func TestPropertiesAndDefaultsAreThoseOfKafkasProducer(t *testing.T) {
	want := kafkaDefaults(t, "testdata/producer_properties.tsv")
	want["client.rack"], want["partitioner.rack.aware"] = "", "false" // from Kafka 4.4 on
	want["client.id"] = "kt-producer"                                 // Java numbers its producers
	want["key.serializer"], want["value.serializer"] = byteArray, byteArray
	must.Match(t, want, presets(rows()["producer"]), "properties")
}

func TestPropertiesAndDefaultsAreThoseOfKafkasConsumerExceptWhereANoteSaysWhy(t *testing.T) {
	want := kafkaDefaults(t, "testdata/consumer_properties.tsv")
	notes := map[string]string{}
	for _, p := range rows()["consumer"] {
		notes[p.name] = p.note
	}
	for name, preset := range map[string]string{
		"allow.auto.create.topics": "false",
		"auto.offset.reset":        "earliest",
		"check.crcs":               "false",
		"fetch.max.bytes":          "2097152",
		"max.poll.records":         "0",
		"receive.buffer.bytes":     "2097152",
	} {
		if reason := "Kafka's default is " + want[name] + "; "; !strings.HasPrefix(notes[name], reason) {
			t.Errorf("%s: note %q does not begin with %q", name, notes[name], reason)
		}
		want[name] = preset
	}
	want["client.id"] = "perf-consumer-client" // Java makes names up
	want["key.deserializer"], want["value.deserializer"] = byteArrayOut, byteArrayOut
	must.Match(t, want, presets(rows()["consumer"]), "properties")
}

// kafkaDefaults reads a file of names and defaults.
func kafkaDefaults(t *testing.T, path string) map[string]string {
	t.Helper()
	file := must.Have(os.ReadFile(path))(t)
	defaults := map[string]string{}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, preset, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		defaults[name] = preset
	}
	return defaults
}

func presets(table []property) map[string]string {
	all := map[string]string{}
	for _, p := range table {
		all[p.name] = p.preset
	}
	return all
}

func TestACommandThatTakesBothKindsCanTellThemApart(t *testing.T) {
	for _, tc := range []struct {
		name               string
		producer, consumer bool
	}{
		{"acks", true, false},
		{"group.id", false, true},
		{"client.id", true, true},
		{"retry.backoff.ms", true, true},
		{"sasl.mechanism", true, true},
		{"acs", false, false},
	} {
		if producer, consumer := IsProducerProperty(tc.name), IsConsumerProperty(tc.name); producer != tc.producer || consumer != tc.consumer {
			t.Errorf("%s: producer %v, consumer %v, want %v and %v", tc.name, producer, consumer, tc.producer, tc.consumer)
		}
	}
}

func TestABatchIsNoLargerThanTheTopicTakes(t *testing.T) {
	s, _ := must.Both(ParseProducer(nil, 100, false))(t)
	if same, lowered := s.Limited(1 << 20); lowered || same.BatchSize() != 16384 {
		t.Errorf("a topic that takes more: batch.size %d, lowered: %t", same.BatchSize(), lowered)
	}
	less, lowered := s.Limited(4000)
	if setting := less.settings["batch.size"]; !lowered || less.BatchTarget() != 4000 || less.BatchLimit() != 4000 || !strings.Contains(setting.Note, "from 16384") {
		t.Errorf("a topic that takes 4000 bytes: batches of %d and at most %d, lowered: %t, %+v", less.BatchTarget(), less.BatchLimit(), lowered, setting)
	}
}

func TestIdempotenceGivesWayUnlessItWasAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name, words string
		want        bool
		note        string // of a derived value
		err         string
	}{
		{name: "on by default", want: true},
		{name: "on with acks as a number", words: "acks=-1", want: true},
		{name: "off when asked", words: "enable.idempotence=false"},
		{name: "off with acks=1", words: "acks=1", note: "acks=1 (from f)"},
		{name: "off with acks=0", words: "acks=0", note: "acks=0 (from f)"},
		{name: "off without retries", words: "retries=0", note: "retries=0 (from f)"},
		{name: "a conflict with acks=1", words: "acks=1 enable.idempotence=true", err: "enable.idempotence=true (from f) acks=all acks=1"},
		{name: "a conflict without retries", words: "retries=0 enable.idempotence=true", err: "enable.idempotence=true (from f) retries=0"},
		{name: "transactions need it", words: "acks=1 transactional.id=t", err: "transactional.id=t (from f) acks=all acks=1 (from f)"},
		{name: "transactions need it asked for", words: "enable.idempotence=false transactional.id=t", err: "transactional.id=t (from f) enable.idempotence=false (from f)"},
		{name: "transactions have it", words: "transactional.id=t", want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, err := ParseProducer(given("f", strings.Fields(tc.words)...), 1000, false)
			wants(t, err, tc.err)
			if err != nil {
				return
			}
			setting := s.settings["enable.idempotence"]
			if err != nil || s.Idempotent() != tc.want || !strings.Contains(setting.Note, tc.note) || (setting.Source == SourceDerived) != (tc.note != "") {
				t.Errorf("error %v, setting %+v, want %v, note %q", err, setting, tc.want, tc.note)
			}
		})
	}
}

func TestALimitOnRequestsInFlightIsKeptOrRefused(t *testing.T) {
	const name = "max.in.flight.requests.per.connection"
	for _, tc := range []struct {
		name, limit, words string
		refused            bool
	}{
		{"5 with idempotence", "5", "", false},
		{"1 with idempotence, which franz-go would not keep", "1", "", true},
		{"6 with idempotence", "6", "", true},
		{"6 with acks=1, where Java refuses too", "6", "acks=1", true},
		{"1 with acks=1", "1", "acks=1", false},
		{"1 without idempotence", "1", "enable.idempotence=false", false},
		{"100 without idempotence", "100", "enable.idempotence=false", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, err := ParseProducer(given("f", strings.Fields(name+"="+tc.limit+" "+tc.words)...), 1000, false)
			if tc.refused {
				wants(t, err, name+"="+tc.limit+" (from f) 5 enable.idempotence=false")
				return
			}
			if err != nil || s.Value(name) != tc.limit {
				t.Errorf("error %v, limit %s", err, s.Value(name))
			}
		})
	}
}

func TestDeliveryTimeoutHasRoomForALingerAndARequest(t *testing.T) {
	s := parse(t, 1000, "request.timeout.ms=119995")
	if got := s.settings["delivery.timeout.ms"]; got.Value != "120000" || got.Source != SourceDefault {
		t.Errorf("just enough room: %+v", got)
	}
	s = parse(t, 1000, "request.timeout.ms=150000")
	if got := s.settings["delivery.timeout.ms"]; got.Value != "150005" || got.Source != SourceDerived {
		t.Errorf("the default gives way: %+v", got)
	}
	_, _, err := ParseProducer(given("f", "delivery.timeout.ms=30000"), 1000, false)
	wants(t, err, "delivery.timeout.ms=30000 (from f) 30005 linger.ms=5 request.timeout.ms=30000 (default)")
}

func TestRecordsAndBatchesThatCannotBeSentAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name      string
		recordMax int
		words     string
		want      string
	}{
		{"the largest record that fits", 1<<20 - 82, "", ""},
		{"one byte more", 1<<20 - 81, "", "max.request.size=1048576 (default) 1048495 1048577"},
		{"a record larger than the memory", 40_000, "buffer.memory=40000 batch.size=100", "buffer.memory=40000 (from f) 40082"},
		{"a batch larger than the memory", 100, "buffer.memory=10000", "batch.size=16384 (default) buffer.memory=10000 (from f)"},
		{"a rack to prefer but none to be in", 100, "partitioner.rack.aware=true", "partitioner.rack.aware=true (from f) client.rack"},
	} {
		_, _, err := ParseProducer(given("f", strings.Fields(tc.words)...), tc.recordMax, false)
		wants(t, err, tc.want)
	}
}

func TestARaisedBatchLimitIsNoted(t *testing.T) {
	for _, tc := range []struct {
		name      string
		recordMax int
		words     string
		limit     int
		note      string
	}{
		{"a small record", 100, "", 16384, ""},
		{"the largest that fits", 16384 - recordRoom, "", 16384, ""},
		{"a larger one", 20_000, "", 20_128, "raised to 20128"},
		{"a target below franz-go's least", 100, "batch.size=200", 512, "raised to 512"},
		{"no batches", 100, "batch.size=0", 512, "no smaller limit than 512 bytes"},
	} {
		s := parse(t, tc.recordMax, strings.Fields(tc.words)...)
		note := s.settings["batch.size"].Note
		if s.batchMax() != tc.limit || !strings.Contains(note, tc.note) {
			t.Errorf("%s: limit %d, note %q, want %d, %q", tc.name, s.batchMax(), note, tc.limit, tc.note)
		}
	}
}
