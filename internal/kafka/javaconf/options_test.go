package javaconf

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
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
		checkMappings(t, producerProperties(), mappings(), func(t *testing.T, words ...string) *kgo.Client {
			return client(t, parse(t, 1000, words...).Options()...)
		})
	})
	t.Run("consumer", func(t *testing.T) {
		checkMappings(t, consumerProperties(), consumerMappings(), func(t *testing.T, words ...string) *kgo.Client {
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
		if p.client == actsItself || p.client == hasNoTwin {
			continue
		}
		for name := range strings.SplitSeq(p.client, ", ") {
			if cl.OptValues(name) == nil {
				t.Errorf("%s: franz-go has no option %s", p.name, name)
			}
			if !tested[name] {
				t.Errorf("%s: no mapping tests %s", p.name, name)
			}
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
