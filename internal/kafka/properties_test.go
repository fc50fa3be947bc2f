package kafka

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryPropertyIsDocumentedAndCanBeExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range properties() {
		if seen[p.name] {
			t.Errorf("%s: has two rows", p.name)
		}
		seen[p.name] = true
		if !strings.HasSuffix(p.doc, ".") {
			t.Errorf("%s: doc %q is no sentence", p.name, p.doc)
		}
		if p.note != "" && !strings.HasSuffix(p.note, ".") {
			t.Errorf("%s: note %q is no sentence", p.name, p.note)
		}
		if p.client == hasNoTwin && p.note == "" {
			t.Errorf("%s: ignored without saying why", p.name)
		}
		if (p.client == hasNoTwin || p.client == actsItself) && p.apply != nil {
			t.Errorf("%s: names no option but applies one", p.name)
		}
	}
}

func TestEveryDefaultPassesItsOwnCheck(t *testing.T) {
	for _, p := range properties() {
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
	file, err := os.ReadFile("testdata/producer_properties.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"client.rack":            "", // from Kafka 4.4 on
		"partitioner.rack.aware": "false",
	}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, preset, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		want[name] = preset
	}
	want["client.id"] = "kt-producer" // Java numbers its producers
	want["key.serializer"], want["value.serializer"] = byteArray, byteArray
	got := map[string]string{}
	for _, p := range properties() {
		got[p.name] = p.preset
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-Kafka +kt):\n%s", diff)
	}
}
