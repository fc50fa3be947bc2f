//go:build !race

package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// These tests compute for long, and are of one goroutine: the race detector would find nothing.

// Looking several times, at two metrics, a change that does nothing is called one in at most 5 % of trials.
func TestLooksAddNoFalseAlarms(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 15))
	const times = 600
	alarms := 0
	for range times {
		list, _ := ended(t, chance, 1, 1)
		if slices.ContainsFunc(list, func(e Effect) bool { return e.Verdict != Unchanged }) {
			alarms++
		}
	}
	if share := float64(alarms) / times; share > 0.05+0.018 { // two standard errors
		t.Errorf("%.3f of trials without an effect name one", share)
	}
}

// By Detectable's theory 20 runs a side at a third of alpha, with two metrics, show a shift of 2.6 % in a noise of
// 2 % with a power of 80 %; one of 5 % is shown nearly always, and by fewer runs.
func TestATrialShowsAnEffect(t *testing.T) {
	chance := rand.New(rand.NewPCG(2, 15))
	const times = 200
	shown, steadier, runs := 0, 0, 0
	for range times {
		list, n := ended(t, chance, 1.05, 0.5)
		if list[0].Verdict == Raised {
			shown++
		}
		if list[1].Verdict == Steadier {
			steadier++
		}
		runs += n
	}
	if shown < times*95/100 || steadier < times*95/100 {
		t.Errorf("of %d trials %d show a throughput 5 %% higher, and %d half the roughness", times, shown, steadier)
	}
	if mean := float64(runs) / times; mean >= 20 {
		t.Errorf("the trials took %.1f runs a side: none ended early", mean)
	}
	shown = 0
	for range times {
		a, b := sides(chance, 20, 1.026, 1)
		list, err := effects(a, b, 0.001, alpha/3)
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Verdict == Raised {
			shown++
		}
	}
	if share := float64(shown) / times; share < 0.7 || share > 0.99 {
		t.Errorf("a shift of 2.6 %% is shown in %.2f of trials, and theory says 0.8 or more", share)
	}
}

// A search finds the best whatever the cluster does beside it: runs get slower from one to the next, the cluster is
// faster after a while, or single runs are slow.
func TestTheBestValueIsAmongThoseThatASearchCannotTellFromIt(t *testing.T) {
	const searches = 100
	for name, change := range map[string]func(run int, chance *rand.Rand) float64{
		"nothing changes":         func(int, *rand.Rand) float64 { return 1 },
		"each run is slower":      func(run int, _ *rand.Rand) float64 { return math.Pow(0.997, float64(run)) },
		"a step after 25 runs":    func(run int, _ *rand.Rand) float64 { return 1 + 0.2*float64(min(run/25, 1)) },
		"one run in 20 is halved": func(_ int, chance *rand.Rand) float64 { return 1 - 0.5*math.Floor(chance.Float64()+0.05) },
	} {
		for fine, step := range map[string]float64{"": 1, "2": 2} {
			t.Run(name+", fine "+fine, func(t *testing.T) {
				missed, octaves := 0, 0.0
				for seed := range uint64(searches) {
					chance := rand.New(rand.NewPCG(seed, 1))
					truth := math.Exp2(chance.Float64() * 6)
					s := partitions(Span{"1", "64", fine})
					s.Seed = seed
					d, _ := searching(t, s, func(turn Turn) float64 {
						n := float64(amount(turn.Cell.values()["partitions"]))
						return curve(truth, n) * change(turn.Number, chance) * math.Exp(0.02*chance.NormFloat64())
					})
					var like []float64
					for _, v := range d.Answers[0].LikeBest {
						like = append(like, float64(amount(v)))
					}
					if truth < slices.Min(like)-step || truth > slices.Max(like)+step {
						missed++
					}
					octaves += math.Log2(slices.Max(like)/slices.Min(like)) / searches
				}
				if octaves > 1.25 && !strings.Contains(name, "halved") {
					t.Errorf("the values that cannot be told from the best span %.2f octaves in the mean: that says little", octaves)
				}
				if missed > searches*5/100 {
					t.Errorf("%d of %d searches miss the best", missed, searches)
				}
			})
		}
	}
}
