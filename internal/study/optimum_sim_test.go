//go:build !race

package study

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
)

var (
	searches = flag.Int("searches", 1, "simulated searches for the best settings of each surface and noise of TestTheBestSettingsAreFound")
	noises   = flag.String("noises", "0.02", "coefficients of variation of a run in these searches")
)

// truth is what settings really do.
type truth struct {
	name  string
	value func(at []int) float64  // a logarithm
	drift func(t float64) float64 // 60 runs are from 0 to 1
	p99   func(at []int) float64  // against its limit, a logarithm; nil: there is no limit
	edge  bool                    // the best is at the edge of a cliff of two settings: beyond what is promised
}

// some are the factors of simulated searches.
func some() []Factor {
	return []Factor{
		{Name: "linger", Values: []string{"0ms", "1ms", "5ms", "20ms", "100ms"}},
		{Name: "batch-size", Values: []string{"1KiB", "16KiB", "64KiB", "256KiB", "1MiB"}},
		{Name: "compression", Values: []string{"none", "gzip", "snappy", "lz4", "zstd"}},
		{Name: "max-in-flight", Values: []string{"1", "2", "5", "10"}},
		{Name: "producers", Values: []string{"1", "2", "4"}},
		{Name: "acks", Values: []string{"1", "all"}},
	}
}

var (
	presentLevels = []int{0, 1, 0, 2, 1, 1}
	defaultLevels = []int{1, 1, 0, 2, 0, 1}
)

func truths() []truth {
	factors := some()
	u := func(at []int, i int) float64 { return float64(at[i]) / float64(len(factors[i].Values)-1) }
	codec := []float64{0, -0.1, 0.08, 0.22, 0.15}
	none := func(float64) float64 { return 0 }
	linear := func(t float64) float64 { return -0.15 * t }
	sine := func(t float64) float64 { return 0.15 * math.Sin(7*t) }
	additive := func(at []int) float64 {
		return 0.25*u(at, 0) + 0.3*u(at, 1)*(1-u(at, 1)) + codec[at[2]] - 0.1*math.Abs(u(at, 3)-0.66)
	}
	few := func(at []int) float64 { return 0.06*u(at, 0) + 0.3*codec[at[2]] + 0.05*u(at, 4) }
	interacting := func(at []int) float64 {
		v := additive(at) + 0.15*(u(at, 1)-0.5)*(u(at, 3)-0.5)
		if at[2] >= 2 {
			return v + 0.2*u(at, 0)*u(at, 4)
		}
		return v - 0.1*u(at, 4)
	}
	either := func(at []int) float64 { // nothing but together
		v := 0.1 * u(at, 0)
		if (at[5] == 0) == (at[2] >= 2) {
			v += 0.2
		}
		return v
	}
	ridge := func(at []int) float64 {
		d := u(at, 0) + u(at, 1) - 1
		return 0.1*u(at, 0) - 0.4*d*d + codec[at[2]]/2
	}
	flat := func([]int) float64 { return 0 }
	cliffs := func(at []int) float64 {
		v := additive(at)
		if at[0] == 4 && at[1] >= 3 {
			v--
		}
		if at[3] == 3 && at[5] == 0 {
			v -= 0.7
		}
		return v
	}
	full := func(at []int) float64 { // what is set too high together does not fit into a buffer
		v := 0.3*u(at, 0) + 0.3*u(at, 1) + codec[at[2]]/2
		if at[0]+at[1] > 5 {
			v -= 1
		}
		return v
	}
	waits := func(at []int) float64 { return 0.9*u(at, 0) - 0.5 + 0.2*u(at, 1) - 0.3*u(at, 4) }
	steep := func(at []int) float64 {
		if at[1] == 4 {
			return few(at) - 0.75
		}
		return few(at) + 0.25*u(at, 1)
	}
	return []truth{
		{name: "additive", value: additive, drift: none},
		{name: "additive, few matter", value: few, drift: none},
		{name: "interacting", value: interacting, drift: none},
		{name: "two that matter only together", value: either, drift: none},
		{name: "a ridge", value: ridge, drift: none},
		{name: "flat", value: flat, drift: none},
		{name: "flat, drifting", value: flat, drift: sine},
		{name: "additive, drifting", value: additive, drift: linear},
		{name: "interacting, drifting", value: interacting, drift: sine},
		{name: "two cliffs", value: cliffs, drift: none},
		{name: "a cliff of one setting", value: steep, drift: none},
		{name: "a limit that binds", value: additive, drift: none, p99: waits},
		{name: "the best at the edge of a cliff", value: full, drift: none, edge: true},
	}
}

// keeps reports whether settings really keep the limit.
func (w *truth) keeps(at []int) bool { return w.p99 == nil || w.p99(at) <= 0 }

// best returns the highest value of settings that keep the limit.
func (w *truth) best(sp *space) float64 {
	best, at := math.Inf(-1), make([]int, len(sp.settings))
	for {
		if w.keeps(at) {
			best = max(best, w.value(at))
		}
		i := 0
		for i < len(at) && at[i] == sp.settings[i].Levels-1 {
			at[i] = 0
			i++
		}
		if i == len(at) {
			return best
		}
		at[i]++
	}
}

// simulated makes runs of a search one after the other.
type simulated struct {
	*Document
	figures func(run int, at []int) LoadFigures
	cannot  func(at []int) bool // nil: every cell can be made
}

func simulate(t testing.TB, factors []Factor, o Optimum, seed uint64, figures func(run int, at []int) LoadFigures) *simulated {
	t.Helper()
	o.By, o.Delta = metric.Rate, 0.03
	s := must.Have(NewOptimum(Load{Command: "produce"}, factors, o))(t)
	s.Seed = seed
	d := &Document{Study: s, state: &state{done: make(map[int]bool), leftOut: make(map[int]string)}, folder: &Folder{Study: s, read: make(map[int][]LoadFigures)}}
	return &simulated{d, figures, nil}
}

// step makes the runs of the next block, and reports whether there are any.
func (s *simulated) step(t testing.TB) bool {
	t.Helper()
	more := must.Have(s.Study.policy().next(s.Document))(t)
	sp := s.Study.space()
	for _, turn := range more {
		turn.Number = len(s.turns) + 1
		s.turns = append(s.turns, turn)
		at := sp.at(turn.Cell.At)
		if s.cannot != nil && s.cannot(at) {
			must.True(t, turn.Phase != Seek || s.state.leftOut[turn.Cell.Index] == "", "%v is proposed again", at)
			s.state.leftOut[turn.Cell.Index] = "it cannot be made"
			continue
		}
		s.state.done[turn.Number] = true
		s.folder.read[turn.Number] = []LoadFigures{s.figures(turn.Number, at)}
	}
	return len(more) > 0
}

// outcome is what searches of one surface with one noise came to, in numbers of searches.
type outcome struct {
	near, final   int // what the search, and what all ends with, keeps the limit and is within 3 % of the best
	claims, wrong int // better than the present settings, and those that are not
	told, mistold int // a setting brings something, and one of them does not
	made, proof   int // runs
}

func (o *outcome) add(p outcome) {
	o.near, o.final, o.claims, o.wrong = o.near+p.near, o.final+p.final, o.claims+p.claims, o.wrong+p.wrong
	o.told, o.mistold, o.made, o.proof = o.told+p.told, o.mistold+p.mistold, o.made+p.made, o.proof+p.proof
}

// search makes one search, of a load as it is on such a surface.
func (w *truth) search(t testing.TB, seed uint64, noise float64) (o outcome) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, math.Float64bits(noise)))
	opt := Optimum{}
	factors := some()
	sp := (&Study{Factors: factors, Optimum: &opt}).space()
	opt.Present, opt.Defaults = sp.cell(presentLevels).At, sp.cell(defaultLevels).At
	if w.p99 != nil {
		opt.SLO = []metric.Expr{must.Have(metric.Parse("p99<20ms"))(t)}
	}
	s := simulate(t, factors, opt, seed, func(run int, at []int) LoadFigures {
		l := LoadFigures{Measures: make(Measures[float64]), Valid: true}
		l.Measures[metric.Rate] = 100_000 * math.Exp(w.value(at)+w.drift(float64(run)/60)+noise*chance.NormFloat64())
		l.Measures[metric.P99] = 5_000
		if w.p99 != nil {
			l.Measures[metric.P99] = 20_000 * math.Exp(w.p99(at)+noise*chance.NormFloat64())
			keep(&Search{SLO: opt.SLO}, &l)
		}
		return l
	})
	best := w.best(sp)
	near := func(at []int) int {
		if w.keeps(at) && w.value(at) >= best+math.Log(0.97) {
			return 1
		}
		return 0
	}
	for s.step(t) {
	}
	s.Over = true
	_, found := must.Both(s.Study.Optimum.found(s.Document))(t)
	must.Do(t, s.Study.Optimum.conclude(s.Document))
	o.made, o.proof = s.inPhase(Screen, Seek), s.inPhase(Ablate, Prove)
	o.near = near(found)
	b := s.Optimum.Best
	o.final = near(sp.at(b.At))
	if b.Better {
		o.claims = 1
		if w.value(sp.at(b.At)) <= w.value(presentLevels) && w.keeps(presentLevels) {
			o.wrong = 1
		}
	}
	for _, e := range s.Optimum.Effects {
		if e.Brings == BringsGain {
			i := slices.IndexFunc(factors, func(f Factor) bool { return f.Name == e.Setting })
			o.told = 1
			if w.value(found) <= w.value(with(found, i, presentLevels[i])) {
				o.mistold = 1
			}
		}
	}
	return o
}

// TestTheBestSettingsAreFound writes the table of docs/optimize.md.
func TestTheBestSettingsAreFound(t *testing.T) {
	var table strings.Builder
	for text := range strings.SplitSeq(*noises, ",") {
		noise := must.Have(strconv.ParseFloat(text, 64))(t)
		var all outcome
		n, surfaces := *searches, truths()
		share := func(n, of int) string { return fmt.Sprintf("%.0f", 100*float64(n)/float64(of)) }
		row := func(name string, o outcome, n int) {
			fmt.Fprintf(&table, "| %g %% | %s | %s | %s | %s | %s | %s | %s | %.0f + %.0f |\n", 100*noise, name, share(o.near, n), share(o.final, n),
				share(o.claims, n), share(o.wrong, n), share(o.told, n), share(o.mistold, n), float64(o.made)/float64(n), float64(o.proof)/float64(n))
		}
		for i := range surfaces {
			var sum outcome
			for seed := range uint64(n) {
				sum.add(surfaces[i].search(t, seed, noise))
			}
			row(surfaces[i].name, sum, n)
			must.True(t, sum.made <= n*mostRuns, "%s: more than %d runs", surfaces[i].name, mostRuns)
			if !surfaces[i].edge {
				all.add(sum)
			}
		}
		of := n * (len(surfaces) - 1)
		row("all but the last", all, of)
		must.True(t, noise > 0.02 || all.near*100 >= of*90, "noise %v: %d of %d searches are near the best", noise, all.near, of)
		must.True(t, all.final*100 >= all.near*95, "noise %v: of %d results near the best %d are left when settings were taken back", noise, all.near, all.final)
		must.True(t, all.wrong*100 <= of*5 && all.mistold*100 <= of*10, "noise %v: of %d searches %d and %d claim what is not so", noise, of, all.wrong, all.mistold)
	}
	t.Log("\n" + table.String())
}

// A document is read after every run, whatever the runs were: it says something, and the search ends.
func TestASearchCopesWithWhatItGets(t *testing.T) {
	rising := func(at []int) float64 { return 0.1 * float64(at[0]) }
	sums := func(at []int) (sum float64) {
		for _, level := range at {
			sum -= 0.1 * float64(level)
		}
		return sum
	}
	two := func(f Factor) Factor { f.Values = f.Values[:2]; return f }
	pairs := mapped(some(), two)
	for _, tc := range []struct {
		name              string
		factors           []Factor
		present, defaults []int
		value             func(at []int) float64
		fails             func(run int) bool
		cannot            func(at []int) bool
		changes           int // -1: any number of them
	}{
		{"one factor", some()[:1], []int{0}, []int{1}, rising, nil, nil, 1},
		{"one factor of two values", pairs[:1], []int{0}, []int{0}, rising, nil, nil, 1},
		{"factors of two values", pairs, []int{0, 0, 0, 0, 0, 0}, []int{1, 0, 0, 0, 0, 0}, rising, nil, nil, 1},
		{"present and defaults are best", some(), make([]int, 6), make([]int, 6), sums, nil, nil, 0},
		{"all runs fail", some(), presentLevels, defaultLevels, rising, func(int) bool { return true }, nil, 0},
		{"the first runs fail", some(), presentLevels, defaultLevels, rising, func(run int) bool { return run < 10 }, nil, -1},
		{"one run of three fails", some(), presentLevels, defaultLevels, rising, func(run int) bool { return run%3 == 0 }, nil, -1},
		{"the best cannot be made", some(), presentLevels, defaultLevels, rising, nil, func(at []int) bool { return at[0] == 4 }, 1},
		{"the defaults cannot be made", some(), presentLevels, []int{0, 4, 0, 0, 0, 0}, rising, nil, func(at []int) bool { return at[1] == 4 }, 1},
	} {
		sp := (&Study{Factors: tc.factors, Optimum: new(Optimum)}).space()
		o := Optimum{Present: sp.cell(tc.present).At, Defaults: sp.cell(tc.defaults).At}
		chance := rand.New(rand.NewPCG(1, 1))
		s := simulate(t, tc.factors, o, 3, func(run int, at []int) LoadFigures {
			l := LoadFigures{Measures: make(Measures[float64]), Valid: true}
			if tc.fails == nil || !tc.fails(run) {
				l.Measures[metric.Rate] = 1000 * math.Exp(tc.value(at)+0.01*chance.NormFloat64())
			}
			return l
		})
		s.cannot = tc.cannot
		for before := 0; s.step(t); before = len(s.turns) {
			must.Hold(t, len(s.turns) < 250, "%s: %d runs", tc.name, len(s.turns))
			after := s.state.done
			s.state.done = make(map[int]bool)
			for n := range s.turns { // as if it was cut off
				if n == before || n == before+1 || n == (before+len(s.turns))/2 {
					must.Do(t, s.Study.Optimum.conclude(s.Document))
					must.True(t, s.Sentence != "" && (!s.Optimum.Best.Better || s.inPhase(Prove) > 0), "%s after %d runs: %s", tc.name, n, s.Sentence)
				}
				s.state.done[n+1] = after[n+1]
			}
			s.state.done = after
		}
		s.Over = true
		must.Do(t, s.Study.Optimum.conclude(s.Document))
		again := &Document{Study: s.Study, state: s.state, folder: s.folder}
		for more := must.Have(s.Study.policy().next(again))(t); len(more) > 0; more = must.Have(s.Study.policy().next(again))(t) {
			for _, turn := range more {
				turn.Number = len(again.turns) + 1
				again.turns = append(again.turns, turn)
			}
		}
		cellOf := func(t Turn) int { return t.Cell.Index }
		must.Match(t, mapped(s.turns, cellOf), mapped(again.turns, cellOf), tc.name+": the runs that follow from its log")
		b := s.Optimum.Best
		must.True(t, tc.changes < 0 || len(b.Changes) == tc.changes && b.Better == (tc.changes > 0), "%s: %v, better: %t; %s", tc.name, b.Changes, b.Better, s.Sentence)
		must.True(t, tc.cannot == nil || !tc.cannot(sp.at(b.At)), "%s: %v cannot be made", tc.name, b.At)
	}
}
