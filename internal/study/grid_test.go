package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// searching makes a search in memory: rate returns the throughput of a run.
func searching(t *testing.T, s *Study, rate func(turn Turn) float64) (*Document, []Turn) {
	t.Helper()
	must.Do(t, s.Check())
	f := &Folder{ID: "made-up", Study: s, journal: new(journal), read: make(map[int][]LoadFigures)}
	var turns []Turn
	for made := -1; made < len(turns); {
		made = len(turns)
		d, err := f.known()
		if turns = d.turns; err != nil || made > 1000 {
			t.Fatal(made, err)
		}
		for _, turn := range turns[max(made, 0):] {
			f.log = append(f.log, entry{What: done, Turn: turn.Number})
			f.read[turn.Number] = []LoadFigures{{Measures: Measures[float64]{metric.Rate: rate(turn)}, Limit: verdict.BrokerAcks}}
		}
	}
	last := make(map[int]int) // the newest block of each cell
	for i, turn := range turns {
		block := slices.IndexFunc(turns, func(o Turn) bool { return o.Repeat == turn.Repeat })
		tied := slices.ContainsFunc(turns[block:], func(o Turn) bool { return o.Repeat == turn.Repeat && last[o.Cell.Index] > 0 })
		if last[turn.Cell.Index] = turn.Repeat; turn.Repeat > 1 && !tied || turn.Number != i+1 {
			t.Errorf("turn %+v, and its block has no cell of an earlier one: %v", turn, !tied)
		}
	}
	d := must.Have(f.Document())(t)
	for all := f.log; len(f.log) > 0; { // a search that was cut off goes on as it would have
		f.log = f.log[:len(f.log)-len(all)/4-1]
		known, err := f.known()
		if next := known.open(); err != nil || next == nil || len(known.turns) > len(turns) || next.Number != len(f.log)+1 || next.Cell.String() != turns[len(f.log)].Cell.String() {
			t.Fatalf("after %d runs comes %+v, %v; want %+v", len(f.log), next, err, turns[len(f.log)])
		}
		if len(f.log) <= len(all)/4 {
			f.log = nil
		}
	}
	return d, turns
}

func partitions(span Span) *Study {
	return &Study{
		Loads: []Load{{Command: "produce"}}, Factors: []Factor{{Name: "partitions", Search: &span}}, Repeats: 3, Order: Shuffled, Seed: 1,
		Ask: []Question{{Best: "partitions", By: metric.Rate}},
	}
}

// curve is highest at a number of partitions, and falls to both sides as ratios do.
func curve(best, n float64) float64 { return 100_000 / (1 + 0.15*math.Pow(math.Log2(n/best), 2)) }

func TestASearchEndsAndSaysWhy(t *testing.T) {
	exact := func(truth float64) func(Turn) float64 {
		chance := rand.New(rand.NewPCG(3, 0))
		return func(turn Turn) float64 {
			return curve(truth, float64(amount(turn.Cell.values()["partitions"]))) * math.Exp(1e-6*chance.NormFloat64())
		}
	}
	for _, tc := range []struct {
		name  string
		span  Span
		truth float64
		best  string
		end   SearchEnd
		tried []string
	}{
		{"down to 1", Span{"1", "16", "1"}, 11, "11", EndFine, []string{"1", "2", "4", "6", "8", "10", "11", "12", "13", "14", "16"}},
		{"down to 2", Span{"1", "16", "2"}, 11, "12", EndFine, []string{"1", "2", "4", "6", "8", "10", "12", "14", "16"}},
		{"steps of one without fine", Span{"1", "8", ""}, 5, "5", EndFine, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		{"at the lower end", Span{"4", "16", ""}, 1, "4", EndFine, []string{"4", "5", "6", "8", "16"}},
		{"at the upper end", Span{"1", "12", "2"}, 99, "12", EndFine, []string{"1", "2", "4", "8", "10", "12"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, _ := searching(t, partitions(tc.span), exact(tc.truth))
			a := d.Answers[0]
			var tried []string
			for _, c := range d.Cells {
				tried = append(tried, c.At["partitions"])
			}
			if diff := cmp.Diff(tc.tried, tried); diff != "" || a.Best != tc.best || a.SearchEnd != tc.end {
				t.Errorf("best %s, end %q (-want +got):\n%s", a.Best, a.SearchEnd, diff)
			}
		})
	}
	chance := rand.New(rand.NewPCG(1, 0))
	d, turns := searching(t, partitions(Span{"1", "64", ""}), func(Turn) float64 { return 1000 + 50*chance.NormFloat64() })
	if a := d.Answers[0]; a.SearchEnd != EndAlike || len(turns) != 7*3 {
		t.Errorf("noise alone: end %q after %d runs", a.SearchEnd, len(turns))
	}
	d, _ = searching(t, partitions(Span{"2", "16", "1"}), func(Turn) float64 { return 1000 + 50*chance.NormFloat64() })
	if a := d.Answers[0]; a.SearchEnd != EndFine || len(d.Cells) < 5 {
		t.Errorf("noise alone, to the end: end %q after %d values", a.SearchEnd, len(d.Cells))
	}
	d, _ = searching(t, partitions(Span{"1", "4", "1"}), func(Turn) float64 { return 0 })
	if a := d.Answers[0]; a.SearchEnd != EndNothing || a.Best != "" {
		t.Errorf("no throughput: %+v", a)
	}
}

// With another factor there is a search for each of its values.
func TestASearchBesideAnotherFactor(t *testing.T) {
	s := partitions(Span{"1", "16", "1"})
	s.Factors = append(s.Factors, Factor{Name: "acks", Values: []string{"1", "all"}})
	s.Ask = append(s.Ask, Question{Best: "partitions", By: metric.Throughput})
	chance := rand.New(rand.NewPCG(1, 0))
	d, _ := searching(t, s, func(turn Turn) float64 {
		truth := map[string]float64{"1": 3, "all": 13}[turn.Cell.values()["acks"]]
		return curve(truth, float64(amount(turn.Cell.values()["partitions"]))) * math.Exp(1e-4*chance.NormFloat64())
	})
	if len(d.Answers) != 4 || d.Answers[2].SearchEnd != "" || d.Answers[0].Best != "3" || d.Answers[1].Best != "13" || d.Answers[1].SearchEnd != EndFine {
		t.Errorf("%+v", d.Answers)
	}
}

// A value that the cluster cannot carry is gone round, and the search ends all the same.
func TestASearchGoesRoundWhatCannotBeMade(t *testing.T) {
	f := &Folder{Study: partitions(Span{"1", "16", "1"}), journal: new(journal), read: make(map[int][]LoadFigures)}
	for {
		d := must.Have(f.known())(t)
		turn := d.open()
		if turn == nil {
			break
		}
		n := amount(turn.Cell.values()["partitions"])
		if n > 11 {
			f.log = append(f.log, entry{What: without, Cell: turn.Cell.Index, Reason: "too many"})
			continue
		}
		f.log = append(f.log, entry{What: done, Turn: turn.Number})
		f.read[turn.Number] = []LoadFigures{{Measures: Measures[float64]{metric.Rate: float64(n * 1000)}, Limit: verdict.BrokerAcks}}
	}
	d, err := f.Document()
	if err != nil || d.Answers[0].Best != "11" || d.Answers[0].SearchEnd != EndFine {
		t.Errorf("%v, %+v", err, d.Answers)
	}
}

func TestASpanHasSizesAndTimes(t *testing.T) {
	for _, tc := range []struct {
		set  []string
		want []string
		half string // between the last two
	}{
		{[]string{"search:1..6"}, []string{"1", "2", "4", "6"}, "5"},
		{[]string{"search:4KiB..1MiB"}, []string{"4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB"}, "768KiB"},
		{[]string{"search:1k..5k", "fine:1"}, []string{"1000", "2000", "4000", "5000"}, ""},
		{[]string{"search:5ms..20ms", "fine:2ms"}, []string{"5ms", "10ms", "20ms"}, "14ms"},
		{[]string{"search:1000B..1500B", "fine:100B"}, []string{"1000B", "1500B"}, "1200B"},
	} {
		s := partitions(Span{"1", "2", ""})
		s.Set("partitions", tc.set)
		must.Do(t, s.Check())
		f := &s.Factors[0]
		must.Match(t, tc.want, f.values(), "%v", tc.set)
		span := must.Have(f.Search.steps())(t)
		last := f.values()[len(f.values())-2:]
		must.Match(t, tc.half, strings.Join(span.between(amount(last[0]), amount(last[1])), ", "), "%v: between %v", tc.set, last)
	}
	s := partitions(Span{"1", "2", ""})
	s.Set("partitions", []string{"1", "2"})
	if s.IsOpen() {
		t.Error("a list is no search")
	}
}
