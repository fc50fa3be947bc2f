package inference_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

// alikeBest compares groups whose n-th runs were made one after the other.
func alikeBest(groups [][]float64, goal inference.Goal, alpha float64) (best int, _ []inference.Standing, _ error) {
	var runs []inference.Run
	all := make([]int, len(groups))
	for i, g := range groups {
		all[i] = i
		for j, v := range g {
			runs = append(runs, inference.Run{Group: i, Block: j, Value: v})
		}
	}
	fit, err := inference.NewFit(runs, false)
	if err != nil {
		return -1, nil, err
	}
	best, standings := fit.Best(all, goal, alpha)
	return best, standings, nil
}

// alikeIn draws groups of n runs, as many and as high as levels, many times. It returns how
// often the best level was among the alike ones, and how often all that are equal to it were.
func alikeIn(t *testing.T, s source, trials, n int, levels []float64, spread func(i int) float64) (best, equals float64) {
	t.Helper()
	var first int
	for i, l := range levels {
		if l > levels[first] {
			first = i
		}
	}
	all := 0
	best = share(trials, func() bool {
		groups := make([][]float64, len(levels))
		for i, l := range levels {
			groups[i] = s.runs(n, l, spread(i))
		}
		_, standings := must.Both(alikeBest(groups, inference.Highest, alpha))(t)
		every := true
		for i, st := range standings {
			every = every && (st.Alike || levels[i] < levels[first])
		}
		if every {
			all++
		}
		return standings[first].Alike
	})
	return best, float64(all) / float64(trials)
}

func TestTheTrulyBestIsAmongTheAlike(t *testing.T) {
	s := seeded(10)
	const trials = 400
	even := func(int) float64 { return 0.02 }
	for _, r := range []struct {
		what   string
		n      int
		levels []float64
		spread func(int) float64
	}{
		{"no effect, three repeats", 3, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, even},
		{"no effect, many groups", 10, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, even},
		{"no effect, unequal noise", 3, []float64{1, 1, 1, 1, 1}, func(i int) float64 { return 0.005 * float64(1+2*i) }},
		{"two equal, the rest far off", 3, []float64{1, 1, 0.5, 0.5, 0.5, 0.5}, even},
		{"close steps", 4, []float64{0.97, 0.98, 0.99, 1, 0.99}, even},
		{"two groups", 3, []float64{1, 1}, even},
	} {
		best, equals := alikeIn(t, s, trials, r.n, r.levels, r.spread)
		limit := 1 - alpha - tolerance(alpha, trials)
		must.True(t, best >= limit && equals >= limit, "%s: the best is alike in %v, and all equal to it in %v", r.what, best, equals)
	}
}

// The figures of the account that kt repeats: 1, 3, 5, 7 and 9 partitions.
func TestThreeRepeatsTellFarGroupsFromTheBest(t *testing.T) {
	s := seeded(11)
	levels := []float64{115108, 152898, 172286, 196901, 191399}
	told := share(200, func() bool {
		groups := make([][]float64, len(levels))
		for i, l := range levels {
			groups[i] = s.runs(3, l, 0.01)
		}
		_, standings, err := alikeBest(groups, inference.Highest, alpha)
		return err == nil && standings[3].Alike && !standings[0].Alike && !standings[1].Alike
	})
	must.True(t, told >= 0.9, "1 and 3 partitions are told from 7 in %v", told)
}

func TestBestReportsEachGroup(t *testing.T) {
	groups := [][]float64{{100, 101, 102}, {50, 50.5, 51}, nil, {100.4, 101.2, 101.6}, {99}}
	best, all, err := alikeBest(groups, inference.Highest, alpha)
	must.Hold(t, err == nil && best == 3, "best = %d, %v", best, err)
	for i, want := range []bool{true, false, false, true, true} {
		must.Match(t, want, all[i].Alike, "group %d: %+v", i, all[i])
	}
	near(t, "ratio of half as much", all[1].ToBest.Value, 0.5, 0.005)
	e := all[1].ToBest
	must.True(t, e.High < 0.52 && e.Low > 0.48 && e.Coverage == 0.95, "interval of half as much: %+v", e)
	if e := all[4].ToBest; e.Coverage != 0.95 || e.Low >= e.High { // by the noise of the others
		t.Errorf("interval of one run: %+v", e)
	}
	must.Match(t, []int{0, 0}, []int{all[2].Median.N, all[2].ToBest.N}, "group without runs: %+v", all[2])
	best, all, err = alikeBest(groups, inference.Lowest, alpha)
	must.True(t, err == nil && best == 1 && !all[0].Alike, "lowest is best: %d, %+v, %v", best, all, err)
	best, _, err = alikeBest([][]float64{nil}, inference.Highest, alpha)
	must.True(t, best == -1 && err == nil, "no runs at all: %d, %v", best, err)
	_, _, err = alikeBest([][]float64{{1}, {0}}, inference.Highest, alpha)
	must.True(t, errors.Is(err, inference.ErrNotPositive), "a throughput of 0 gives %v", err)
}

func TestHolmAgreesWithR(t *testing.T) {
	// p.adjust(c(0.04, 0.01, 0.05, 0.02, 0.03), "holm")
	for i, p := range inference.Holm([]float64{0.04, 0.01, 0.05, 0.02, 0.03}) {
		near(t, "p", p, []float64{0.09, 0.05, 0.09, 0.08, 0.09}[i], 1e-12)
	}
	got := inference.Holm([]float64{0.7, 0.8})
	must.True(t, got[0] == 1 && got[1] == 1, "Holm of large p = %v", got)
	must.Match(t, 0, len(inference.Holm(nil)), "Holm of nothing is something")
}

// blocked draws groups whose n-th runs share a disturbance, as those of a broker that warms up do.
func blocked(s source, n int, levels []float64, noise, drift float64) [][]float64 {
	groups := make([][]float64, len(levels))
	for range n {
		shared := s.runs(1, 1, drift)[0]
		for i, l := range levels {
			groups[i] = append(groups[i], shared*s.runs(1, l, noise)[0])
		}
	}
	return groups
}

func TestADisturbanceOfABlockIsNoNoiseBetweenGroups(t *testing.T) {
	s := seeded(12)
	const trials = 400
	told := func(n int, levels []float64, drift float64, adjust bool) float64 {
		return share(trials, func() bool {
			groups := blocked(s, n, levels, 0.02, drift)
			if !adjust { // other runs of each group are in the same block
				for i := range groups {
					s.Shuffle(n, func(j, k int) { groups[i][j], groups[i][k] = groups[i][k], groups[i][j] })
				}
			}
			_, standings := must.Both(alikeBest(groups, inference.Highest, alpha))(t)
			return slices.ContainsFunc(standings, func(st inference.Standing) bool { return !st.Alike })
		})
	}
	for _, drift := range []float64{0.001, 0.02, 0.2} {
		for _, k := range []int{2, 3, 5, 9} {
			for _, n := range []int{3, 5} {
				levels := slices.Repeat([]float64{1}, k)
				alarms := told(n, levels, drift, true)
				must.True(t, alarms <= alpha+tolerance(alpha, trials), "%d groups of %d, blocks that differ by %v: %v false alarms", k, n, drift, alarms)
			}
		}
	}
	steps := []float64{1, 0.9, 0.8}
	with, without := told(5, steps, 0.2, true), told(5, steps, 0.2, false)
	must.True(t, with >= 0.95 && without <= 0.5, "differences of 10 %% are told in %v with blocks taken away, in %v without", with, without)
}
