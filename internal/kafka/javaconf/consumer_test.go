package javaconf

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

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
		if from != tc.want || refuse != tc.refuse {
			t.Errorf("%s: %v, refuse %v; want %v, %v", tc.name, from, refuse, tc.want, tc.refuse)
		}
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

func ExampleParseConsumer() {
	given := map[string]plan.Given{"group.id": {Value: "perf", Source: "--group"}, "fetch.min.bytes": {Value: "100000", Source: "client.properties"}}
	s, _, err := ParseConsumer(given, false)
	fmt.Println(s.Group(), s.FetchMinBytes(), s.AutoCommit(), err)
	// Output: perf 100000 true <nil>
}
