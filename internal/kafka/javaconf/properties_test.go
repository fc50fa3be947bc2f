package javaconf

import (
	"os"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestEveryPropertyHasOneRowThatCanBeExplained(t *testing.T) {
	t.Run("producer", func(t *testing.T) { checkRows(t, producerProperties()) })
	t.Run("consumer", func(t *testing.T) { checkRows(t, consumerProperties()) })
}

func checkRows(t *testing.T, table []property) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range table {
		if seen[p.name] {
			t.Errorf("%s: has two rows", p.name)
		}
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
	t.Run("producer", func(t *testing.T) { checkPresets(t, producerProperties()) })
	t.Run("consumer", func(t *testing.T) { checkPresets(t, consumerProperties()) })
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
	must.Match(t, want, presets(producerProperties()), "properties")
}

func TestPropertiesAndDefaultsAreThoseOfKafkasConsumerExceptWhereANoteSaysWhy(t *testing.T) {
	want := kafkaDefaults(t, "testdata/consumer_properties.tsv")
	notes := map[string]string{}
	for _, p := range consumerProperties() {
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
	must.Match(t, want, presets(consumerProperties()), "properties")
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
