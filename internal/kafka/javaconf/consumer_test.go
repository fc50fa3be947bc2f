package javaconf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func parseConsumer(t *testing.T, words ...string) Consumer {
	t.Helper()
	s, _, err := ParseConsumer(given("--command-property", words...), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// consumerClient makes a franz-go client, which connects to nothing until it is
// used.
func consumerClient(t *testing.T, s Consumer) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(s.Options(), s.GroupOptions()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// consumerOption asks a client for one option; balancers by their names, for they
// cannot be compared.
func consumerOption(cl *kgo.Client, name string) any {
	balancers, ok := cl.OptValue(name).([]kgo.GroupBalancer)
	if !ok {
		return option(cl, name)
	}
	var names []string
	for _, b := range balancers {
		names = append(names, b.ProtocolName())
	}
	return strings.Join(names, " ")
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
	const serverSide = "group.id=g group.protocol=consumer "
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

func TestConsumerPropertiesBecomeOptions(t *testing.T) {
	for _, m := range consumerMappings() {
		t.Run(m.name, func(t *testing.T) {
			got := consumerOption(consumerClient(t, parseConsumer(t, strings.Fields(m.properties)...)), m.option)
			if diff := cmp.Diff(m.want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("%s with %q (-want +got):\n%s", m.option, m.properties, diff)
			}
		})
	}
}

func TestEveryOptionAConsumerPropertyNamesIsTested(t *testing.T) {
	tested := map[string]bool{
		"Dialer": true, "RetryBackoffFn": true, // functions; the producer tests them
		"InstanceID": true, // the caller sets it
	}
	for _, m := range consumerMappings() {
		tested[m.option] = true
	}
	cl := consumerClient(t, parseConsumer(t))
	for _, p := range consumerProperties() {
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
}

func TestConsumerPausesAsPropertiesSay(t *testing.T) {
	cl := consumerClient(t, parseConsumer(t, "retry.backoff.ms=7000", "retry.backoff.max.ms=3000"))
	if got := cl.OptValue(kgo.RetryBackoffFn).(func(int) time.Duration)(1); got != 3*time.Second {
		t.Errorf("%v, want 3s", got)
	}
}

func TestConsumerDefaultsAreJavasOrThoseOfKafkasTest(t *testing.T) {
	s := parseConsumer(t)
	got := []any{
		s.Group(), s.InstanceID(), s.Protocol(), s.ReadCommitted(), s.AutoCommit(), s.AutoCommitInterval(), s.MaxPollRecords(),
		s.FetchMaxBytes(), s.FetchMinBytes(), s.FetchMaxWait(), s.MaxPartitionFetchBytes(), s.OffsetReset(), len(s.GroupOptions()),
	}
	want := []any{
		"", "", "classic", false, false, 5 * time.Second, 0,
		2 << 20, 1, 500 * time.Millisecond, 1 << 20, "earliest", 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryConsumerSettingTellsWhereItCameFrom(t *testing.T) {
	all := parseConsumer(t, "group.id=g", "fetch.min.bytes= 20 ").All()
	if len(all) != len(consumerProperties()) {
		t.Fatalf("%d settings, want %d", len(all), len(consumerProperties()))
	}
	for i, s := range all {
		if i > 0 && all[i-1].Name >= s.Name {
			t.Errorf("%s before %s", all[i-1].Name, s.Name)
		}
		if s.Name != "fetch.min.bytes" && s.Name != "group.id" && s.Source != SourceDefault {
			t.Errorf("%s from %q", s.Name, s.Source)
		}
		want := result.Setting{
			Name: "fetch.min.bytes", Value: "20", Default: "1", Source: "--command-property", Client: "FetchMinBytes",
		}
		if s.Name == "fetch.min.bytes" && s != want {
			t.Error(cmp.Diff(want, s))
		}
	}
}

func TestABadConsumerValueIsAnErrorThatNamesPropertyValueSourceAndRange(t *testing.T) {
	const assignors = " RangeAssignor, RoundRobinAssignor, StickyAssignor CooperativeStickyAssignor"
	const reset = " earliest latest none by_duration:"
	for _, tc := range []struct{ name, property, words string }{
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
		{"TLS", "security.protocol=SASL_SSL", "security.protocol=SASL_SSL security"},
		{"a secret, which is not shown", "sasl.jaas.config=hunter2", "sasl.jaas.config security"},
		{"a misspelt property", "fetch.min.byte=1", `"fetch.min.byte" fetch.min.bytes?`},
		{"a producer's property", "acks=1", `"acks" producer`},
		{"a property like no other", "goats=7", `"goats" consumer`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := ParseConsumer(given("f", tc.property), false)
			wants(t, err, tc.words+" (from f)")
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("it shows a secret: %v", err)
			}
		})
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
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := ParseConsumer(given("f", strings.Fields(tc.words)...), false)
			wants(t, err, tc.err)
		})
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
		t.Run(tc.name, func(t *testing.T) {
			got := parseConsumer(t, strings.Fields(tc.words)...).settings[tc.property]
			if got.Value != tc.value || got.Source != SourceDerived || !strings.Contains(got.Note, tc.note) {
				t.Errorf("%+v, want %q and %q", got, tc.value, tc.note)
			}
		})
	}
	s := parseConsumer(t, "fetch.max.bytes=1000")
	if got := s.settings["fetch.max.bytes"]; got.Value != "1000" || got.Source == SourceDerived {
		t.Errorf("a given value: %+v", got)
	}
}

func TestLenientWarnsOfUnknownConsumerPropertiesButStillRefusesSecurity(t *testing.T) {
	_, warnings, err := ParseConsumer(given("f", "fetch.min.byte=1", "acks=1"), true)
	if err != nil || len(warnings) != 2 || missing(warnings[0], `"acks" (from f) ignored`) != "" || missing(warnings[1], `"fetch.min.byte" (from f) ignored`) != "" {
		t.Errorf("error %v, warnings %q", err, warnings)
	}
	if _, _, err := ParseConsumer(given("f", "ssl.protocol=TLS"), true); err == nil {
		t.Error("ssl.protocol=TLS: accepted")
	}
}

func TestAConsumerPropertyWithoutEffectEarnsAWarningUnlessItChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		name, property string
		warns          bool
	}{
		{"topics created by reading", "allow.auto.create.topics=true", true},
		{"no topics created by reading", "allow.auto.create.topics=false", false},
		{"a deserializer of text", "key.deserializer=StringDeserializer", true},
		{"the deserializer of bytes", "value.deserializer=" + byteArrayOut, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, warnings, err := ParseConsumer(given("f", tc.property), false)
			if got := strings.Join(warnings, "\n"); err != nil || (got != "") != tc.warns || tc.warns && missing(got, tc.property+" (from f)") != "" {
				t.Errorf("%s: error %v, warnings %q", tc.property, err, got)
			}
		})
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
		t.Run(tc.name, func(t *testing.T) {
			from, refuse := parseConsumer(t, "auto.offset.reset="+tc.reset).From(tc.given, now)
			if from != tc.want || refuse != tc.refuse {
				t.Errorf("%v, refuse %v; want %v, %v", from, refuse, tc.want, tc.refuse)
			}
		})
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
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// FuzzParseConsumer reads a file of name=value lines, as FuzzParseProducer does.
func FuzzParseConsumer(f *testing.F) {
	f.Add("group.id=g\nsession.timeout.ms=100\nheartbeat.interval.ms=99\nmax.poll.interval.ms=100", false)
	f.Add("group.id=g\ngroup.protocol=consumer\ngroup.remote.assignor=range\ngroup.instance.id=i", false)
	f.Add("group.id=g\npartition.assignment.strategy=RangeAssignor, StickyAssignor\nenable.auto.commit=false\nauto.commit.interval.ms=2147483647", false)
	f.Add("fetch.max.bytes=0\nfetch.min.bytes=2147483647\nfetch.max.wait.ms=2147483647\nisolation.level=read_committed\ncheck.crcs=true", true)
	f.Add("max.partition.fetch.bytes=1073741824\nauto.offset.reset=by_duration:P1DT2H\nrequest.timeout.ms=900000\nacks=1", true)
	f.Fuzz(func(t *testing.T, file string, lenient bool) {
		properties := map[string]plan.Given{}
		for line := range strings.Lines(file) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			properties[name] = plan.Given{Value: value, Source: "fuzz"}
		}
		s, _, err := ParseConsumer(properties, lenient)
		if err != nil {
			return
		}
		s.From(plan.From{}, time.Now())
		cl, err := kgo.NewClient(slices.Concat(s.Options(), s.GroupOptions())...)
		if err != nil {
			t.Fatalf("franz-go refuses: %v", err)
		}
		cl.Close()
		again := map[string]plan.Given{}
		for _, setting := range s.All() {
			if setting.Value != "" {
				again[setting.Name] = plan.Given{Value: setting.Value, Source: "again"}
			}
		}
		s2, _, err := ParseConsumer(again, false)
		if err != nil {
			t.Fatalf("the settings in effect do not parse: %v", err)
		}
		for name, setting := range s.settings {
			if s2.settings[name].Value != setting.Value && setting.Value != "" {
				t.Errorf("%s: %q becomes %q", name, setting.Value, s2.settings[name].Value)
			}
		}
	})
}

func ExampleParseConsumer() {
	given := map[string]plan.Given{"group.id": {Value: "perf", Source: "--group"}, "fetch.min.bytes": {Value: "100000", Source: "client.properties"}}
	s, _, err := ParseConsumer(given, false)
	fmt.Println(s.Group(), s.FetchMinBytes(), s.AutoCommit(), err)
	// Output: perf 100000 true <nil>
}
