package study

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

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
	if len(orders) == 1 {
		t.Error("all blocks have one order")
	}
	for i, turn := range turns {
		must.Match(t, []int{i + 1, i/5 + 1}, []int{turn.Number, turn.Repeat}, "turn %d is %+v", i, turn)
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
	if len(l.Flags) != 3 || l.Flags[0].Value != "1" {
		t.Errorf("the load itself was changed: %v", l.Flags)
	}
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
