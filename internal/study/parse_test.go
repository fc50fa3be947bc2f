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
	return must.Have(Parse("mine.yaml", []byte(text), anyFlag))(t)
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
	for _, c := range must.Rows[[]struct{ Text, Where, What string }](t, "parse") {
		_, err := Parse("s.yaml", []byte(c.Text), anyFlag)
		if err == nil || !strings.Contains(err.Error(), c.Where) || !strings.Contains(err.Error(), c.What) {
			t.Errorf("%q: %v; want %q at %q", c.Text, err, c.What, c.Where)
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
	for text, want := range must.Rows[map[string]string](t, "parse") {
		must.Err(t, want, must.Fail(Parse("s.yaml", []byte(text), anyFlag)), "%q", text)
	}
}
