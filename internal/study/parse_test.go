package study

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/plan"
)

const sweep = `
about: How many partitions?
published: [000/partitions]
load: {command: produce, record-size: 512, acks: "1", header: [a=1, b=2]}
factors:
  partitions: [1, 3]
  topic.flush.messages: [1, default]
repeats: 2
order: listed
rest: 2s
ask: [{best: partitions, by: p99}]
`

func TestAStudyIsRead(t *testing.T) {
	s, err := Parse("my/sweep.yaml", []byte(sweep), anyFlag)
	if err != nil {
		t.Fatal(err)
	}
	want := &Study{
		Name: "sweep", About: "How many partitions?", Published: []string{"000/partitions"},
		Loads: []Load{{Command: "produce", Flags: []Flag{
			{"record-size", "512"}, {"acks", "1"}, {"header", "a=1"}, {"header", "b=2"},
		}}},
		Factors: []Factor{{Name: "partitions", Values: []string{"1", "3"}}, {Name: "topic.flush.messages", Values: []string{"1", "default"}}},
		Discard: 1, Repeats: 2, Order: Listed, Seed: 1, Rest: plan.Duration(2 * time.Second),
		Ask: []Question{{Best: "partitions", By: P99}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func anyFlag(string, string) error { return nil }

func TestAFlagThatNoLoadHasIsFound(t *testing.T) {
	known := func(command, flag string) error {
		if flag == "acks" || command == "consume" && flag == "group" {
			return nil
		}
		return errors.New(flag + ": none")
	}
	for _, c := range []struct{ text, where string }{
		{"load: {command: produce, aks: 1}\nfactors: {acks: [1, all], sysctl.vm.swappiness: [1], topic.cleanup.policy: [compact]}", "1:26: load: aks: none"},
		{"load: {command: produce}\nfactors: {acks: [1, all], aks: [1]}", "2:27: factor aks: none"},
		{"loads: [{name: w, command: produce}, {name: r, command: consume}]\nfactors: {group: [a, b], r.group: [c, d], w.group: [a, b]}", "2:43: factor group: none"},
	} {
		_, err := Parse("s.yaml", []byte(c.text), known)
		if err == nil || err.Error() != "s.yaml:"+c.where {
			t.Errorf("%q: %v, want %s alone", c.text, err, c.where)
		}
	}
}

// Every problem names where it is, and the key that was meant.
func TestWhatIsWrongInAStudyIsFound(t *testing.T) {
	for _, c := range []struct{ text, where, what string }{
		{"", "", "empty"},
		{"load: [", "", "line 1"},
		{"laod: {command: produce}", "s.yaml:1:1", "did you mean load?"},
		{"load: {command: prodcue}", "s.yaml:1:17", "did you mean produce?"},
		{"load: {record-size: 1}", "s.yaml:1:7", "command"},
		{"load: {command: produce}\nload: {command: consume}", "s.yaml:2:1", "twice"},
		{"load: {command: produce}\nfactors:\n  partitions: []", "s.yaml:3:15", "at least one value"},
		{"load: {command: produce}\nfactors:\n  partitions: [1, 1]", "s.yaml:3:15", "twice"},
		{"load: {command: produce}\nfactors:\n  partitions: [{a: 1}]", "s.yaml:3:16", "one value"},
		{"load: {command: produce}\nrepeats: many", "s.yaml:2:10", "number"},
		{"load: {command: produce}\nrest: long", "s.yaml:2:7", "time"},
		{"load: {command: produce}\norder: shufled", "s.yaml:2:8", "did you mean shuffled?"},
		{"load: {command: produce}\nask: [{by: p99}]", "s.yaml:2:7", "best or scaling"},
		{"load: {command: produce}\nask: [{best: partitions, by: p98}]", "s.yaml:2:30", "did you mean p9"},
		{"loads: [{command: produce}]", "s.yaml:1:9", "name"},
		{"repeats: 3", "s.yaml:1:1", "load: there is none"},
		{"load: {command: produce}\nrepeats: 0", "s.yaml:2:10", "repeats 0"},
		{"load: {command: produce}\nfactors: {partitions: [1]}\nask: [{best: partition}]", "s.yaml:3:7", "did you mean partitions?"},
		{"load: {command: produce, topic: orders}", "s.yaml:1:26", "topic: a study gives"},
		{"load: {command: produce, name: a, reads: old}", "s.yaml:1:7", `reads "old"`},
		{"load: {command: produce}\nfactors: {acks: [0, 1], linger: [1]}\npair: true", "s.yaml:3:7", "acks has 2 values and linger has 1"},
		{"load: {command: produce}\nfactors: {acks: [0, 1, all]}\norder: abba", "s.yaml:3:8", "two cells"},
		{"load: {command: produce}\nfactors:\n  partitions: {search: 8..1}\nask: [{best: partitions}]", "s.yaml:3:15", "search"},
		{"load: {command: produce}\nfactors:\n  partitions: {search: 1..8}", "s.yaml:3:15", "needs a question"},
		{"load: {command: produce}\ndiscard: -1", "s.yaml:2:10", "discard -1"},
	} {
		_, err := Parse("s.yaml", []byte(c.text), anyFlag)
		if err == nil || !strings.Contains(err.Error(), c.where) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%q: %v; want %q at %q", c.text, err, c.what, c.where)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sweep))
	f.Add([]byte("load: {command: produce}\nfactors: {a: [1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("s.yaml", text, anyFlag)
		if err == nil && len(s.Turns()) != len(s.Cells())*s.Repeats+s.Discard {
			t.Errorf("%d cells of %d repeats are %d runs", len(s.Cells()), s.Repeats, len(s.Turns()))
		}
	})
}
