package javaconf

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// given makes properties from one source out of "name=value" words.
func given(source string, words ...string) map[string]plan.Given {
	g := map[string]plan.Given{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		g[name] = plan.Given{Value: value, Source: source}
	}
	return g
}

func parse(t *testing.T, recordMax int, words ...string) Producer {
	t.Helper()
	s, _ := must.Both(ParseProducer(given("--command-property", words...), recordMax, false))(t)
	return s
}

func TestDefaultsAreJavas(t *testing.T) {
	s := parse(t, 1000)
	got := []any{
		s.Acks(), s.Idempotent(), s.MaxInFlight(), s.TransactionalID(), s.BatchSize(), s.Duration("linger.ms"), s.Compression(),
		s.Int64("buffer.memory"), s.Duration("max.block.ms"), s.DeliveryTimeout(), s.Duration("request.timeout.ms"),
	}
	want := []any{
		"all", true, 5, "", 16384, 5 * time.Millisecond, "none",
		int64(32 << 20), time.Minute, 2 * time.Minute, 30 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABootstrapServerMayTakeAsLongAsAConnectionThatSomebodyLimited(t *testing.T) {
	must.Match(t, 0, parse(t, 1).ReachTimeout(), "the default")
	must.Match(t, 700*time.Millisecond, parse(t, 1, "socket.connection.setup.timeout.ms=700").ReachTimeout(), "of 700 ms")
}

func TestAllIsSortedAndTellsWhereEachValueCameFrom(t *testing.T) {
	checkSources(t, parse(t, 1000, "linger.ms= 20 ").All(), len(rows()["producer"]), result.Setting{
		Name: "linger.ms", Value: "20", Default: "5", Source: "--command-property", Client: "ProducerLinger",
	})
	checkSources(t, parseConsumer(t, "fetch.min.bytes= 20 ").All(), len(rows()["consumer"]), result.Setting{
		Name: "fetch.min.bytes", Value: "20", Default: "1", Source: "--command-property", Client: "FetchMinBytes",
	})
}

// checkSources checks all settings of a client, of which one was given.
func checkSources(t *testing.T, all []result.Setting, n int, given result.Setting) {
	t.Helper()
	must.Match(t, n, len(all), "settings")
	for i, s := range all {
		if i > 0 && all[i-1].Name >= s.Name {
			t.Errorf("%s before %s", all[i-1].Name, s.Name)
		}
		derived := s.Name == "enable.auto.commit" // off without a group
		if s.Name == given.Name && s != given || s.Name != given.Name && !derived && s.Source != SourceDefault {
			t.Errorf("%+v, given %+v", s, given)
		}
	}
}

// missing returns the first of the words that a text does not hold, separated by spaces: names,
// values and numbers.
func missing(text, words string) string {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(text, word) {
			return word
		}
	}
	return ""
}

// wants checks that an error holds these words; "" is no error.
func wants(t *testing.T, err error, words string) {
	t.Helper()
	must.Hold(t, (err != nil) == (words != ""), "error %v, want one with %q", err, words)
	if err != nil && missing(err.Error(), words) != "" {
		t.Errorf("%q is not in: %v", missing(err.Error(), words), err)
	}
}

// badValue is a property that is refused: the error has the words.
type badValue struct{ name, property, words string }

func badProducerValues() []badValue {
	return []badValue{
		{"an acks Kafka does not have", "acks=2", "acks=2 0, 1 all"},
		{"a linger above franz-go's limit", "linger.ms=60001", "linger.ms=60001 milliseconds 0 60000"},
		{"a duration with a unit", "linger.ms=5ms", "linger.ms=5ms milliseconds 60000"},
		{"a negative batch", "batch.size=-1", "batch.size=-1 bytes 1073741824"},
		{"memory without a limit", "buffer.memory=x", "buffer.memory=x bytes"},
		{"a codec Kafka does not have", "compression.type=brotli", "compression.type=brotli none gzip snappy lz4 zstd"},
		{"a gzip level of 0", "compression.gzip.level=0", "compression.gzip.level=0 1 9 -1"},
		{"neither true nor false", "enable.idempotence=yes", "enable.idempotence=yes true false"},
		{"an empty transactional id", "transactional.id=", "transactional.id= empty"},
		{"a partitioner of one's own", "partitioner.class=com.acme.P", "partitioner.class=com.acme.P RoundRobinPartitioner"},
		{"TLS", "security.protocol=SASL_SSL", "security.protocol security"},
		{"a secret, which is not shown", "sasl.jaas.config=hunter2", "sasl.jaas.config security"},
		{"a keystore", "ssl.keystore.location=/k", "ssl.keystore.location security"},
		{"two-phase commit", "transaction.two.phase.commit.enable=true", "transaction.two.phase.commit.enable=true false"},
		{"a misspelt property", "batch.sizes=1", `"batch.sizes" batch.size?`},
		{"a consumer's property", "group.id=g", `"group.id" consumer`},
		{"a property like no other", "goats=7", `"goats" producer`},
	}
}

func badConsumerValues() []badValue {
	const assignors = " RangeAssignor, RoundRobinAssignor, StickyAssignor CooperativeStickyAssignor"
	const reset = " earliest latest none by_duration:"
	return []badValue{
		{"answers above franz-go's limit", "fetch.max.bytes=1073741825", "fetch.max.bytes=1073741825 bytes 1073741824"},
		{"a wait below franz-go's limit", "fetch.max.wait.ms=9", "fetch.max.wait.ms=9 milliseconds 10 2147483647"},
		{"an isolation Kafka does not have", "isolation.level=READ_COMMITTED", "isolation.level=READ_COMMITTED read_uncommitted read_committed"},
		{"an offset in capitals", "auto.offset.reset=LATEST", "auto.offset.reset=LATEST" + reset},
		{"a duration in Go's words", "auto.offset.reset=by_duration:1h", "auto.offset.reset=by_duration:1h" + reset},
		{"no duration", "auto.offset.reset=by_duration:", "auto.offset.reset=by_duration:" + reset},
		{"an empty group", "group.id= ", "group.id= empty"},
		{"an instance with a slash", "group.instance.id=a/b", "group.instance.id=a/b 249"},
		{"an instance of dots", "group.instance.id=..", "group.instance.id=.. 249"},
		{"a protocol of streams", "group.protocol=streams", "group.protocol=streams classic consumer share"},
		{"an isolation of a share group", "group.protocol=share isolation.level=read_committed", "isolation.level=read_committed share"},
		{"a share group's static member", "group.protocol=share group.instance.id=a", "group.instance.id=a share"},
		{"an assignor of one's own", "partition.assignment.strategy=RangeAssignor,com.acme.A", "partition.assignment.strategy=RangeAssignor,com.acme.A" + assignors},
		{"no assignor", "partition.assignment.strategy=", "partition.assignment.strategy=" + assignors},
		{"an acknowledgement that Kafka does not have", "share.acknowledgement.mode=none", "share.acknowledgement.mode=none implicit explicit"},
		{"a way to acquire that Kafka does not have", "share.acquire.mode=all", "share.acquire.mode=all batch_optimized record_limit"},
		{"a misspelt property", "fetch.min.byte=1", `"fetch.min.byte" fetch.min.bytes?`},
		{"a producer's property", "acks=1", `"acks" producer`},
	}
}

func TestABadValueIsAnErrorThatNamesPropertyValueSourceAndRange(t *testing.T) {
	check := func(tc badValue, err error) {
		t.Run(tc.name, func(t *testing.T) {
			wants(t, err, tc.words+" (from f)")
			must.True(t, !strings.Contains(err.Error(), "hunter2"), "it shows a secret: %v", err)
		})
	}
	for _, tc := range badProducerValues() {
		_, _, err := ParseProducer(given("f", tc.property), 1000, false)
		check(tc, err)
	}
	for _, tc := range badConsumerValues() {
		_, _, err := ParseConsumer(given("f", tc.property), false)
		check(tc, err)
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, _, err := ParseProducer(given("f", "acks=2", "linger.ms=-1", "batch.sizes=1"), 2<<20, false)
	wants(t, err, "acks=2 linger.ms=-1 batch.sizes max.request.size=1048576 (default)")
}

func TestLenientWarnsOfUnknownPropertiesButStillRefusesSecurity(t *testing.T) {
	_, warnings, err := ParseProducer(given("f", "batch.sizes=1", "group.id=g"), 1000, true)
	if err != nil || len(warnings) != 2 || missing(warnings[0], `"batch.sizes" (from f) ignored`) != "" || missing(warnings[1], `"group.id" (from f) ignored`) != "" {
		t.Errorf("error %v, warnings %q", err, warnings)
	}
	for _, word := range []string{"ssl.protocol=TLS", "security.providers=p", "security.protocol=SSL"} {
		if _, _, err := ParseProducer(given("f", word), 1000, true); err == nil {
			t.Errorf("%s: accepted", word)
		}
	}
}

func TestAPropertyWithoutEffectEarnsAWarningUnlessItChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		name, property string
		warns          bool
	}{
		{"a pause franz-go does not have", "reconnect.backoff.ms=10", true},
		{"the same at its default", "reconnect.backoff.ms=50", false},
		{"a serializer of text", "value.serializer=StringSerializer", true},
		{"the serializer of bytes", "value.serializer=" + byteArray, false},
		{"the recovery strategy in capitals", "metadata.recovery.strategy=REBOOTSTRAP", false},
		{"topics created by reading", "allow.auto.create.topics=true", true},
		{"no topics created by reading", "allow.auto.create.topics=false", false},
		{"a deserializer of text", "key.deserializer=StringDeserializer", true},
		{"the deserializer of bytes", "value.deserializer=" + byteArrayOut, false},
	} {
		name, _, _ := strings.Cut(tc.property, "=")
		_, warnings, err := ParseProducer(given("f", tc.property), 1000, false)
		if !IsProducerProperty(name) {
			_, warnings, err = ParseConsumer(given("f", tc.property), false)
		}
		if got := strings.Join(warnings, "\n"); err != nil || (got != "") != tc.warns || tc.warns && missing(got, tc.property+" (from f)") != "" {
			t.Errorf("%s: %s: error %v, warnings %q", tc.name, tc.property, err, got)
		}
	}
}

// FuzzParseProducer reads a file of name=value lines.
//   - It never panics.
//   - Settings that parse make options that franz-go accepts.
//   - The values in effect, given again, are in effect again.
func FuzzParseProducer(f *testing.F) {
	f.Add("acks=1\nlinger.ms=0\nbatch.size=0", 100, false)
	f.Add("compression.type=zstd\ncompression.zstd.level=9\nmax.request.size=1073741824\nbuffer.memory=9223372036854775807", 1<<30-82, false)
	f.Add("acks=0\nretries=0\nmax.in.flight.requests.per.connection=1", 0, true)
	f.Add("transactional.id=t\nclient.id=\nmetadata.max.age.ms=10\nretry.backoff.ms=2147483647", 1, false)
	f.Add("request.timeout.ms=100\ndelivery.timeout.ms=1000\nlinger.ms=900\nmax.block.ms=9223372036854775807", -1, false)
	f.Add("batch.size=1073741824\nbuffer.memory=1073741824\nconnections.max.idle.ms=900000\nbatch.sizes=1", 5000, true)
	f.Fuzz(func(t *testing.T, file string, recordMax int, lenient bool) {
		checkParse(t, file, lenient, func(given map[string]plan.Given, lenient bool) (settings, []kgo.Opt, error) {
			s, _, err := ParseProducer(given, recordMax, lenient)
			if err != nil {
				return nil, nil, err
			}
			return s.settings, s.Options(), err
		})
	})
}

// FuzzParseConsumer does the same for a consumer.
func FuzzParseConsumer(f *testing.F) {
	f.Add("group.id=g\nsession.timeout.ms=100\nheartbeat.interval.ms=99\nmax.poll.interval.ms=100", false)
	f.Add("group.id=g\ngroup.protocol=consumer\ngroup.remote.assignor=range\ngroup.instance.id=i", false)
	f.Add("group.id=g\npartition.assignment.strategy=RangeAssignor, StickyAssignor\nenable.auto.commit=false\nauto.commit.interval.ms=2147483647", false)
	f.Add("fetch.max.bytes=0\nfetch.min.bytes=2147483647\nfetch.max.wait.ms=2147483647\nisolation.level=read_committed\ncheck.crcs=true", true)
	f.Add("max.partition.fetch.bytes=1073741824\nauto.offset.reset=by_duration:P1DT2H\nrequest.timeout.ms=900000\nacks=1", true)
	f.Fuzz(func(t *testing.T, file string, lenient bool) {
		checkParse(t, file, lenient, func(given map[string]plan.Given, lenient bool) (settings, []kgo.Opt, error) {
			s, _, err := ParseConsumer(given, lenient)
			if err != nil {
				return nil, nil, err
			}
			s.From(plan.From{}, time.Now())
			return s.settings, append(s.Options(), s.GroupOptions()...), err
		})
	})
}

func checkParse(t *testing.T, file string, lenient bool, parse func(map[string]plan.Given, bool) (settings, []kgo.Opt, error)) {
	first := map[string]plan.Given{}
	for line := range strings.Lines(file) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		first[name] = plan.Given{Value: value, Source: "fuzz"}
	}
	s, options, err := parse(first, lenient)
	if err != nil {
		return
	}
	cl, err := kgo.NewClient(options...)
	must.Hold(t, err == nil, "franz-go refuses: %v", err)
	cl.Close()
	again := map[string]plan.Given{}
	for name, setting := range s {
		if setting.Value != "" {
			again[name] = plan.Given{Value: setting.Value, Source: "again"}
		}
	}
	s2, _, err := parse(again, false)
	must.Hold(t, err == nil, "the settings in effect do not parse: %v", err)
	for name, setting := range s {
		if s2[name].Value != setting.Value && setting.Value != "" {
			t.Errorf("%s: %q becomes %q", name, setting.Value, s2[name].Value)
		}
	}
}

func parseConsumer(t *testing.T, words ...string) Consumer {
	t.Helper()
	s, _ := must.Both(ParseConsumer(given("--command-property", words...), false))(t)
	return s
}

func consumerMappings() []mapping {
	return slices.Concat(fetchMappings(), groupMappings(), consumerConnectionMappings())
}

func fetchMappings() []mapping {
	return []mapping{
		{"kt's answers", "", "FetchMaxBytes", int32(2 << 20)},
		{"Kafka's answers", "fetch.max.bytes=52428800", "FetchMaxBytes", int32(50 << 20)},
		{"franz-go's limit for an answer", "", "BrokerMaxReadBytes", int32(100 << 20)},
		{"room around larger answers", "fetch.max.bytes=209715200", "BrokerMaxReadBytes", int32(201 << 20)},
		{"no more than franz-go can", "fetch.max.bytes=1073741824", "BrokerMaxReadBytes", int32(gib)},
		{"Java's share of a partition", "", "FetchMaxPartitionBytes", int32(1 << 20)},
		{"a smaller share of a partition", "max.partition.fetch.bytes=1000", "FetchMaxPartitionBytes", int32(1000)},
		{"a share as large as a small answer", "fetch.max.bytes=1000", "FetchMaxPartitionBytes", int32(1000)},
		{"a share larger than kt's answers", "max.partition.fetch.bytes=4194304", "FetchMaxPartitionBytes", int32(4 << 20)},
		{"answers that hold that share", "max.partition.fetch.bytes=4194304", "FetchMaxBytes", int32(4 << 20)},
		{"Java's least answer", "", "FetchMinBytes", int32(1)},
		{"the given least answer", "fetch.min.bytes=100000", "FetchMinBytes", int32(100_000)},
		{"Java's wait, not franz-go's 5 s", "", "FetchMaxWait", 500 * time.Millisecond},
		{"the given wait", "fetch.max.wait.ms=10", "FetchMaxWait", 10 * time.Millisecond},
		{"whatever the state of transactions", "", "FetchIsolationLevel", int8(0)},
		{"committed records only", "isolation.level=read_committed", "FetchIsolationLevel", int8(1)},
		{"checksums left alone", "", "DisableFetchCRCValidation", true},
		{"checksums verified", "check.crcs=true", "DisableFetchCRCValidation", false},
	}
}

func groupMappings() []mapping {
	const serverSide, shares = "group.id=g group.protocol=consumer ", "group.id=g group.protocol=share "
	return []mapping{
		{"no group", "", "ConsumerGroup", ""},
		{"a group", "group.id=g", "ConsumerGroup", "g"},
		{"Java's session", "group.id=g", "SessionTimeout", 45 * time.Second},
		{"the given session", "group.id=g session.timeout.ms=6000", "SessionTimeout", 6 * time.Second},
		{"Java's heartbeats", "group.id=g", "HeartbeatInterval", 3 * time.Second},
		{"the given heartbeats", "group.id=g heartbeat.interval.ms=100", "HeartbeatInterval", 100 * time.Millisecond},
		{"Java's time for a rebalance", "group.id=g", "RebalanceTimeout", 5 * time.Minute},
		{"the given time for a rebalance", "group.id=g max.poll.interval.ms=1000", "RebalanceTimeout", time.Second},
		{"the same where the broker assigns", serverSide + "max.poll.interval.ms=1000", "RebalanceTimeout", time.Second},
		{"Java's assignors", "group.id=g", "Balancers", "range cooperative-sticky"},
		{"the given assignors, in order and once", "group.id=g partition.assignment.strategy=StickyAssignor,org.apache.kafka.clients.consumer.RoundRobinAssignor,StickyAssignor", "Balancers", "sticky roundrobin"},
		{"the members assign", "group.id=g", "ServerSideBalancer", false},
		{"the broker assigns", serverSide, "ServerSideBalancer", true},
		{"uniformly", serverSide, "Balancers", "sticky"},
		{"uniformly when asked", serverSide + "group.remote.assignor=uniform", "Balancers", "sticky"},
		{"by ranges", serverSide + "group.remote.assignor=range", "Balancers", "range"},
		{"a share group", shares, "ShareGroup", "g"},
		{"Java's records of a fetch", shares, "ShareMaxRecords", int32(500)},
		{"answers of the given size, however small", shares + "max.partition.fetch.bytes=1000", "FetchMaxBytes", int32(1000)},
		{"the given records of a fetch", shares + "max.poll.records=7", "ShareMaxRecords", int32(7)},
		{"whole batches", shares, "ShareMaxRecordsStrict", false},
		{"no more records than that", shares + "share.acquire.mode=record_limit", "ShareMaxRecordsStrict", true},
		{"commits in the background", "group.id=g", "DisableAutoCommit", false},
		{"no commits in the background", "group.id=g enable.auto.commit=false", "DisableAutoCommit", true},
		{"Java's time between commits", "group.id=g", "AutoCommitInterval", 5 * time.Second},
		{"the given time between commits", "group.id=g auto.commit.interval.ms=100", "AutoCommitInterval", 100 * time.Millisecond},
	}
}

func consumerConnectionMappings() []mapping {
	return []mapping{
		{"the client id of Kafka's test", "", "ClientID", "perf-consumer-client"},
		{"a rack", "client.rack=a", "Rack", "a"},
		{"Java's idle time", "", "ConnIdleTimeout", 9 * time.Minute},
		{"Java's metadata age", "", "MetadataMaxAge", 5 * time.Minute},
		{"metadata as soon as Java", "", "MetadataMinAge", 100 * time.Millisecond},
		{"Java's time to connect", "", "DialTimeout", 10 * time.Second},
		{"Java's time for an answer", "", "RequestTimeoutOverhead", 30 * time.Second},
		{"the given time for an answer", "request.timeout.ms=100", "RequestTimeoutOverhead", 100 * time.Millisecond},
		{"metrics not pushed", "enable.metrics.push=false", "DisableClientMetrics", true},
	}
}

func TestConsumerDefaultsAreJavasOrThoseOfKafkasTest(t *testing.T) {
	s := parseConsumer(t)
	got := []any{
		s.Value("group.id"), s.Value("group.instance.id"), s.Value("group.protocol"), s.ReadCommitted(), s.Bool("enable.auto.commit"), s.Duration("auto.commit.interval.ms"), s.Int("max.poll.records"),
		s.Int("fetch.max.bytes"), s.Int("fetch.min.bytes"), s.Duration("fetch.max.wait.ms"), s.Int("max.partition.fetch.bytes"), s.Value("auto.offset.reset"), len(s.GroupOptions()),
	}
	want := []any{
		"", "", "classic", false, false, 5 * time.Second, 0,
		2 << 20, 1, 500 * time.Millisecond, 1 << 20, "earliest", 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConsumerPropertiesThatDoNotGoTogetherAreRefused(t *testing.T) {
	const decides = " (from f) group.protocol=consumer"
	for _, tc := range []struct{ name, words, err string }{
		{"a session that the broker decides about", "group.protocol=consumer session.timeout.ms=45000", "session.timeout.ms=45000" + decides},
		{"heartbeats that the broker decides about", "group.protocol=CONSUMER heartbeat.interval.ms=3000", "heartbeat.interval.ms=3000" + decides},
		{"an assignor where the broker assigns", "group.protocol=consumer partition.assignment.strategy=RangeAssignor", "partition.assignment.strategy=" + assignorPackage + "RangeAssignor" + decides},
		{"a broker's assignor where the members assign", "group.remote.assignor=uniform", "group.remote.assignor=uniform (from f) group.protocol=consumer group.protocol=classic (default)"},
		{"a heartbeat as long as the session", "group.id=g heartbeat.interval.ms=45000", "heartbeat.interval.ms=45000 (from f) session.timeout.ms=45000 (default)"},
		{"the same without a group", "heartbeat.interval.ms=45000", ""},
		{"commits without a group", "enable.auto.commit=true", "enable.auto.commit=true (from f) group.id"},
		{"no commits without a group", "enable.auto.commit=false", ""},
		{"commits in a group", "group.id=g enable.auto.commit=true", ""},
	} {
		_, _, err := ParseConsumer(given("f", strings.Fields(tc.words)...), false)
		wants(t, err, tc.err)
	}
}

func TestEveryProblemOfAConsumerIsReportedAtOnce(t *testing.T) {
	_, _, err := ParseConsumer(given("f", "fetch.min.bytes=-1", "acks=1", "enable.auto.commit=true"), false)
	wants(t, err, "fetch.min.bytes=-1 acks enable.auto.commit=true")
}

func TestWhatFollowsFromOtherConsumerPropertiesSaysSo(t *testing.T) {
	const unused = "group.protocol=consumer"
	for _, tc := range []struct{ name, words, property, value, note string }{
		{"commits need a group", "", "enable.auto.commit", "false", "group.id"},
		{"an answer holds the share of a partition", "max.partition.fetch.bytes=3000000", "fetch.max.bytes", "3000000", "max.partition.fetch.bytes"},
		{"no session", "group.protocol=consumer", "session.timeout.ms", "", unused},
		{"no heartbeats", "group.protocol=consumer", "heartbeat.interval.ms", "", unused},
		{"no assignors", "group.protocol=consumer", "partition.assignment.strategy", "", unused},
	} {
		got := parseConsumer(t, strings.Fields(tc.words)...).settings[tc.property]
		if got.Value != tc.value || got.Source != SourceDerived || !strings.Contains(got.Note, tc.note) {
			t.Errorf("%s: %+v, want %q and %q", tc.name, got, tc.value, tc.note)
		}
	}
	s := parseConsumer(t, "fetch.max.bytes=1000")
	if got := s.settings["fetch.max.bytes"]; got.Value != "1000" || got.Source == SourceDerived {
		t.Errorf("a given value: %+v", got)
	}
}

func TestReadingBeginsWhereAutoOffsetResetSays(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	latest := plan.From{Latest: true}
	for _, tc := range []struct {
		name, reset string
		given, want plan.From
		refuse      bool
	}{
		{"at the first record", "earliest", plan.From{}, plan.From{}, false},
		{"where the plan says", "by_duration:PT1M", latest, latest, false},
		{"at committed offsets only", "none", plan.From{}, plan.From{}, true},
		{"a while back", "by_duration:PT1M0.5S", plan.From{}, plan.From{Time: time.UnixMilli(1_000_000_000 - 60_500)}, false},
	} {
		from, refuse := parseConsumer(t, "auto.offset.reset="+tc.reset).From(tc.given, now)
		must.True(t, from == tc.want && refuse == tc.refuse, "%s: %v, refuse %v; want %v, %v", tc.name, from, refuse, tc.want, tc.refuse)
	}
}

func TestDurationsAreReadAsJavaWritesThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT0S": 0, "P1D": 24 * time.Hour, "PT3H": 3 * time.Hour, "PT90M": 90 * time.Minute, "PT.5S": -1, "PT0.25S": 250 * time.Millisecond,
		"P2DT3H4M5.000000006S": 51*time.Hour + 4*time.Minute + 5*time.Second + 6, "p1dt2m": 24*time.Hour + 2*time.Minute, "PT5.S": 5 * time.Second,
		"": -1, "P": -1, "PT": -1, "P1DT": -1, "1D": -1, "P1M": -1, "P1Y": -1, "P-1D": -1, "-P1D": -1, "P1D ": -1, "PT1M1H": -1,
		"P106751D": 106751 * 24 * time.Hour, "P106752D": -1, "P9999999999999999999D": -1,
	} {
		got, err := parseISODuration(text)
		must.True(t, (err != nil) == (want < 0) && (err != nil || got == want), "%q: %v, %v, want %v", text, got, err, want)
	}
}

func ExampleParseConsumer() {
	given := map[string]plan.Given{"group.id": {Value: "perf", Source: "--group"}, "fetch.min.bytes": {Value: "100000", Source: "client.properties"}}
	s, _, err := ParseConsumer(given, false)
	fmt.Println(s.Value("group.id"), s.Int("fetch.min.bytes"), s.Bool("enable.auto.commit"), err)
	// Output: perf 100000 true <nil>
}
