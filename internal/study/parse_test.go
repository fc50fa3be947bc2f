package study

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
)

func anyFlag(string, string) error { return nil }

// parsed returns the study of a file.
func parsed(t *testing.T, text string) *Study {
	t.Helper()
	return must.Have(Parse("mine.yaml", []byte(text), anyFlag))(t)
}

// filled returns a study with what it leaves open.
func filled(t *testing.T, s *Study, brokers int) *Study {
	t.Helper()
	must.Do(t, s.Fill(brokers))
	return s
}

func TestAFlagThatNoLoadHasIsFound(t *testing.T) {
	_, err := Parse("s.yaml", []byte("load: {command: produce, aks: 1}"), func(_, flag string) error { return errors.New(flag + ": none") })
	must.True(t, err != nil && err.Error() == "s.yaml:1:26: load: aks: none", "%v", err)
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
	f.Add(must.Have(os.ReadFile("testdata/sweep.yaml"))(f))
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
	must.Match(t, want, must.Have(Parse("my/sweep.yaml", must.Have(os.ReadFile("testdata/sweep.yaml"))(t), anyFlag))(t), "read")
	s, err := Parse("s.yaml", []byte("load: &l {command: produce, acks: &a 007}\nprepare: [{<<: *l, name: x, linger: *a}]\nrest: &r 05\nbytes: 0100MB\npair: true\nfactors: {linger: [0]}"), anyFlag)
	must.Hold(t, err == nil && s.Rest == plan.Duration(5*time.Second) && s.Bytes == 100e6 && s.Pair, "%+v, %v", s, err)
	must.Match(t, []Load{{Name: "x", Command: "produce", Flags: []Flag{{"linger", "007"}, {"acks", "007"}}}}, s.Prepare, "aliases and <<")
	f, err := Parse("s.yaml", []byte("load: {command: produce}\nrest: &r 05\nfind: {trial: *r, precision: 00.5, curve: [00.2]}"), anyFlag)
	if err != nil || f.Find.Trial != plan.Duration(5*time.Second) || f.Find.Precision != 0.5 || len(f.Find.Curve) != 1 || f.Find.Curve[0] != 0.2 {
		t.Fatalf("%+v, %v", f, err)
	}
	for text, want := range must.Rows[map[string]string](t, "parse") {
		must.Err(t, want, must.Fail(Parse("s.yaml", []byte(text), anyFlag)), "%q", text)
	}
}

func names(cells []Cell) (all []string) {
	for _, c := range cells {
		all = append(all, c.String())
	}
	return all
}

func TestCellsAreEveryPairOrTheValuesSideBySide(t *testing.T) {
	s := &Study{Factors: []Factor{{Name: "acks", Values: []string{"1", "all"}}, {Name: "linger", Values: []string{"0", "5ms"}}}}
	want := []string{"acks=1 linger=0", "acks=1 linger=5ms", "acks=all linger=0", "acks=all linger=5ms"}
	must.Match(t, want, names(s.Cells()), "every pair")
	s.Pair = true
	must.Match(t, []string{"acks=1 linger=0", "acks=all linger=5ms"}, names(s.Cells()), "side by side")
	must.Match(t, []string{""}, names((&Study{}).Cells()), "without a factor")
}

func TestTurnsHaveEveryCellOnceInABlock(t *testing.T) {
	s := &Study{Factors: []Factor{{Name: "partitions", Values: []string{"1", "2", "3", "4", "5"}}}, Repeats: 4, Order: Shuffled, Seed: 7}
	turns := s.Turns()
	order := ""
	for _, turn := range (&Study{Factors: []Factor{{Name: "linger", Values: []string{"0", "5ms"}}}, Repeats: 4, Order: ABBA}).Turns() {
		order += string(rune('A' + turn.Cell.Index))
	}
	must.Match(t, "ABBAABBA", order, "two cells go in the order")
	orders := make(map[string]bool)
	for block := range slices.Chunk(turns, 5) {
		var cells []int
		order := ""
		for _, turn := range block {
			cells, order = append(cells, turn.Cell.Index), order+turn.Cell.String()
		}
		orders[order] = true
		slices.Sort(cells)
		must.Match(t, []int{0, 1, 2, 3, 4}, cells, "a block has the cells")
	}
	must.True(t, len(orders) != 1, "all blocks have one order")
	for i, turn := range turns {
		must.Match(t, i/5+1, turn.Repeat, "the block of turn %d", i)
	}
	if diff := cmp.Diff(turns, s.Turns(), cmp.AllowUnexported(Cell{})); diff != "" {
		t.Errorf("the same seed gives another order:\n%s", diff)
	}
}

func TestALoadGetsTheValuesOfItsCell(t *testing.T) {
	l := Load{Name: "write", Flags: []Flag{{"acks", "1"}, {"topic-config", "flush.messages=1"}, {"topic-config", "retention.ms=1000"}}}
	s := &Study{Prepare: []Load{{Name: "old", Flags: []Flag{{"partitions", "1"}}}}, Loads: []Load{l, {Name: "read"}}}
	c := Cell{At: []Flag{{"acks", "all"}, {"topic.flush.messages", Default}, {"write.producers", "3"}, {"read.consumers", "9"}, {"old.partitions", "4"}}}
	want := []Flag{{"topic-config", "retention.ms=1000"}, {"acks", "all"}, {"producers", "3"}}
	must.Match(t, want, s.at(c, l).Flags, "its flags")
	old, name := s.at(c, s.Prepare[0]), s.prepared(c, s.Prepare[0])
	if diff := cmp.Diff([]Flag{{"partitions", "4"}}, old.Flags); diff != "" || name != "old-4" {
		t.Errorf("prepared, called %q (-want +got):\n%s", name, diff)
	}
	must.True(t, len(l.Flags) == 3 && l.Flags[0].Value == "1", "the load itself was changed: %v", l.Flags)
}

func TestAStudyIsChangedByName(t *testing.T) {
	s := &Study{
		Prepare: []Load{{Name: "old", Flags: []Flag{{"num-records", "20M"}}}},
		Loads:   []Load{{Name: "write", Flags: []Flag{{"acks", "1"}, {"num-records", "10M"}}}, {Name: "read"}},
		Factors: []Factor{{Name: "write.producers", Values: []string{"1", "3"}}},
	}
	s.Set("write.producers", []string{"2"})
	s.Set("write.acks", []string{"all"})
	s.Set("record-size", []string{"100"})
	s.Set("old.partitions", []string{"4"})
	s.Share("bootstrap-server", "kafka:9092", true)
	s.LimitTo(2 * time.Second)
	tail := []Flag{{"record-size", "100"}, {"bootstrap-server", "kafka:9092"}, {"duration", "2s"}}
	typed := []Flag{{"producers", "2"}, {"acks", "all"}, {"record-size", "100"}, {"partitions", "4"}, {"bootstrap-server", "kafka:9092"}}
	want := &Study{
		Prepare: []Load{{Name: "old", Flags: append([]Flag{{"partitions", "4"}}, tail[1:]...), Typed: typed}},
		Loads: []Load{
			{Name: "write", Flags: append([]Flag{{"acks", "all"}}, tail...), Typed: typed},
			{Name: "read", Flags: tail, Typed: typed},
		},
		Factors: []Factor{{Name: "write.producers", Values: []string{"2"}}},
	}
	must.Match(t, want, s, "changed")
}

// Brokers of the environment are for the loads of which the study does not say where they go.
func TestAURLOfTheStudyKeepsBrokersAway(t *testing.T) {
	url := []Flag{{"url", "kafka://a:1"}}
	for _, s := range []*Study{{Loads: []Load{{}}, Factors: []Factor{{Name: "url"}}}, {Loads: []Load{{Flags: url}}}, {Loads: []Load{{}}, Trial: &Proposal{Changes: url}}} {
		before := len(s.Loads[0].Flags)
		if s.Share("bootstrap-server", "b:1", true, "url"); len(s.Loads[0].Flags) != before || !s.Sets("url") {
			t.Errorf("%+v", s.Loads[0].Flags)
		}
	}
}

// A value is of the person who started the study by its flag, and by what fills in an address that is left open.
func TestAValueIsThePersonsOnlyIfThePersonGaveIt(t *testing.T) {
	s := &Study{
		Given:   []Given{{Name: "kafka", About: "a broker"}},
		Parts:   []*Study{{Name: "a", Loads: []Load{{Name: "write", Command: "produce", Flags: []Flag{{"group", "g"}}}}, Factors: []Factor{{Name: "url", Values: []string{"$kafka", "amqp://evil"}}}}},
		Repeats: 1,
	}
	s.Set("kafka", []string{"kafka://k:1", "k:2"})
	s.Set("tag", []string{"amqp://evil"})
	s.Set("a.write.topic", []string{"t"})
	filled(t, s, 0)
	part := s.Parts[0]
	for _, c := range part.Cells() {
		l := part.at(c, part.Loads[0])
		for f, want := range map[Flag]bool{{"url", "kafka://k:1,k:2"}: true, {"url", "amqp://evil"}: false, {"tag", "amqp://evil"}: true, {"topic", "t"}: true, {"group", "t"}: false} {
			must.Match(t, want, l.IsTyped(f), "%v: the person gave it: %v", f, !want)
		}
	}
}

// readWhole returns the study of parts, filled in.
func readWhole(t *testing.T) *Study {
	t.Helper()
	s := parsed(t, string(must.Have(os.ReadFile("testdata/whole.yaml"))(t)))
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
	must.True(t, err == nil && at.Loads[0].String() == "produce --rate 1500", "%v, %v", at.Loads, err)
	must.True(t, half.asksFor(peakGiven) && !at.asksFor(peakGiven), "the part itself was changed")
	f := must.Have(Create(t.TempDir(), s, "whole"))(t)
	must.Err(t, "--set peak=RATE", must.Fail(f.enter(half)), "without a search")
	open := func(id string) error { return must.Fail(Open(filepath.Dir(f.root), id)) }
	must.Have(Create(filepath.Dir(f.root), s.Parts[0], "whole/top-1"))(t)
	must.Match(t, `study whole: no part "half" was begun; there is ["top-1"]`, open("whole/half").Error(), "a part that was not begun")
	must.Err(t, `no part "top1" was begun; did you mean top-1?`, open("whole/top1"), "a part with another name")
	must.Match(t, "study other: there is no such study; kt study list has those that were made", open("other").Error(), "an unknown study")
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
	for text, want := range map[string]string{
		`"parts": [null]`: "parts: name", `"trial": {}`: "trial: looks", `"trial": {"looks": [-1, 12]}`: "trial: looks", `"trial": {"looks": [6, 9000000]}`: "trial: looks",
		`"factors": [{"name": "acks"}]`:                                                                                 "no values",
		`"optimum": {"by": "rate", "most_runs": 9, "repeats": 6}`:                                                       "optimum: looks: write 1 to 1000",
		`"optimum": {"by": "rate", "most_runs": 9, "repeats": 6, "looks": [-6]}`:                                        "optimum: -6 runs",
		`"optimum": {"by": "rate", "most_runs": 9, "repeats": 6, "looks": [6, 5]}`:                                      "optimum: looks [6 5]",
		`"optimum": {"by": "rate", "most_runs": 9, "repeats": -3, "looks": [6]}`:                                        "optimum: -3 runs",
		`"optimum": {"by": "rate", "most_runs": 1000000000, "repeats": 6, "looks": [6]}`:                                "optimum: 1000000000 runs",
		`"optimum": {"by": "foo", "most_runs": 9, "repeats": 6, "looks": [6]}`:                                          `optimum: by "foo"`,
		`"factors": [{"name": "acks"}], "optimum": {"by": "rate"}`:                                                      "factor acks: a search for the best settings has a list",
		`"factors": [{"name": "acks", "values": ["1"]}], "optimum": {"by": "rate"}`:                                     "does not say what it is now",
		`"factors": [{"name": "acks", "values": [` + strings.Repeat(`"1", `, 200) + `"1"]}], "optimum": {"by": "rate"}`: "factor acks: it has 201 values",
		`"find": {}, "optimum": {}`:                                                                                     "nothing else is asked of it",
	} {
		text = `{"loads": [{"command": "produce"}], "repeats": 1, "order": "listed", ` + text + `}`
		must.Do(t, os.WriteFile(dir+"/copied/"+studyFile, []byte(text), 0o600))
		must.Err(t, want, must.Fail(Open(dir, "copied")), "%s", text)
	}
}

// A text with a name in it is no value that is left open, whatever its quotes; nor is one of people, or one that was given.
func TestOnlyAWholeValueIsLeftOpen(t *testing.T) {
	s := parsed(t, "given: {stop: which}\nload: {command: produce, exec: ['$stop', 'a $stop', 'a\"$stop', '\"$stop\"', '$stop\"', 'b\\\\', '$stop']}")
	s.Set("stop", []string{`say "no" \`})
	want := []string{`say "no" \`, "a $stop", `a"$stop`, `"$stop"`, `$stop"`, `b\\`, `say "no" \`}
	must.Match(t, want, mapped(filled(t, s, 0).Loads[0].Flags, func(f Flag) string { return f.Value }), "commands")
	must.Err(t, "a name has", must.Fail(Parse("x", []byte("given: {'a\"$b': which}\nload: {command: produce}"), func(string, string) error { return nil })), "a name with a quote")
}

func TestTextsOfPeopleAreNotFilledIn(t *testing.T) {
	const text = "about: $brokers\nfound: $nosuch\npublished: [$nosuch]\ngiven: {stop: $nosuch}\nload: {command: produce, exec: $stop, partitions: 2*$brokers}\nfactors: {acks: {search: 1..$brokers}}\nask: [{best: acks}]"
	s := parsed(t, text)
	s.Set("stop", []string{"$nosuch"})
	filled(t, s, 3)
	must.Match(t, []string{"$brokers", "$nosuch", "$nosuch", "$nosuch"}, []string{s.About, s.Found, s.Published[0], s.Given[0].About}, "texts")
	must.Match(t, "produce --exec $nosuch --partitions 6", s.Loads[0].String(), "the load")
	must.True(t, s.Loads[0].IsTyped(s.Loads[0].Flags[0]) && s.Factors[0].Search.To == "3", "typed: %v, up to %s", s.Loads[0].Typed, s.Factors[0].Search.To)
	must.True(t, !parsed(t, "about: $brokers\nload: {command: produce}").NeedsBrokers(), "a question needs no brokers")
}

func TestSetIsOfThePartThatItNames(t *testing.T) {
	s := parsed(t, "given: {replicas: how many}\nparts:\n  - {name: peak, load: {command: produce, partitions: $replicas}}\n  - {name: a, load: {command: produce, rate: $peak}}\n  - {name: a.b, load: {command: consume}}\n  - {name: acks, load: {command: produce}}")
	must.True(t, !s.NeedsBrokers(), "$replicas is given")
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
