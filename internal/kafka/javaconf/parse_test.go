package javaconf

import (
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
		s.Acks(), s.Idempotent(), s.MaxInFlight(), s.TransactionalID(), s.BatchSize(), s.Linger(), s.Compression(),
		s.BufferMemory(), s.MaxBlock(), s.DeliveryTimeout(), s.RequestTimeout(),
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
	checkSources(t, parse(t, 1000, "linger.ms= 20 ").All(), len(producerProperties()), result.Setting{
		Name: "linger.ms", Value: "20", Default: "5", Source: "--command-property", Client: "ProducerLinger",
	})
	checkSources(t, parseConsumer(t, "fetch.min.bytes= 20 ").All(), len(consumerProperties()), result.Setting{
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
	if (err != nil) != (words != "") {
		t.Fatalf("error %v, want one with %q", err, words)
	}
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
		{"a protocol of share groups", "group.protocol=share", "group.protocol=share classic consumer"},
		{"an assignor of one's own", "partition.assignment.strategy=RangeAssignor,com.acme.A", "partition.assignment.strategy=RangeAssignor,com.acme.A" + assignors},
		{"no assignor", "partition.assignment.strategy=", "partition.assignment.strategy=" + assignors},
		{"share groups", "share.acknowledgement.mode=explicit", "share.acknowledgement.mode=explicit"},
		{"a misspelt property", "fetch.min.byte=1", `"fetch.min.byte" fetch.min.bytes?`},
		{"a producer's property", "acks=1", `"acks" producer`},
	}
}

func TestABadValueIsAnErrorThatNamesPropertyValueSourceAndRange(t *testing.T) {
	check := func(tc badValue, err error) {
		t.Run(tc.name, func(t *testing.T) {
			wants(t, err, tc.words+" (from f)")
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("it shows a secret: %v", err)
			}
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
	if err != nil {
		t.Fatalf("franz-go refuses: %v", err)
	}
	cl.Close()
	again := map[string]plan.Given{}
	for name, setting := range s {
		if setting.Value != "" {
			again[name] = plan.Given{Value: setting.Value, Source: "again"}
		}
	}
	s2, _, err := parse(again, false)
	if err != nil {
		t.Fatalf("the settings in effect do not parse: %v", err)
	}
	for name, setting := range s {
		if s2[name].Value != setting.Value && setting.Value != "" {
			t.Errorf("%s: %q becomes %q", name, setting.Value, s2[name].Value)
		}
	}
}
