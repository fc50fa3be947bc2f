package javaconf

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	s, _, err := ParseProducer(given("--command-property", words...), recordMax, false)
	if err != nil {
		t.Fatal(err)
	}
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
	if got := parse(t, 1).ReachTimeout(); got != 0 {
		t.Errorf("by default: %v", got)
	}
	if got := parse(t, 1, "socket.connection.setup.timeout.ms=700").ReachTimeout(); got != 700*time.Millisecond {
		t.Errorf("700: %v", got)
	}
}

func TestAllIsSortedAndTellsWhereEachValueCameFrom(t *testing.T) {
	all := parse(t, 1000, "linger.ms= 20 ").All()
	if len(all) != len(properties()) {
		t.Fatalf("%d settings, want %d", len(all), len(properties()))
	}
	for i, s := range all {
		if i > 0 && all[i-1].Name >= s.Name {
			t.Errorf("%s before %s", all[i-1].Name, s.Name)
		}
		if s.Name != "linger.ms" && s.Source != SourceDefault {
			t.Errorf("%s from %q", s.Name, s.Source)
		}
		want := result.Setting{
			Name: "linger.ms", Value: "20", Default: "5", Source: "--command-property", Client: "ProducerLinger",
		}
		if s.Name == "linger.ms" && s != want {
			t.Error(cmp.Diff(want, s))
		}
	}
}

func TestABadValueIsAnErrorThatNamesPropertyValueSourceAndRange(t *testing.T) {
	for _, tc := range []struct{ name, property, want string }{
		{"an acks Kafka does not have", "acks=2", "acks=2 (from f): must be 0, 1 or all"},
		{"a linger above franz-go's limit", "linger.ms=60001", "linger.ms=60001 (from f): must be a whole number of milliseconds from 0 to 60000"},
		{"a duration with a unit", "linger.ms=5ms", "linger.ms=5ms (from f): must be a whole number of milliseconds from 0 to 60000"},
		{"a negative batch", "batch.size=-1", "batch.size=-1 (from f): must be a whole number of bytes from 0 to 1073741824"},
		{"memory without a limit", "buffer.memory=x", "buffer.memory=x (from f): must be a whole number of bytes, at least 0"},
		{"a codec Kafka does not have", "compression.type=brotli", "compression.type=brotli (from f): must be none, gzip, snappy, lz4 or zstd"},
		{"a gzip level of 0", "compression.gzip.level=0", "compression.gzip.level=0 (from f): must be a whole number from 1 to 9, or -1"},
		{"neither true nor false", "enable.idempotence=yes", "enable.idempotence=yes (from f): must be true or false"},
		{"an empty transactional id", "transactional.id=", "transactional.id= (from f): must not be empty"},
		{"a partitioner of one's own", "partitioner.class=com.acme.P", "partitioner.class=com.acme.P (from f): must be RoundRobinPartitioner, or empty for Kafka's built-in partitioner"},
		{"TLS", "security.protocol=SASL_SSL", "security.protocol=SASL_SSL (from f): security settings are not supported yet; kt connects in plain text only"},
		{"a secret, which is not shown", "sasl.jaas.config=hunter2", "sasl.jaas.config (from f): security settings are not supported yet; kt connects in plain text only"},
		{"a keystore", "ssl.keystore.location=/k", "ssl.keystore.location (from f): security settings are not supported yet; kt connects in plain text only"},
		{"two-phase commit", "transaction.two.phase.commit.enable=true", "transaction.two.phase.commit.enable=true (from f): must be false; franz-go has no two-phase commit"},
		{"a misspelt property", "batch.sizes=1", `unknown property "batch.sizes" (from f): did you mean batch.size?`},
		{"a consumer's property", "group.id=g", `unknown property "group.id" (from f): it is a consumer property`},
		{"a property like no other", "goats=7", `unknown property "goats" (from f): Kafka's producer has none like it`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := ParseProducer(given("f", tc.property), 1000, false)
			if err == nil || err.Error() != tc.want {
				t.Errorf("%s: got  %v\nwant %s", tc.property, err, tc.want)
			}
		})
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, _, err := ParseProducer(given("f", "acks=2", "linger.ms=-1", "batch.sizes=1"), 2<<20, false)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"acks=2", "linger.ms=-1", "batch.sizes", "max.request.size=1048576 (default)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

func TestLenientWarnsOfUnknownPropertiesButStillRefusesSecurity(t *testing.T) {
	_, warnings, err := ParseProducer(given("f", "batch.sizes=1", "group.id=g"), 1000, true)
	want := []string{
		`unknown property "batch.sizes" (from f): did you mean batch.size?; ignored`,
		`unknown property "group.id" (from f): it is a consumer property; ignored`,
	}
	if diff := cmp.Diff(want, warnings); err != nil || diff != "" {
		t.Errorf("error %v, warnings:\n%s", err, diff)
	}
	for _, word := range []string{"ssl.protocol=TLS", "security.providers=p", "security.protocol=SSL"} {
		if _, _, err := ParseProducer(given("f", word), 1000, true); err == nil {
			t.Errorf("%s: accepted", word)
		}
	}
}

func TestAPropertyWithoutEffectEarnsAWarningUnlessItChangesNothing(t *testing.T) {
	for _, tc := range []struct{ name, property, want string }{
		{"a pause franz-go does not have", "reconnect.backoff.ms=10", "reconnect.backoff.ms=10 (from f) has no effect: franz-go pauses as retry.backoff.ms says."},
		{"the same at its default", "reconnect.backoff.ms=50", ""},
		{"a serializer of text", "value.serializer=StringSerializer", "value.serializer=StringSerializer (from f) has no effect: kt's values are bytes already."},
		{"the serializer of bytes", "value.serializer=" + byteArray, ""},
		{"the recovery strategy in capitals", "metadata.recovery.strategy=REBOOTSTRAP", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, warnings, err := ParseProducer(given("f", tc.property), 1000, false)
			if got := strings.Join(warnings, "\n"); err != nil || got != tc.want {
				t.Errorf("%s: error %v, got %q, want %q", tc.property, err, got, tc.want)
			}
		})
	}
}
