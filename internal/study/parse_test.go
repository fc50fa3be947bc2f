package study

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
)

const sweep = `
about: 1.10
published: [three-hosts/partitions]
load: &l {command: produce, record-size: 0512, transactional-id: 007, tag: [2026-01-01, 1e3], linger: }
factors: {partitions: &p [010, 0x10, 1_000], topic.max.message.bytes: [1.0, yes, default]}
repeats: 010
discard: 08
seed: 0100
rest: &r 05
pair: False
order: listed
ask: [{best: partitions, by: p99}]
`

func anyFlag(string, string) error { return nil }

// parsed returns the study of a file.
func parsed(t *testing.T, text string) *Study {
	t.Helper()
	s := must.Have(Parse("mine.yaml", []byte(text), anyFlag))(t)
	return s
}

// filled returns the study of a file with what it leaves open.
func filled(t *testing.T, s *Study, brokers int) *Study {
	t.Helper()
	must.Do(t, s.Fill(brokers))
	return s
}

func TestAFlagThatNoLoadHasIsFound(t *testing.T) {
	_, err := Parse("s.yaml", []byte("load: {command: produce, aks: 1}"), func(_, flag string) error { return errors.New(flag + ": none") })
	if err == nil || err.Error() != "s.yaml:1:26: load: aks: none" {
		t.Error(err)
	}
}

// Every problem names where it is, and the key that was meant.
func TestWhatIsWrongInAStudyIsFound(t *testing.T) {
	for _, c := range []struct{ text, where, what string }{
		{"", "", "empty"},
		{"load: [", "s.yaml:1", "did not find"},
		{"laod: {command: produce}", "s.yaml:1:1", "did you mean load?"},
		{"load: {command: prodcue}", "s.yaml:1:17", "did you mean produce?"},
		{"load: {record-size: 1}", "s.yaml:1:7", "command"},
		{"load: {command: produce}\nload: {command: consume}", "s.yaml:2", "already defined at line 1"},
		{"load: {command: produce}\nfactors:\n  partitions: []", "s.yaml:3:15", "at least one value"},
		{"load: {command: produce}\nfactors:\n  partitions: [{a: 1}]", "s.yaml:3:16", "one value"},
		{"load: {command: produce}\nrepeats: many", "s.yaml:2:10", "number"},
		{"load: {command: produce}\nrest: long", "s.yaml:2:7", "time"},
		{"load: {command: produce}\norder: shufled", "s.yaml:2:8", "did you mean shuffled?"},
		{"load: {command: produce}\nask: [{by: p99}]", "s.yaml:2:7", "best or scaling"},
		{"loads: [{command: produce}]", "s.yaml:1:9", "name"},
		{"repeats: 3", "s.yaml:1:1", "load: there is none"},
		{"load: {command: produce}\nrepeats: 0", "s.yaml:2:10", "repeats 0"},
		{"load: {command: produce}\nfactors: {partitions: [1]}\nask: [{best: partition}]", "s.yaml:3:7", "did you mean partitions?"},
		{"load: {command: produce, topic: orders}", "s.yaml:1:26", "topic: a study gives"},
		{"load: {command: produce}\nfactors: {topic: [a, b]}", "s.yaml:2:18", "factor topic: a study gives"},
		{"load: {command: produce}\nfactors: {acks: [0, 1], linger: [1]}\npair: true", "s.yaml:3:7", "acks has 2 values and linger has 1"},
		{"load: {command: produce}\nfactors: {acks: [0, 1, all]}\norder: abba", "s.yaml:3:8", "two cells"},
		{"load: {command: produce}\nfactors:\n  partitions: {search: 1..8}", "s.yaml:3:15", "needs a question"},
		{"load: {command: produce}\nfactors: {partitions: {search: 64..1}}\nask: [{best: partitions}]", "", "64..1"},
		{"load: {command: produce}\nfactors: {partitions: {search: 0..8}}\nask: [{best: partitions}]", "", "0..8"},
		{"load: {command: produce}\nfactors: {partitions: {search: 4KiB..10ms}}\nask: [{best: partitions}]", "", "one unit"},
		{"load: {command: produce}\nfactors: {partitions: {search: 1..8, fine: 0}}\nask: [{best: partitions}]", "", "fine 0"},
		{"load: {command: produce}\nfactors: {partitions: {search: 1..8, fine: 1KiB}}\nask: [{best: partitions}]", "", "fine 1KiB"},
		{"load: {command: produce}\nfactors: {partitions: {search: 1..8, finer: 1}}\nask: [{best: partitions}]", "", "did you mean fine"},
		{"load: {command: produce}\nfactors: {partitions: {search: 1..8}, producers: {search: 1..8}}\nask: [{best: partitions}]", "", "producers: a study searches one factor"},
		{"pair: true\nload: {command: produce}\nfactors: {partitions: {search: 1..8}}\nask: [{best: partitions}]", "", "pairs"},
		{"parts:\n  - {load: {command: produce}}", "", "s.yaml:2:3: parts: name"},
		{"parts:\n  - {name: a, lod: {command: produce}}", "", "s.yaml:2:15: study: unknown key \"lod\""},
		{"parts:\n  - {name: a, parts: []}", "", "unknown key \"parts\""},
		{"find: {ladder: [1]}\nload: {command: produce, rate: 3}", "", "--rate: kt find gives"},
		{"find: {}\nload: {command: produce}\nask: [{best: partitions}]\nfactors: {partitions: [1]}", "", "no questions"},
		{"find: {}\nload: {command: produce}\nfactors: {partitions: {search: 1..8}}", "", "lists of values"},
		{"find: {precision: 0}\nload: {command: produce}", "", "s.yaml:1:7: find: precision 0"},
		{"find: {trial: 1ms}\nload: {command: produce}", "", "trial 1ms"},
		{"find: {}\nload: {command: produce}\nfactors: {broker.num.io.threads: [8]}", "", "s.yaml:3:34: find: broker.num.io.threads: a search changes no broker"},
		{"find: {slo: p99}\nload: {command: produce}", "", "write a metric, a comparison and a value"},
		{"parts:\n  - {name: a, load: {command: produce}}\nload: {command: produce}", "", "leave them out beside parts"},
		{"parts:\n  - {name: a, load: {command: produce}}\n  - {name: a, load: {command: produce}}", "", "two have the name a"},
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

// What a study's file says is what flags would be given, and its own numbers are read as theirs are.
func TestAStudyKeepsTheTextThatStandsInItsFile(t *testing.T) {
	want := &Study{
		Name: "sweep", About: "1.10", Published: []string{"three-hosts/partitions"},
		Loads: []Load{{Command: "produce", Flags: []Flag{
			{"record-size", "0512"}, {"transactional-id", "007"}, {"tag", "2026-01-01"}, {"tag", "1e3"}, {"linger", ""},
		}}},
		Factors: []Factor{{Name: "partitions", Values: []string{"010", "0x10", "1_000"}}, {Name: "topic.max.message.bytes", Values: []string{"1.0", "yes", Default}}},
		Discard: 8, Repeats: 10, Order: Listed, Seed: 100, Rest: plan.Duration(5 * time.Second),
		Ask: []Question{{Best: "partitions", By: metric.P99}},
	}
	must.Match(t, want, must.Have(Parse("my/sweep.yaml", []byte(sweep), anyFlag))(t), "read")
	s, err := Parse("s.yaml", []byte("load: &l {command: produce, acks: &a 007}\nprepare: [{<<: *l, name: x, linger: *a}]\nrest: &r 05\nbytes: 0100MB\npair: true\nfactors: {linger: [0]}"), anyFlag)
	if err != nil || s.Rest != plan.Duration(5*time.Second) || s.Bytes != 100e6 || !s.Pair {
		t.Fatalf("%+v, %v", s, err)
	}
	must.Match(t, []Load{{Name: "x", Command: "produce", Flags: []Flag{{"linger", "007"}, {"acks", "007"}}}}, s.Prepare, "aliases and <<")
	f, err := Parse("s.yaml", []byte("load: {command: produce}\nrest: &r 05\nfind: {trial: *r, precision: 00.5, curve: [00.2]}"), anyFlag)
	if err != nil || f.Find.Trial != plan.Duration(5*time.Second) || f.Find.Precision != 0.5 || len(f.Find.Curve) != 1 || f.Find.Curve[0] != 0.2 {
		t.Fatalf("%+v, %v", f, err)
	}
	for text, want := range map[string]string{
		"load: {command: produce, acks: ~}":                       "s.yaml:1:32: ~ is no value",
		"load: {command: produce}\nabout: null":                   "s.yaml:2:8: null is no value",
		"load: {command: produce, topic: !!binary aGVsbG8=}":      "s.yaml:1:33: !!binary aGVsbG8=: leave the tag out",
		"load: {command: produce}\nrepeats: 0x10":                 `s.yaml:2:10: "0x10" does not fit: write a number`,
		"load: {command: produce}\nseed: 1_0":                     `s.yaml:2:7: "1_0" does not fit`,
		"load: {command: produce}\npair: yes":                     `s.yaml:2:7: "yes" does not fit: write true or false`,
		"load: {command: produce}\nrest: 0x1p2":                   `s.yaml:2:7: "0x1p2" does not fit: write a time`,
		"load: {command: produce}\nbytes: 8Gb":                    "s.yaml:2:8: bytes: \"8Gb\" counts bits",
		"load: {command: produce}\nfind: {precision: .inf}":       `does not fit: write a number`,
		"load: {command: produce}\nfactors: {acks: }":             "s.yaml:2:17: acks: give at least one value",
		"load: {command: produce}\n---\nload: {command: consume}": "s.yaml:2: only the part above the first --- would count",
		"load: {command: produce, acks: [1, [2]]}":                "s.yaml:1:36: write one value",
		"load: {command: produce}\nfactors: {acks: &a [1, *a]}\n": "s.yaml:1: anchor 'a' value contains itself",
	} {
		must.Err(t, want, must.Fail(Parse("s.yaml", []byte(text), anyFlag)), "%q", text)
	}
}
