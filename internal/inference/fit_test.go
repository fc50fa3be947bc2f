package inference

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// blocked measures groups with true values in blocks: each block has some groups, and a level of its own.
func blocked(truth []float64, noise, drift float64, chance *rand.Rand, blocks ...[]int) (runs []Run) {
	level := 0.0
	for b, groups := range blocks {
		for _, g := range groups {
			runs = append(runs, Run{g, b, truth[g] * math.Exp(level+noise*chance.NormFloat64())})
		}
		level += drift
	}
	return runs
}

// alikeInBlocks compares all groups within their blocks.
func alikeInBlocks(runs []Run, goal Goal) (best int, _ []Standing, _ error) {
	fit, err := NewFit(runs, true)
	if err != nil {
		return -1, nil, err
	}
	groups := make([]int, len(fit.values))
	for i := range groups {
		groups[i] = i
	}
	best, all := fit.Best(groups, goal, 0.05)
	return best, all, nil
}

func TestGroupsInBlocksAreComparedWithinThem(t *testing.T) {
	truth := []float64{80, 100, 90, 102}
	blocks := [][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {1, 3}, {1, 3}, {1, 3}}
	chance := rand.New(rand.NewPCG(1, 0))
	best, all, err := alikeInBlocks(blocked(truth, 1e-4, -0.1, chance, blocks...), Highest)
	must.Hold(t, err == nil && best == 3, "best %d, %v; want 3", best, err)
	for i, s := range all {
		got, want := s.ToBest.Value, truth[i]/102
		must.True(t, math.Abs(got-want) <= 0.001 && s.Alike == (i == 3), "group %d: ratio %g, want %g, alike %v", i, got, want, s.Alike)
		must.True(t, s.ToBest.Low <= s.ToBest.Value && s.ToBest.High >= s.ToBest.Value, "group %d: %+v", i, s.ToBest)
	}
	best, _, _ = alikeInBlocks(blocked(truth, 1e-4, -0.1, chance, blocks...), Lowest)
	must.True(t, best == 0, "the lowest is %d", best)
}

func TestGroupsThatNoBlockConnectsAreNotToldApart(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 0))
	runs := blocked([]float64{100, 50, 10, 5}, 0.001, 0, chance, []int{0, 1}, []int{0, 1}, []int{2, 3}, []int{2, 3})
	best, all, err := alikeInBlocks(runs, Highest)
	if err != nil || best < 0 {
		t.Fatal(best, err)
	}
	apart := 0
	for _, s := range all {
		if !s.Alike {
			apart++
		}
	}
	must.Match(t, 1, apart, "groups are told from the best: %+v", all) // the other one of its own blocks
}

func TestTooFewRunsInBlocksTellNothing(t *testing.T) {
	if best, all, err := alikeInBlocks(nil, Highest); best != -1 || len(all) != 0 || err != nil {
		t.Error(best, all, err)
	}
	best, all, err := alikeInBlocks([]Run{{0, 0, 10}, {2, 0, 30}}, Highest)
	if err != nil || best != 2 || !all[0].Alike || all[1].Alike {
		t.Error(best, all, err)
	}
	_, _, err = alikeInBlocks([]Run{{0, 0, 0}}, Highest)
	must.True(t, err != nil, "0 has no logarithm")
}

// Without any effect at most 5 of 100 studies name a difference, however blocks differ, and with one the interval
// holds the truth at least as often as it says.
func TestFalseAlarmsInBlocks(t *testing.T) {
	const studies = 2000
	chance := rand.New(rand.NewPCG(2, 0))
	alarms, missed := 0, 0
	blocks := [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {1, 4, 5}, {1, 4, 5}, {1, 4, 5}}
	for range studies {
		_, all := must.Both(alikeInBlocks(blocked([]float64{1, 1, 1, 1, 1, 1}, 0.03, 0.1*chance.NormFloat64(), chance, blocks...), Highest))(t)
		for _, s := range all {
			if !s.Alike {
				alarms++
				break
			}
		}
		fit := must.Have(NewFit(blocked([]float64{1, 1, 1, 1, 1.1, 1}, 0.03, 0.1*chance.NormFloat64(), chance, blocks...), true))(t)
		if e, _ := fit.ratio(4, 0, 0.05); e.Low > 1.1 || e.High < 1.1 {
			missed++
		}
	}
	must.True(t, alarms <= studies*5/100, "%d of %d studies name a difference", alarms, studies)
	must.True(t, missed <= studies*65/1000, "%d of %d intervals of 95 %% miss the truth", missed, studies)
}
