//go:build !race

package study

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
)

var (
	searches = flag.Int("searches", 2, "simulated searches for the best settings of each surface and noise in the table of TestTheBestSettingsAreFound")
	only     = flag.String("surface", "", "the only one of these surfaces")
	quick = flag.Bool("quick", false, "")
	cvs      = flag.String("cv", "", "the only noise")
)

// truth is what settings really do.
type truth struct {
	name  string
	value func(at []int) float64  // a logarithm
	drift func(t float64) float64 // 60 runs are from 0 to 1
	p99   func(at []int) float64  // against its limit, a logarithm; nil: there is no limit
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
	return []truth{
		{"additive", additive, none, nil}, {"additive, small", few, none, nil},
		{"interacting", interacting, none, nil}, {"either of two", either, none, nil}, {"ridge", ridge, none, nil},
		{"flat", flat, none, nil}, {"flat, drifting", flat, sine, nil},
		{"drifting", additive, linear, nil}, {"interacting, drifting", interacting, sine, nil},
		{"cliffs", cliffs, none, nil}, {"cliff at the best", full, none, nil},
		{"cliff of one", func(at []int) float64 {
			v := few(at) + 0.25*u(at, 1)
			if at[1] == 4 {
				v -= 1
			}
			return v
		}, none, nil},
		{"limit", additive, none, waits},
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
}

func simulate(t testing.TB, factors []Factor, o Optimum, seed uint64, figures func(run int, at []int) LoadFigures) *simulated {
	t.Helper()
	o.By, o.Delta = metric.Rate, 0.03
	s := must.Have(NewOptimum(Load{Command: "produce"}, factors, o))(t)
	s.Seed = seed
	d := &Document{Study: s, state: &state{done: make(map[int]bool), leftOut: make(map[int]string)}, folder: &Folder{Study: s, read: make(map[int][]LoadFigures)}}
	return &simulated{d, figures}
}

// step makes the runs of the next block, and reports whether there are any.
func (s *simulated) step(t testing.TB) bool {
	t.Helper()
	more := must.Have(s.Study.policy().next(s.Document))(t)
	sp := s.Study.space()
	for _, turn := range more {
		turn.Number = len(s.turns) + 1
		s.turns = append(s.turns, turn)
		s.state.done[turn.Number] = true
		s.folder.read[turn.Number] = []LoadFigures{s.figures(turn.Number, sp.at(turn.Cell.At))}
	}
	return len(more) > 0
}

// outcome is what searches of one surface with one noise came to.
type outcome struct {
	near, final, claims, wrong, told, mistold int
	made, proof                               int
	loss                                      time.Duration
}

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
		if *quick && s.turns[len(s.turns)-1].Phase != Screen && s.turns[len(s.turns)-1].Phase != Seek {
			_, found := must.Both(s.Study.Optimum.found(s.Document))(t)
			o.made, o.near = s.inPhase(Screen, Seek), near(found)
			if *only != "" && o.near == 0 {
				p99 := 0.0
				if w.p99 != nil {
					p99 = w.p99(found)
				}
				fmt.Println(seed, found, "loss", best-w.value(found), "p99", p99, o.made)
			}
			return o
		}
	}
	s.Over = true
	_, found := must.Both(s.Study.Optimum.found(s.Document))(t)
	must.Do(t, s.Study.Optimum.conclude(s.Document))
	o.made, o.proof = s.inPhase(Screen, Seek), s.inPhase(Ablate, Prove)
	o.near = near(found)
	if *only != "" && o.near == 0 {
		p99 := 0.0
		if w.p99 != nil {
			p99 = w.p99(found)
		}
		fmt.Println(seed, found, "loss", best-w.value(found), "p99", p99, "final", sp.at(s.Optimum.Best.At), o.made)
	}
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

func TestTheBestSettingsAreFound(t *testing.T) {
	var table strings.Builder
	for _, noise := range []float64{0.02, 0.05, 0.1} {
		if *cvs != "" && fmt.Sprint(noise) != *cvs {
			continue
		}
		for _, w := range truths() {
			if *only != "" && !slices.Contains(strings.Split(*only, ";"), w.name) {
				continue
			}
			var sum outcome
			began := time.Now()
			for seed := range uint64(*searches) {
				o := w.search(t, seed, noise)
				sum.near, sum.final, sum.claims, sum.wrong = sum.near+o.near, sum.final+o.final, sum.claims+o.claims, sum.wrong+o.wrong
				sum.told, sum.mistold, sum.made, sum.proof = sum.told+o.told, sum.mistold+o.mistold, sum.made+o.made, sum.proof+o.proof
			}
			n := float64(*searches)
			row := fmt.Sprintf("| %g %% | %-21s | %3.0f | %3.0f | %3.0f | %3.0f | %3.0f | %3.0f | %4.1f | %4.1f |\n", 100*noise, w.name,
				100*float64(sum.near)/n, 100*float64(sum.final)/n, 100*float64(sum.claims)/n, 100*float64(sum.wrong)/n,
				100*float64(sum.told)/n, 100*float64(sum.mistold)/n, float64(sum.made)/n, float64(sum.proof)/n)
			fmt.Print(strings.TrimSpace(row), " ", time.Since(began).Round(time.Millisecond), "\n")
			table.WriteString(row)
		}
	}
	t.Log("\n" + table.String())
}
