package study

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
)

const wholeText = `
given: {a: one system, b: another one}
parts:
  - name: top
    find: {ladder: [10k, 50k], slo: p99<50ms}
    load: {command: produce}
    pair: true
    factors: {url: [$a, $b], batch-size: [1MiB, default]}
  - name: half
    load: {command: produce, rate: 50%*$peak}
    pair: true
    factors: {url: [$a, $b, $b], linger: [default, default, 5ms]}
    ask: [{best: url, by: p99}]
`

// readWhole returns the study of parts, filled in.
func readWhole(t *testing.T) *Study {
	t.Helper()
	s := parsed(t, wholeText)
	s.Set("a", []string{"kafka://a:9092"})
	s.Set("b", []string{"pulsar://b:6650/public/default"})
	return s
}

func TestASearchWithFactorsIsOneForEachCell(t *testing.T) {
	s := readWhole(t)
	s.Set("half.linger", []string{"1ms"}) // for all pairs, so two of them are the same
	s.Set("rate", []string{"7"})          // a search gives its trials their rates
	filled(t, s, 0)
	var got []string
	for _, part := range s.Parts {
		got = append(got, part.Name+": "+part.Loads[0].String()+" "+strings.Join(names(part.Cells()), ", "))
	}
	want := []string{
		"top-1: produce --url kafka://a:9092 --batch-size 1MiB ",
		"top-2: produce --url pulsar://b:6650/public/default ",
		"half: produce --rate 7 url=kafka://a:9092 linger=1ms, url=pulsar://b:6650/public/default linger=1ms",
	}
	must.Match(t, want, got, "parts")
	alone := filled(t, parsed(t, "about: Where?\nfind: {trial: 1s}\nload: {command: produce}\nfactors: {acks: [1, all], linger: [0]}"), 0)
	if len(alone.Parts) != 2 || alone.Find != nil || alone.Parts[1].Name != "mine-2" || alone.Parts[1].About != "Where? (acks=all linger=0)" {
		t.Errorf("a search that is no part: %+v", alone)
	}
	for i, want := range []string{"top-1: produce url=kafka://a:9092 batch-size=1MiB", "top-2: produce url=pulsar://b:6650/public/default", "produce --rate 7"} {
		must.Match(t, want, s.Parts[i].Heading(), "part %d has the heading", i)
	}
}

func TestAPartTakesThePeakOfThoseBeforeIt(t *testing.T) {
	s := readWhole(t)
	filled(t, s, 0)
	half := s.Parts[2]
	at, err := half.AtPeak(3_000.5)
	if err != nil || at.Loads[0].String() != "produce --rate 1500" {
		t.Errorf("%v, %v", at.Loads, err)
	}
	if !half.needsPeak() || at.needsPeak() {
		t.Error("the part itself was changed")
	}
	f := must.Have(Create(t.TempDir(), s, "whole"))(t)
	must.Err(t, "--set peak=RATE", must.Fail(f.enter(half)), "without a search")
	s = readWhole(t)
	s.Set("peak", []string{"500"})
	if err := s.Fill(0); err != nil || s.Parts[2].Loads[0].String() != "produce --rate 250" {
		t.Errorf("a peak that is given: %v, %v", s.Parts[2].Loads, err)
	}
}

// Names of searches are made when the values are filled in, and those of a copied folder may be anything.
func TestNamesOfPartsAreCheckedWhereverTheyComeFrom(t *testing.T) {
	s := filled(t, parsed(t, "parts:\n  - {name: a, find: {}, load: {command: produce}, factors: {acks: [1, all]}}\n  - {name: a-1, load: {command: produce}}"), 0)
	must.Err(t, "two have the name a-1", s.Check(), "a part with the name of a search")
	s.Parts = s.Parts[:1]
	dir := t.TempDir()
	s.Parts[0].Name = "../../outside"
	must.Have(Create(dir, s, "copied"))(t)
	must.Err(t, `name "../../outside"`, must.Fail(Open(dir, "copied")), "a path as a name")
}

func TestSetIsOfThePartThatItNames(t *testing.T) {
	s := parsed(t, "given: {replicas: how many}\nparts:\n  - {name: peak, load: {command: produce, partitions: $replicas}}\n  - {name: a, load: {command: produce, rate: $peak}}\n  - {name: a.b, load: {command: consume}}\n  - {name: acks, load: {command: produce}}")
	if s.NeedsBrokers() {
		t.Error("$replicas is given")
	}
	for name, value := range map[string]string{"peak": "500", "a.b.topic": "t", "acks": "1", "a.linger": "5ms", "replicas": "2"} {
		s.Set(name, []string{value})
	}
	filled(t, s, 0)
	want := []string{"produce --partitions 2 --acks 1", "produce --rate 500 --acks 1 --linger 5ms", "consume --topic t --acks 1", "produce --acks 1"}
	for i, part := range s.Parts {
		if got := part.Loads[0]; len(got.Flags) != strings.Count(want[i], "--") {
			t.Errorf("part %s: %s, want %s in any order", part.Name, got, want[i])
		}
	}
}

func TestATopicIsDeletedWhereItsCellWasMade(t *testing.T) {
	s := &Study{Loads: []Load{{Command: "produce"}}, Repeats: 1, Order: Listed, Factors: []Factor{{Name: "url", Values: []string{"amqp://a", "kafka://b", "kafka://c"}}}}
	f := must.Have(Create(t.TempDir(), s, "three"))(t)
	runner := new(scribe)
	must.Do(t, Execute(t.Context(), f, runner, func(Progress) {}))
	must.Match(t, s.Factors[0].Values, runner.deletedAt, "deleted at")
}

func TestOfSeveralSearchesOfASystemTheHighestStands(t *testing.T) {
	s := filled(t, parsed(t, "parts:\n  - {name: a, published: [confluent-2020/peak], find: {}, load: {command: produce}, factors: {url: [kafka://a, pulsar://b, pulsar://c], acks: [1, all]}}"), 0)
	d := &Document{Study: s, WholeDoc: &WholeDoc{Systems: s.Systems()}}
	for i, p := range s.Parts {
		d.Parts = append(d.Parts, PartDoc{Name: p.Name, Find: &Document{Study: p, Over: i > 0, FindDoc: &FindDoc{Peak: PeakRate{RecordsPerSecond: []float64{7, 5, 1, 9, 3, 4}[i]}}}})
	}
	must.Do(t, d.compare())
	for i, mb := range []float64{605, 305} {
		if p := d.SideBySide[i].Published; len(p) != 1 || p[0].MBSecond != mb || p[0].Of == "" || p[0].Link == "" {
			t.Errorf("%+v, want %v MB/s", p, mb)
		}
		d.SideBySide[i].Published = nil
	}
	want := []SystemBest{
		{Part: "a", System: "Kafka", At: "acks=1", By: metric.Rate, Peak: &PeakRate{RecordsPerSecond: 7}},
		{Part: "a", System: "Pulsar", At: "url=pulsar://b acks=all", By: metric.Rate, Peak: &PeakRate{RecordsPerSecond: 9}, Over: true},
	}
	must.Match(t, want, d.SideBySide, "standings")
}
